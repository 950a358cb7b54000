import ArgumentParser
import Catalogue
import CommandSupport
import Decoding
import FileValues
import Glibc
import LinuxKernel
import PhotoModel
import Renditions
import Reporting
import SystemPackage

/// `photoinbox sheet`: photos on one page, with their names and times, for a person to look at.
struct SheetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sheet", abstract: "Lay photos out on a contact sheet, as one JPEG.",
        usage: "photoinbox sheet [OPTION…] --output FILE")

    static let lesson = """
        EXAMPLES:
          photoinbox sheet --since yesterday -o sheet.jpg       what came in since yesterday
          photoinbox sheet --inbox card --limit 24 -o card.jpg  the last 24 photos of an inbox
          photoinbox sheet --since 7d --columns 10 --tile 160 --limit 500 -o week.jpg

        Thumbnails are laid out with the name that a photo came with and the time it was taken, first filed first.
        Those that are missing are made on the way. What no picture can be made of (films, damaged photos) has an
        empty field. The page is made by photoinbox-decoder, which can reach neither files nor network; letters are
        Latin, Greek and Cyrillic, others become boxes. The file is there whole or not at all; one that is there
        already is replaced only with --force. Ctrl-C leaves nothing behind but thumbnails.

        EXIT STATUS:
          0   it is written
          3   the run was stopped, nothing is written
          4   no photo matches
          5   a thumbnail is missing, and what lies at the library's path is not the library
          69  the same while the library is not there; or there is no catalogue yet, or no decoder
          1, 64, 77, 78: see photoinbox --help
        """

    @Option(name: [.customShort("o"), .customLong("output")], help: "The file to write.")
    var file: RawArgument

    @Option(help: "Only from this moment on: yesterday, 2h, 7d, 2026-11-21.")
    var since: String?

    @Option(help: "Only photos that came to this inbox.")
    var inbox: String?

    @Option(help: "At most so many, the newest ones: 1 to 2000.")
    var limit = 200

    @Option(help: "So many side by side, 1 to 64. Default: about as wide as high.")
    var columns: Int?

    @Option(help: "The side of a photo's field in pixels, 64 to 1024.")
    var tile = 200

    @Flag(help: "Replace the file if it is there.")
    var force = false

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if !(1...2_000).contains(limit) { throw ValidationError("--limit takes a number from 1 to 2000.") }
        if !(64...1_024).contains(tile) { throw ValidationError("--tile takes a number from 64 to 1024.") }
        if let columns, !(1...64).contains(columns) {
            throw ValidationError("--columns takes a number from 1 to 64.")
        }
        if let since, SinceText(since)?.moment(now: 0) == nil {
            throw ValidationError("--since: write yesterday, 90s, 15m, 2h, 7d, 2026-11-21 or 2026-11-21T14:07.")
        }
    }

    func run() throws {
        let target = SheetFile(file.path, replaces: force)
        do throws(SystemCallError) { try target.check() } catch { throw Self.failure(error, file.path) }
        let places = try Places(places)
        places.remarkOnUnknown(inbox: inbox, asJSON: output.json)
        let now = Int64(time(nil))
        let moment = since.flatMap { SinceText($0)?.moment(now: now) }.map { FileTime(seconds: $0, nanoseconds: 0) }
        let records = try Records(places)
        let photos = try records.photos(inbox: inbox, since: moment, limit: limit).filter { !$0.photo.part.isSidecar }
        guard !photos.isEmpty else {
            if !output.json { printRemark("nothing matches") }
            throw CommandEnd(status: .noMatch)
        }
        let columns = columns ?? SheetLayout.columns(for: photos.count)
        guard let layout = SheetLayout(tiles: photos.count, columns: columns, side: tile) else {
            throw CommandFailure(
                .usage, "a page of \(photos.count) fields of \(tile) pixels is too large",
                action: "Take a smaller --tile or --limit, or other --columns.")
        }
        let display = ProgressDisplay(json: output.json)
        let interruption = Interruption(announce: display.say)
        let work = ThumbnailWork(places.settings, state: places.state, only: [.thumbnail])
        var run = SheetRun(work: work, display: display, interruption: interruption) {
            let catalogue = try places.openCatalogue(forRepair: false)
            try MeantLibrary(places, catalogue).require(of: catalogue)
        }
        let page: SheetRun.Page?
        do {
            let client: DecoderClient
            do { client = try work.clients(atMost: 1)[0] } catch { throw CommandFailure(.failed, "\(error)") }
            defer { waitFor { await client.stop() } }
            page = try run.page(of: photos.reversed(), layout, by: client)
        }
        display.clear()
        guard let page else { return try end(run, photos.count, nil) }
        do throws(SystemCallError) { try target.write(page.bytes) } catch { throw Self.failure(error, file.path) }
        try end(run, photos.count, page)
    }

    private func end(_ run: SheetRun, _ photos: Int, _ page: SheetRun.Page?) throws {
        if output.json {
            try printOut(
                JSONValue.document(
                    [JSONField("type", .string("summary"))] + JSONField.path("output", file.path) + [
                        JSONField("photos", .count(photos)), JSONField("without_picture", .count(run.withoutPicture)),
                        JSONField("width", page.map { .count($0.width) } ?? .null),
                        JSONField("height", page.map { .count($0.height) } ?? .null),
                        JSONField("bytes", page.map { .count($0.bytes.count) } ?? .null),
                        JSONField("written", .boolean(page != nil)),
                    ]
                ).compact + "\n")
        } else if let page {
            let rest = run.withoutPicture == 0 ? "" : ", \(HumanText.count(run.withoutPicture)) without a picture"
            try printOut(
                "\(file.path.escaped): \(HumanText.count(photos, "photo", "photos"))\(rest), "
                    + "\(page.width) × \(page.height) pixels, \(HumanText.bytes(UInt64(page.bytes.count)))\n")
        } else {
            printRemark("stopped; \(file.path.escaped) is not written")
        }
        if page == nil { throw CommandEnd(status: .someLeft) }
    }

    private static func failure(_ error: SystemCallError, _ path: BytePath) -> CommandFailure {
        switch error.code {
        case .fileExists:
            CommandFailure(.failed, "\(path.escaped) is there already", action: "Replace it with --force.")
        case .permissionDenied, .notPermitted, .readOnlyFileSystem:
            CommandFailure(.permission, "you may not write \(path.escaped)", action: "Choose another --output.")
        default: CommandFailure(.failed, "\(path.escaped) cannot be written: \(error)")
        }
    }
}
