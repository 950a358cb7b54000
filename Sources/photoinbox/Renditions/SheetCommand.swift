import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import Decoding
import Explaining
import FileValues
import Glibc
import LinuxKernel
import PhotoModel
import Renditions
import Reporting
import SystemPackage

struct SheetCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "sheet", "Make a contact sheet of photos, as one JPEG.", "[OPTION…] --output FILE")

    static let lesson = """
        EXAMPLES:
          photoinbox sheet --since yesterday -o sheet.jpg       photos filed since yesterday
          photoinbox sheet --inbox card --limit 24 -o card.jpg  the last 24 photos of an inbox
          photoinbox sheet --since 7d --columns 10 --tile 160 --limit 500 -o week.jpg

        Thumbnails are laid out with the original name and the time of each photo, first filed first. Missing thumbnails are
        made first, and kept if you may write to the state directory. A file without a picture (a film, a damaged photo) has
        an empty field. The page is made by
        photoinbox-decoder, which has access to neither files nor network; letters are Latin, Greek and Cyrillic, others become
        boxes. The file is written completely or not at all; an existing one is replaced only with --force. Ctrl-C leaves
        nothing behind except thumbnails.

        EXIT STATUS:
          0   written
          3   the run was stopped; nothing is written
          4   no photo matches
          5   a thumbnail is missing, and another directory is mounted in the library's place
          69  a thumbnail and the library are missing; or there is no catalogue yet, or no decoder
          1, 64, 77, 78: see photoinbox --help
        """

    @Option(
        name: [.customShort("o"), .customLong("output")], help: ArgumentHelp("The file to write.", valueName: "file"))
    var file: RawArgument

    @Option(help: ArgumentHelp("Only since this time: yesterday, 2h, 7d, 2026-11-21.", valueName: "time"))
    var since: String?

    @Option(help: ArgumentHelp("Only photos from this inbox.", valueName: "name"))
    var inbox: String?

    @Option(help: ArgumentHelp("Show at most this many, the newest: 1 to 2000.", valueName: "number"))
    var limit = 200

    @Option(help: ArgumentHelp("Columns, 1 to 64. Default: about square.", valueName: "number"))
    var columns: Int?

    @Option(help: ArgumentHelp("The side of a photo's field, 64 to 1024.", valueName: "pixels"))
    var tile = 200

    @Flag(help: "Replace an existing file.")
    var force = false

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if !(1...2_000).contains(limit) { throw ValidationError("--limit must be from 1 to 2000.") }
        if !(64...1_024).contains(tile) { throw ValidationError("--tile must be from 64 to 1024.") }
        if let columns, !(1...64).contains(columns) {
            throw ValidationError("--columns must be from 1 to 64.")
        }
        try SinceText.check(since, "yesterday, ")
    }

    func run(at places: Places) throws {
        let display = ProgressDisplay(json: output.json)
        // Before the catalogue is opened, after which there may be threads.
        let interruption = Interruption(announce: display.remark)
        let target = SheetFile(file.path, replaces: force)
        do throws(SystemCallError) { try target.check() } catch { throw Self.failure(error, file.path) }
        places.warnOfUnknown(inbox: inbox, asJSON: output.json)
        let now = Int64(time(nil))
        let moment = SinceText.time(since, now: now)
        let photos = try places.openCatalogue().photos(inbox: inbox, since: moment, limit: limit).filter {
            !$0.photo.part.isSidecar
        }
        guard !photos.isEmpty else {
            if !output.json { printRemark("nothing matches") }
            throw CommandEnd(status: .noMatch)
        }
        let columns = columns ?? SheetLayout.columns(for: photos.count)
        guard let layout = SheetLayout(tiles: photos.count, columns: columns, side: tile) else {
            throw CommandFailure(
                .usage, "a page of \(photos.count) fields of \(tile) pixels is too large",
                action: "Use a smaller --tile or --limit, or other --columns.")
        }
        var work = ThumbnailWork(places.settings, state: places.state, only: [.thumbnail])
        work.identifyDecoder()
        var run = SheetRun(work: work, display: display, interruption: interruption) {
            let catalogue = try places.openCatalogue()
            try SelectedLibrary(places, catalogue).require(of: catalogue)
        }
        let client: DecoderClient
        do { client = try work.clients(atMost: 1)[0] } catch { throw CommandFailure(.failed, "\(error)") }
        defer { waitFor { await client.stop() } }
        let page = try run.page(of: photos.reversed(), layout, by: client)
        display.clear()
        guard let page else { return try end(run, photos.count, nil) }
        do throws(SystemCallError) { try target.write(page.bytes) } catch { throw Self.failure(error, file.path) }
        try end(run, photos.count, page)
    }

    private func end(_ run: SheetRun, _ photos: Int, _ page: SheetRun.Page?) throws {
        if output.json {
            try printJSON(
                [JSONField("type", "summary")] + JSONField.path("output", file.path) + [
                    JSONField("photos", photos), JSONField("without_picture", run.withoutPicture),
                    JSONField("width", page?.width), JSONField("height", page?.height),
                    JSONField("bytes", page?.bytes.count), JSONField("written", page != nil),
                ])
        } else if let page {
            let rest = run.withoutPicture == 0 ? "" : ", \(HumanText.count(run.withoutPicture)) without a picture"
            try printOut(
                "\(file.path.escaped): \(HumanText.count(photos, "photo", "photos"))\(rest), "
                    + "\(page.width) × \(page.height) pixels, \(HumanText.bytes(UInt64(page.bytes.count)))\n")
        } else {
            printRemark("stopped; \(file.path.escaped) was not written")
        }
        if page == nil { throw CommandEnd(status: .someLeft) }
    }

    private static func failure(_ error: SystemCallError, _ path: BytePath) -> CommandFailure {
        switch error.code {
        case .fileExists:
            CommandFailure(.failed, "\(path.escaped) exists", action: "To replace it: --force.")
        case .permissionDenied, .notPermitted:
            CommandFailure(
                .permission, "cannot write \(path.escaped): \(permissionDenied(to: path))",
                action: "Choose another --output.")
        case .readOnlyFileSystem:
            CommandFailure(
                .permission, "cannot write \(path.escaped): \(error.code)", action: "Choose another --output.")
        default: CommandFailure(.failed, "cannot write \(path.escaped): \(error)")
        }
    }
}
