package import Catalogue
package import CommandSupport
package import FileValues
import Glibc
import LinuxKernel
package import PhotoModel
import Reporting
package import Settings
import SystemPackage

/// The daemon's directories, as far as this process knows them.
package struct Places {
    /// The configuration; nil if only directories were named, and if it has mistakes.
    package let settings: Settings?
    package let hasMistakes: Bool
    /// The configuration file that was named.
    package let named: BytePath?
    package let state: BytePath
    package let runtime: BytePath
    package let catalogue: CataloguePlace

    /// Whether a daemon with this state directory has been a host of a catalogue in PostgreSQL, or that is unknown.
    package var isHost: Bool {
        do throws(SystemCallError) {
            _ = try FileStatus(at: state.appending("host"))
            return true
        } catch { return error.code != .noSuchFileOrDirectory }
    }

    package var stateFile: BytePath { runtime.appending("state.json") }
    package var processFile: BytePath { runtime.appending("photoinboxd.pid") }

    /// Flags override the configuration; no other directory is guessed. With `despiteMistakes`, those of a configuration with
    /// mistakes are used, since the running daemon has read a valid one; `remarks` says so.
    package init(
        _ options: PlaceOptions, despiteMistakes isTolerant: Bool = false, remarks: Bool = true
    ) throws(CommandFailure) {
        named = options.config?.path
        var state = options.state?.path
        if state == nil, named == nil { state = Terminal.variable("PHOTOINBOX_STATE").map { BytePath($0) } }
        if state?.isEmpty == true { state = nil }
        if state == nil, named == nil { state = DaemonAddress.ownState }
        if let state, named == nil {
            settings = nil
            hasMistakes = false
            self.state = state
            runtime = options.runtime?.path ?? state.appending("run")
            catalogue = .file(state.appending("catalogue.sqlite"))
            // That of a daemon with a database, which only its configuration names.
            if (try? FileStatus(at: state.appending("host"))) != nil,
                (try? FileStatus(at: state.appending("catalogue.sqlite"))) == nil
            {
                throw CommandFailure(
                    .usage, "the catalogue of the state directory \(state) is in PostgreSQL",
                    action: "Give the daemon's configuration with --config.")
            }
            do throws(SystemCallError) { _ = try FileStatus(at: state, followingLinks: true) } catch {
                if error.code == .permissionDenied {
                    throw CommandFailure(
                        .permission, "cannot read the state directory \(state): \(permissionDenied(to: state))",
                        action: permissionAdvice(for: state))
                }
                throw CommandFailure(
                    .unavailable, "the state directory \(state) does not exist",
                    action: "Start photoinboxd, or correct --state or $PHOTOINBOX_STATE.")
            }
            return
        }
        let settings: Settings
        do throws(CommandFailure) {
            settings = try Self.read(named)
            self.settings = settings
            hasMistakes = false
        } catch {
            guard isTolerant, error.status == .configuration, let rough = Self.rough(named) else {
                throw error
            }
            if remarks {
                printRemark(
                    "\(error.message). The running daemon has another configuration, and is asked anyway")
            }
            settings = rough
            self.settings = nil
            hasMistakes = true
        }
        self.state = state ?? settings.state
        runtime = options.runtime?.path ?? state?.appending("run") ?? settings.runtime
        catalogue = state.map { .file($0.appending("catalogue.sqlite")) } ?? settings.catalogue
    }

    /// Warns if `inbox` is not configured: a mistake, or a former inbox, whose photos are still there, so no failure.
    package func warnOfUnknown(inbox: String?, asJSON: Bool) {
        guard let inbox, let names = settings?.inboxes.map(\.name), !names.contains(inbox) else { return }
        let meant = likelyMeaning(of: inbox, among: names).map { "; did you mean \"\($0)\"?" }
        let others = names.isEmpty ? "; there are no inboxes" : "; inboxes: \(names.joined(separator: ", "))"
        printRemark("no inbox \(printable(inbox)) is configured\(meant ?? others)", asJSON: asJSON)
    }

    private static func rough(_ named: BytePath?) -> Settings? {
        let path = named ?? SettingsContext.ofProcess().standardFile
        var builder = SettingsBuilder(context: .ofProcess())
        guard let bytes = try? contents(of: path) else { return nil }
        builder.addFile(bytes, path: path)
        return builder.settingsDespiteMistakes()
    }

    private static func read(_ named: BytePath?) throws(CommandFailure) -> Settings {
        let path = named ?? SettingsContext.ofProcess().standardFile
        var builder = SettingsBuilder(context: .ofProcess())
        do throws(SystemCallError) { builder.addFile(try contents(of: path), path: path) } catch {
            if error.code == .noSuchFileOrDirectory, named == nil {
                throw CommandFailure(
                    .configuration, "there is no configuration \(path)",
                    action: "Name the daemon's configuration with --config, or its state directory with --state.")
            }
            if error.code == .noSuchFileOrDirectory {
                throw CommandFailure(.configuration, "\(path) does not exist", action: "Correct the path.")
            }
            throw CommandFailure(error)
        }
        do { return try builder.build() } catch {
            throw CommandFailure(.configuration, "\(error)", action: "Correct that, then: photoinboxd --check")
        }
    }
}

extension Places {
    /// Which of the hosts of a catalogue in PostgreSQL is the daemon with this state directory; nil if that is not known. Who may
    /// not read by what the catalogue knows it, knows it by the inboxes that it has.
    package func ownHost(among hosts: [CatalogueHostRow]) -> CatalogueHostRow? {
        if let content = try? contents(of: state.appending("host")) {
            let key = content.split(separator: UInt8(ascii: "\n")).first.map { String(decoding: $0, as: UTF8.self) }
            return hosts.first { $0.key == key }
        }
        guard isHost, let names = settings?.inboxes.map(\.name) else { return nil }
        let found = hosts.filter { host in !host.isForgotten && host.inboxes.contains { names.contains($0) } }
        return found.count == 1 ? found.first : nil
    }

    /// The catalogue. A missing one is not created: a wrong --state would look like an empty library.
    package func openCatalogue(forRepair: Bool = false) throws -> CatalogueFile {
        // SQLite requires a name in UTF-8.
        if let path = catalogue.file, String(validating: path.bytes, as: UTF8.self) == nil {
            throw CommandFailure(.failed, "\(path): the catalogue's path must be UTF-8")
        }
        let reading = try CatalogueFile.openForReading(catalogue)
        guard forRepair else { return reading }
        reading.close()
        do throws(CatalogueError) { return try CatalogueFile.openForRepair(catalogue) } catch {
            // Reading succeeded, so permission to write is missing. A server says by itself what the role may not do.
            if error.code == .permission, catalogue.file != nil {
                throw CommandFailure.catalogueNotWritable(catalogue.name)
            }
            throw error
        }
    }

    package func openCatalogueIfPresent() throws -> CatalogueFile? {
        do { return try openCatalogue() } catch let error as CatalogueError where error.code == .missing { return nil }
    }
}
