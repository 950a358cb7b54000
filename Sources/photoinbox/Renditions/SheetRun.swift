import Catalogue
import CommandContact
import CommandSupport
import Decoding
import FileValues
import LinuxKernel
import PhotoModel
import Renditions
import Reporting
import SystemPackage

/// Makes one contact sheet: reads thumbnails, makes missing ones, and has the page made.
struct SheetRun {
    struct Page {
        let bytes: [UInt8]
        let width: Int
        let height: Int
    }

    let work: ThumbnailWork
    let display: ProgressDisplay
    let interruption: Interruption
    private(set) var withoutPicture = 0
    /// Whether thumbnails that are made can be kept: members of the group may read those of the daemon, and add none.
    private var keepsThumbnails = true
    /// Throws unless the library is the right one; called before the first thumbnail is made.
    private var requireLibrary: (() throws -> Void)?

    init(
        work: ThumbnailWork, display: ProgressDisplay, interruption: Interruption,
        requireLibrary: @escaping () throws -> Void
    ) {
        (self.requireLibrary, self.work, self.display) = (requireLibrary, work, display)
        self.interruption = interruption
    }

    /// The page; nil if the run was stopped.
    mutating func page(of photos: [StoredPhoto], _ layout: SheetLayout, by client: DecoderClient) throws -> Page? {
        let total = photos.reduce(0) { $0 + $1.photo.size }
        var tiles: [SheetSource.Tile] = []
        var bytes: UInt64 = 0
        for photo in photos {
            if interruption.mustStop() { return nil }
            let picture = try picture(of: photo, by: client)
            if picture.isEmpty { withoutPicture += 1 }
            tiles.append(
                SheetSource.Tile(name: photo.photo.originalName.escaped, time: Self.time(of: photo), picture: picture))
            bytes += photo.photo.size
            try display.show(
                photos: tiles.count, totalPhotos: photos.count, bytes: bytes, totalBytes: total,
                asked: interruption.consumeProgressRequest())
        }
        let sheet = SheetSource(
            title: Self.title(of: photos), columns: layout.columns, side: layout.side, tiles: tiles)
        let page = try makePage(sheet, layout, by: client)
        return interruption.mustStop() ? nil : page
    }

    /// A photo's thumbnail, made if it is missing; empty if there is none.
    private mutating func picture(of photo: StoredPhoto, by client: DecoderClient) throws -> [UInt8] {
        guard work.isConcerned(photo.photo), let word = work.word(of: .thumbnail) else { return [] }
        let hash = photo.photo.sha256
        if !work.store.has(hash, word) {
            try requireLibrary?()
            requireLibrary = nil
            let work = work
            if keepsThumbnails {
                let made = waitFor { await work.make(photo, known: [], by: client) }
                switch made.result {
                case .unavailable(.cannotBeKept(let error))
                where [.permissionDenied, .notPermitted, .readOnlyFileSystem].contains(error.code):
                    keepsThumbnails = false
                case .unavailable(let trouble): throw CommandFailure(trouble)
                default: break
                }
            }
            if !keepsThumbnails {
                switch waitFor({ await work.thumbnail(of: photo, by: client) }) {
                case .success(let picture): return picture ?? []
                case .failure(let trouble): throw CommandFailure(trouble)
                }
            }
        }
        guard work.store.has(hash, word) else { return [] }
        do throws(SystemCallError) {
            let file = try work.store.open(hash, word)
            let size = try FileStatus(of: file).identity.size
            return size <= DecoderWire.longestPart ? try file.read(Int(size)) : []
        } catch {
            if error.code == .permissionDenied { throw error }
            return []
        }
    }

    private func makePage(_ sheet: SheetSource, _ layout: SheetLayout, by client: DecoderClient) throws -> Page {
        let content = sheet.encoded
        guard content.count <= SheetSource.longest else {
            throw CommandFailure(
                .failed, "the thumbnails are too large for one page", action: "Use a smaller --limit.")
        }
        let file = HeldDescriptor(try memoryFile("photoinbox-sheet", content: content))
        let outcome = waitFor {
            await client.make([UInt32(layout.longerSide)], of: file, kind: .sheet, quality: 85)
        }
        switch outcome {
        case .made(let picture):
            guard let part = picture.facts.parts.first else { break }
            do {
                return Page(bytes: try picture.bytes(of: part), width: Int(part.width), height: Int(part.height))
            } catch {
                throw CommandFailure(.failed, "the decoder sent \(error)")
            }
        case .refused(let refusal):
            throw CommandFailure(.failed, "cannot make the page: \(printable(refusal.reason))")
        case .fatal(let reason): throw CommandFailure(.failed, "cannot make the page: \(printable(reason))")
        case .unavailable(let trouble): throw CommandFailure(trouble)
        }
        throw CommandFailure(.failed, "the decoder sent no page")
    }

    /// When it was taken, to the minute; else when it was filed.
    private static func time(of photo: StoredPhoto) -> String {
        if let captured = photo.photo.captured { return String(captured.text.prefix(16)) }
        let clock = LocalClock(at: photo.filedAt.seconds)
        return "filed \(clock.date(photo.filedAt.seconds))"
    }

    private static func title(of photos: [StoredPhoto]) -> String {
        let days = [photos.first, photos.last].compactMap(\.self).map { photo in
            LocalClock(at: photo.filedAt.seconds).date(photo.filedAt.seconds)
        }
        let count = HumanText.count(photos.count, "photo", "photos")
        return "\(count), filed " + (Set(days).count == 1 ? days[0] : days.joined(separator: " to "))
    }
}
