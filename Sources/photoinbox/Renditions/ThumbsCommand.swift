import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import Decoding
import Explaining
import FileValues
import Renditions
import Reporting
import Settings

struct ThumbsCommand: DaemonCommand {
    static let configuration = CommandConfiguration("thumbs", "Make missing thumbnails, or all of them again.")

    static let lesson = """
        EXAMPLES:
          photoinbox thumbs                  make those that are missing, newest photos first
          photoinbox thumbs --rebuild        make all of them again, and retry failures
          photoinbox thumbs --json | jq -r 'select(.type == "failed") | .path'

        The daemon makes thumbnails by itself if [pictures] is enabled; this makes them now, with the sizes and limits of
        [pictures], even if it is off. Each photo is decoded by photoinbox-decoder, which has access to neither files nor
        network. Ctrl-C stops after the photos that are being made, and the next run continues. SIGUSR1 prints the progress.
        The daemon may run meanwhile.

        They are under thumbnails/ in the state directory: ab/abcd…-512.jpg for the photo whose SHA-256 is abcd….
        If one could not be made, abcd….txt says why. The other renditions of an inbox are made with them: see renditions in
        photoinbox.toml(5), and photoinbox show.

        EXIT STATUS:
          0   all exist
          3   some could not be made, or the run was stopped
          5   another directory is mounted in the library's place
          69  the library or the decoder is missing, or there is no catalogue yet
          64, 77, 78: see photoinbox --help
        """

    @Flag(help: "Make all of them again, and retry failures.")
    var rebuild = false

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run(at places: Places) throws {
        let display = ProgressDisplay(json: output.json)
        let interruption = Interruption(announce: display.remark)
        let catalogue = try places.openCatalogue()
        try SelectedLibrary(places, catalogue).require(of: catalogue)
        var work = ThumbnailWork(places.settings, state: places.state)
        work.identifyDecoder()
        var run = ThumbsRun(
            work: work, isJSON: output.json, display: display, interruption: interruption, places: places)
        let clients: [DecoderClient]
        do { clients = try work.clients() } catch { throw CommandFailure(.failed, "\(error)") }
        defer { waitFor { for client in clients { await client.stop() } } }
        try run.makeAll(of: catalogue, by: clients, again: rebuild, totals: try catalogue.totals())
        try run.storeRecords()
        display.clear()
        try run.showSummary()
        if run.failed > 0 || run.wasStopped { throw CommandEnd(status: .someLeft) }
    }
}

private struct ThumbsRun {
    let work: ThumbnailWork
    let isJSON: Bool
    let display: ProgressDisplay
    let interruption: Interruption
    let places: Places
    /// Records to be stored, and the connection for them, opened when needed.
    var records: [RenditionRecord] = []
    var writer: CatalogueFile?
    var seen = 0
    var bytes: UInt64 = 0
    var made = 0
    var failed = 0
    var wasStopped = false

    mutating func makeAll(
        of catalogue: CatalogueFile, by clients: [DecoderClient], again: Bool, totals: (photos: Int, bytes: UInt64)
    ) throws {
        var filter = PhotoFilter()
        while true {
            let page = try catalogue.photos(matching: filter, limit: 200)
            guard let last = page.last else { return }
            filter.before = last.id
            try storeRecords()
            for start in stride(from: 0, to: page.count, by: clients.count) {
                let photos = Array(page[start..<min(page.count, start + clients.count)])
                try makeBatch(photos.filter { !$0.photo.isInBucket }, of: catalogue, by: clients, again: again)
                seen += photos.count
                bytes += photos.reduce(0) { $0 + $1.photo.size }
                _ = interruption.mustStopAtOnce()
                try display.show(
                    photos: seen, totalPhotos: totals.photos, bytes: bytes, totalBytes: totals.bytes,
                    asked: interruption.consumeProgressRequest())
                if interruption.isStopRequested {
                    wasStopped = true
                    return
                }
            }
        }
    }

    /// At most as many photos as there are clients, side by side.
    private mutating func makeBatch(
        _ photos: [StoredPhoto], of catalogue: CatalogueFile, by clients: [DecoderClient], again: Bool
    ) throws {
        let work = work
        let known = try photos.map { try catalogue.renditions(ofPhoto: $0.id) }
        let results = waitFor {
            await withTaskGroup(of: (Int, ThumbnailWork.Made).self) { group in
                for (place, photo) in photos.enumerated() {
                    group.addTask {
                        (place, await work.make(photo, known: known[place], by: clients[place], again: again))
                    }
                }
                return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
        }
        for (place, photo) in photos.enumerated() {
            guard let made = results[place] else { continue }
            records += made.records
            if made.ignoresProfile, !isJSON {
                display.remark("the colour profile of \(photo.photo.libraryPath.escaped) cannot be used, ignoring it")
            }
            try count(made.result, of: photo)
        }
    }

    /// Stores hashes, and which renditions cannot be made.
    mutating func storeRecords() throws {
        guard !records.isEmpty else { return }
        let writer = try self.writer ?? places.openCatalogue(forRepair: true)
        self.writer = writer
        try writer.record(records)
        records = []
    }

    private mutating func count(_ result: ThumbnailWork.Result, of photo: StoredPhoto) throws {
        switch result {
        case .nothingToDo: break
        case .made: made += 1
        case .failed(let reason), .unsupported(let reason), .photoUnreadable(let reason):
            failed += 1
            try showFailure(photo.photo, reason)
        case .unavailable(let trouble):
            display.clear()
            throw CommandFailure(trouble)
        }
    }

    private func showFailure(_ photo: PhotoRecord, _ reason: String) throws {
        guard isJSON else { return display.remark("no thumbnail of \(photo.libraryPath.escaped): \(reason)") }
        try printJSON(
            [JSONField("type", "failed")] + JSONField.path("path", photo.libraryPath)
                + [JSONField("reason", reason)])
    }

    func showSummary() throws {
        if isJSON {
            try printJSON([
                JSONField("type", "summary"), JSONField("photos", seen), JSONField("made", made),
                JSONField("failed", failed), JSONField("complete", !wasStopped),
            ])
        } else {
            let rest = failed == 0 ? "" : ", \(HumanText.count(failed)) could not be made"
            try printOut(
                "thumbnails: \(HumanText.count(made)) made, \(HumanText.count(seen)) photos checked\(rest)"
                    + (wasStopped ? "; stopped" : "") + "\n")
        }
    }
}
