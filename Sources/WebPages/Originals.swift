import Catalogue
import CommandContact
import CommandSupport
import FileValues
import HTTPValues
import LinuxKernel
import Settings
import SystemMonitor
import SystemPackage
import WebServing

/// Files of the library. On a queue of its own: the library may be on a slow disk, or one that hangs.
actor Originals {
    private let queue = MonitorQueue(label: "photo-inbox.web.originals")
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.executor.asUnownedSerialExecutor() }

    private let places: Places
    private var catalogue: KeptCatalogue
    nonisolated let downloads = Downloads()
    private let options: PageServer.Options

    init(_ places: Places, _ options: PageServer.Options) {
        (self.places, self.options) = (places, options)
        catalogue = KeptCatalogue(places)
    }

    /// The file of a photo, with the hash of its content; nil if there is no such photo, it is no film and `isFilm`, or nobody
    /// waits for it any more.
    func file(
        of key: PhotoKey, isFilm: Bool, _ place: Downloads.Place, unless hasLeft: @Sendable () -> Bool
    ) throws(Refusal) -> (content: OpenContent, hash: [UInt8])? {
        guard !hasLeft() else { return nil }
        let found: StoredPhoto?
        do throws(CommandFailure) {
            found = try catalogue.read { catalogue throws(CatalogueError) in try catalogue.photo(id: Int64(key.id)) }
        } catch { throw Refusal(.failure(error)) }
        guard let stored = found, stored.supersededAt == nil, key.isOf(stored.photo.sha256) else { return nil }
        let photo = stored.photo
        guard !isFilm || photo.part.role == "film" else { return nil }
        if photo.isInBucket { throw moved(photo, isFilm: isFilm) }
        guard
            let content = OpenContent(
                try open(photo), named: photo.originalName, queue: queue, tag: EntityTag(hexadecimal(photo.sha256)),
                holding: place), content.size == photo.size
        else { throw Self.altered }
        return (content, photo.sha256)
    }

    /// Of a photo that is in a bucket: a download is sent there. A page may not play a film of another host.
    private func moved(_ photo: PhotoRecord, isFilm: Bool) -> Refusal {
        let place = photo.library.escaped
        do {
            guard let link = try options.link(photo) else {
                return Refusal(
                    .gone, "it was moved to \(place)", action: "photoinbox store get brings photos back from there.")
            }
            if isFilm { return Refusal(.gone, "it was moved to \(place)", action: "It can be downloaded.") }
            return Refusal(
                WebResponse(.text, .bytes(Array("\(link)\n".utf8)), .temporaryRedirect, fields: [("Location", link)]))
        } catch {
            options.log("no original from \(place): \(error)")
            return Refusal(.unavailable, "it was moved to \(place), and no address for it can be made: \(error)")
        }
    }

    /// In the configured library alone, whatever path the catalogue has.
    private func open(_ photo: PhotoRecord) throws(Refusal) -> OwnedDescriptor {
        let library = places.settings?.library?.path ?? photo.library
        guard library == photo.library || (try? realPath(library)) == (try? realPath(photo.library)) else {
            throw Refusal(
                .gone, "it is in \(photo.library.escaped), which is not the configured library",
                action: "photoinbox adopt records it where it is now.")
        }
        let directory: OwnedDescriptor
        do throws(SystemCallError) { directory = try openDirectory(library) } catch {
            guard Self.isForbidden(error) else {
                throw Refusal(
                    .unavailable, "the library \(library.escaped) cannot be opened: \(error.code)",
                    action: "See what is: photoinbox status", seconds: 60)
            }
            if options.mayNotOpen() {
                throw Refusal(.unavailable, "the library was mounted again", action: "Try again.", seconds: 3)
            }
            throw Self.forbidden
        }
        do throws(SystemCallError) { return try directory.openBeneath(photo.libraryPath, [.read, .nonBlocking]) } catch
        {
            throw Self.isForbidden(error) ? Self.forbidden : Self.altered
        }
    }

    private static func isForbidden(_ error: SystemCallError) -> Bool {
        [.permissionDenied, .notPermitted].contains(error.code)
    }

    private static let forbidden = Refusal(
        .forbidden, "the pages may not read the library's copy",
        action: "Let the user of photoinbox-web read the library: its files have the group and the mode of [filing].")

    private static let altered = Refusal(
        .gone, "the library's copy is missing or altered", action: "See what is: photoinbox verify")
}

/// Counts the downloads of a program.
final class Downloads: Sendable {
    static let limit = 64

    private let taken = Locked(0)

    /// Taken until nobody refers to it.
    final class Place: Sendable {
        private let downloads: Downloads

        fileprivate init(_ downloads: Downloads) { self.downloads = downloads }

        deinit { downloads.taken.withLock { $0 -= 1 } }
    }

    /// Nil when there is none.
    func take() -> Place? {
        let isFree = taken.withLock { taken in
            guard taken < Self.limit else { return false }
            taken += 1
            return true
        }
        return isFree ? Place(self) : nil
    }
}
