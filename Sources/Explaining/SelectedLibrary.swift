package import Catalogue
package import CommandContact
package import CommandSupport
package import FileValues
import Glibc
import LibraryCare
import LinuxKernel
import Reporting
import Settings
import SystemPackage

/// Which library a command works on, and whether its path leads to it: with another directory there, every photo would
/// look lost.
package struct SelectedLibrary {
    /// Nil if nothing was filed and none is configured.
    package let path: BytePath?
    /// Former libraries that photos are recorded in.
    package let others: [BytePath]

    /// The one that is `named`, else the configured one, else the one last filed into.
    package init(named: BytePath? = nil, _ places: Places, _ catalogue: CatalogueFile) throws {
        let known = try catalogue.libraries()
        // The newest may all be in a bucket.
        let last =
            try catalogue.photos(matching: PhotoFilter(), limit: 100).first { !$0.photo.isInBucket }?.photo.library
            ?? known.first
        if let named {
            guard let found = try? Self.spelling(of: named, in: catalogue), known.contains(found) else {
                throw CommandFailure(
                    .usage, "no photo is recorded in \(named)",
                    action: known.isEmpty ? nil : "Libraries: \(known.map(\.escaped).joined(separator: ", ")).")
            }
            (path, others) = (found, [])
        } else {
            let path = places.settings?.library?.path ?? last
            self.path = path
            others = known.filter { $0 != path }
        }
    }

    /// The path that `catalogue` has for the directory at `path`, else the absolute path.
    package static func spelling(of path: BytePath, in catalogue: CatalogueFile?) throws -> BytePath {
        let here = SettingsContext.ofProcess().workingDirectory
        let absolute = path.isAbsolute ? path : normalised(here.appending(path))
        let known = try catalogue?.libraries() ?? []
        guard !known.contains(absolute), let real = try? realPath(absolute) else { return absolute }
        return known.first { (try? realPath($0)) == real } ?? absolute
    }

    /// Throws unless the library exists and is the one that `catalogue` knows.
    package func require(of catalogue: CatalogueFile) throws(CommandFailure) {
        if let path { try Self.require(path, of: catalogue) }
    }

    /// Without a catalogue it must only exist.
    package static func require(_ path: BytePath, of catalogue: CatalogueFile?) throws(CommandFailure) {
        let root: OwnedDescriptor
        do throws(SystemCallError) { root = try openDirectory(path) } catch {
            if [.permissionDenied, .notPermitted].contains(error.code) { throw CommandFailure(error) }
            let isThere = ![.noSuchFileOrDirectory, .notDirectory].contains(error.code)
            throw CommandFailure(
                .unavailable, "the library \(path) " + (isThere ? "cannot be opened: \(error.code)" : "does not exist"),
                action: "Mount it, then run this again.")
        }
        guard let catalogue else { return }
        do { try LibraryGuard(catalogue).check(root, at: path) } catch let error as CatalogueError {
            throw CommandFailure(error, at: catalogue.place)
        } catch let error as SystemCallError { throw CommandFailure(error) } catch {
            throw CommandFailure(
                .stopped, "\(path) is not the library that the catalogue knows: \(error)",
                action: "Mount the library there. If this is the new library: stop photoinboxd, then "
                    + "photoinboxd --accept-library")
        }
    }
}
