import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import ControlProtocol
import Describing
import Explaining
import FileValues
import Filing
import Glibc
import LinuxKernel
import Reporting
import Settings
import Storing
import SystemPackage

struct StoreCommand: Command {
    static let configuration = CommandConfiguration(
        "store", "Copy or move photos into a bucket of S3, compare, and bring them back.",
        "test|put|move|verify|get [OPTION…] ADDRESS")

    static let lesson = """
        EXAMPLES:
          photoinbox store test https://s3.eu-central-1.amazonaws.com/my-photos   whether the server can be trusted with copies
          photoinbox store put https://nas.example.org:8333/photos/desk           what the bucket lacks is copied
          photoinbox store verify https://nas.example.org:8333/photos/desk        what it has is compared with the records
          photoinbox store get https://nas.example.org:8333/photos/desk           what is lost in the library comes from there
          photoinbox store move --until 2019 https://nas.example.org:8333/photos/desk
              photos taken until the end of 2019 are there alone from now on
          photoinbox store get --from 2019-07 --until 2019-08 https://nas.example.org:8333/photos/desk
              those of two months come back

        A photo's key is its path in the library, after the path in ADDRESS. Nothing in the bucket is replaced or removed. The
        server is given the SHA-256 recorded when the photo was filed: it refuses other bytes, and says what it has stored. What
        it must do for that is found out by "test", which leaves nothing.

        "get" brings photos that are missing in the library, have another size there, or were found damaged by the daemon or by
        "photoinbox verify" into an inbox, if the bucket has the recorded bytes. The daemon files them again, with their old dates; a
        damaged file stays where it is, beside the new one.

        "move" copies what the bucket lacks, reads each object whole, and has photoinboxd remove the file from the library if it has
        the same bytes. The photo stays in the catalogue, and its pictures on the pages. It requires --from or --until,
        which have the forms of "photoinbox search", a running photoinboxd, and its user or root. A set moves as a whole, with its
        sidecars, by the time of its first photo; photos without a time stay.

        With --hook, "put" copies what a hook is given: each photo soon after it was filed. In photoinbox.toml(5) it has the command
        ["/usr/bin/photoinbox", "store", "put", "--hook", "--credentials", "FILE", "ADDRESS"] and on = ["filed"].

        Credentials are aws_access_key_id and aws_secret_access_key, as lines of the file given or under [default] in it, or
        AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment. They must allow to put and get
        objects, and to list the bucket; "test" removes its own, if it may.

        Ctrl-C stops after what is being sent, a second one at once; run it again to continue. Photos above 5 GiB are not copied.

        EXIT STATUS:
          0   the bucket has every photo; with "get": nothing is lost that was not brought back
          3   something is missing or different, or was not copied or moved, or the run was stopped
          69  the bucket cannot be used with these credentials, or does not do what copies depend on
          75  the server does not answer, or asks to come back later
          5, 64, 77, 78: see photoinbox --help
        """

    enum Action: String, CaseIterable { case test, put, move, verify, get }

    @Flag(help: "With put: copy what a hook is given on standard input.")
    var hook = false

    @Option(
        help: ArgumentHelp("With get: the inbox to bring photos back into. Default: the only one.", valueName: "name"))
    var inbox: String?

    @Option(help: ArgumentHelp("Only photos taken at this time or later.", valueName: "time"))
    var from: String?

    @Option(
        help: ArgumentHelp(
            "Only photos taken at this time or earlier. With get, either brings back what was moved, too.",
            valueName: "time"))
    var until: String?

    @Option(help: ArgumentHelp("A file with the credentials.", valueName: "file"))
    var credentials: RawArgument?

    @Option(
        help: ArgumentHelp(
            "The bucket's region, if the address does not say it. Default: us-east-1.", valueName: "name"))
    var region: String?

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("test, put, move, verify or get, and the bucket.", valueName: "word"))
    var words: [String]

    /// What finds out whether the server does all that copies depend on.
    private var testCommand: String {
        var text = "photoinbox store test"
        if let credentials { text += " --credentials \(shellQuoted(credentials.path.escaped))" }
        if let region { text += " --region \(shellQuoted(region))" }
        return text + " \(shellQuoted(printable(words.last ?? "")))"
    }

    private var action: Action? { words.first.flatMap { Action(rawValue: $0) } }

    func validate() throws {
        guard words.count == 2, action != nil else {
            throw ValidationError("Write: store test ADDRESS, or put, move, verify or get instead of test.")
        }
        try SearchCommand.requireTimes(from, until)
        if from != nil || until != nil {
            if hook { throw ValidationError("--from and --until cannot be used with --hook.") }
        } else if action == .move {
            throw ValidationError("move requires --from or --until.")
        }
        if inbox != nil, action != .get { throw ValidationError("--inbox requires get.") }
        if hook, action != .put { throw ValidationError("--hook requires put.") }
    }

    func run() throws {
        guard let action, let text = words.last else { return }
        let address: StoreAddress
        do throws(StoreRefusal) { address = try StoreAddress(text, region: region) } catch {
            // A hook is run again for what is not the event's fault; see docs/hooks.md.
            throw CommandFailure(
                hook ? .configuration : .usage, "\(printable(text)) is no address of a bucket: \(error)")
        }
        let display = ProgressDisplay(json: output.json)
        let interruption = Interruption(announce: display.remark)
        let key = try readCredentials()
        if action == .test {
            return try with(try ObjectStore(address, key, library: HeldDescriptor(try openDirectory("/")))) {
                try test($0, display)
            }
        }
        let places = try Places(places)
        do { try run(action, at: places, address, key, display, interruption) } catch let error as CatalogueError {
            throw CommandFailure(error, at: places.catalogue)
        } catch let failure as CommandFailure where hook && failure.status == .stopped {
            throw CommandFailure(.unavailable, failure.message, action: failure.action)
        }
    }

    private func run(
        _ action: Action, at places: Places, _ address: StoreAddress, _ key: StoreCredentials,
        _ display: ProgressDisplay, _ interruption: Interruption
    ) throws {
        let catalogue = try places.openCatalogue()
        let library = try SelectedLibrary(places, catalogue)
        try library.require(of: catalogue)
        guard let path = library.path else { throw CommandFailure(.unavailable, "nothing was filed yet") }
        let root = HeldDescriptor(try openDirectory(path))
        var choice = StoreSource.Choice(from: from, until: until, hasSets: action == .move)
        if action == .get { choice.lostIn = root }
        if action == .verify || action == .get && (from != nil || until != nil) { choice.bucket = address.library }
        let source = try StoreSource(catalogue, library: path, photos: hook ? try readEvents() : nil, choice)
        var work = StoreRun.Work.compare
        var writing: [BytePath] = []
        if action == .put { work = .copy }
        if action == .move {
            let contact = ControlContact(places: places)
            // Nothing is to be copied where nothing can be moved.
            _ = try contact.ask(ControlRequest(.hello))
            work = .move(StoreMover(address.library, contact))
        }
        if action == .get {
            let place = try inboxPlace(places)
            work = .bringBack(
                try StoreTarget(
                    place, minFree: places.settings?.library?.minFree ?? 0,
                    isFiled: DaemonContact(places: places).isRunning))
            writing = [place]
        }
        defer { if case .bringBack(let target) = work { target.close() } }
        if [.verify, .get].contains(action), !hook {
            for (other, count) in try catalogue.photosByLibrary() where !other.isAbsolute && other != address.library {
                let photos = HumanText.count(count, "photo was", "photos were")
                display.remark("\(photos) moved to \(other.escaped): give that address for these")
            }
        }
        // What talks to the network is not to change any other file, whatever happens to it.
        do throws(SystemCallError) { try Confinement.keep(reading: ["/"], writing: writing) } catch {
            display.remark("its access to files cannot be restricted, continuing: \(error)")
        }
        // A hook is run again by the daemon.
        try with(try ObjectStore(address, key, library: root, tries: hook ? 1 : 5)) { store in
            try StoreRun(
                work, of: source, at: words.last ?? "", test: testCommand, by: store, output: output, display: display,
                interruption: interruption
            ).run()
        }
    }

    private func inboxPlace(_ places: Places) throws -> BytePath {
        let contact = DaemonContact(places: places)
        let state = places.settings == nil ? (try? contact.freshState()) ?? contact.lastState() : nil
        return try realPath(EvidenceSearch.knownPlaces(places.settings, state).inbox(named: inbox).path)
    }

    private func with(_ store: ObjectStore, _ body: (ObjectStore) throws -> Void) throws {
        defer { waitFor { await store.close() } }
        try body(store)
    }

    private func test(_ store: ObjectStore, _ display: ProgressDisplay) throws {
        let result = waitFor { () async -> Result<String?, StoreFailure> in
            do throws(StoreFailure) { return .success(try await store.test()) } catch { return .failure(error) }
        }
        switch result {
        case .failure(let failure): throw CommandFailure(failure, at: words.last ?? "", test: nil)
        case .success(let remark):
            if let remark { display.remark(remark) }
            if output.json { return try printJSON([JSONField("type", "summary"), JSONField("usable", true)]) }
            try printOut("the bucket is usable: nothing is replaced, and each copy is compared by its SHA-256\n")
        }
    }

    private func readCredentials() throws(CommandFailure) -> StoreCredentials {
        guard let path = credentials?.path else {
            do throws(StoreRefusal) { return try StoreCredentials { Terminal.variable($0) } } catch {
                throw CommandFailure(.configuration, "\(error)")
            }
        }
        do { return try StoreCredentials(at: path) } catch let refusal as StoreRefusal {
            throw CommandFailure(.configuration, refusal.description, action: refusal.action)
        } catch let error as SystemCallError {
            let failure = CommandFailure(error)
            guard failure.status == .failed else { throw failure }
            throw CommandFailure(.configuration, failure.message, action: failure.action)
        } catch { throw CommandFailure(.configuration, "\(error)") }
    }

    /// The photos of the events on standard input, by their numbers.
    private func readEvents() throws(CommandFailure) -> [Int64] {
        let bytes: [UInt8]
        do throws(SystemCallError) { bytes = try readAll(of: STDIN_FILENO, atMost: 16 << 20) } catch {
            throw CommandFailure(.usage, "standard input cannot be read: \(error.code)")
        }
        var photos: [Int64] = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            guard let event: HookEvent = try? JSONCoding.read(Array(line)) else {
                throw CommandFailure(
                    .usage, "standard input has a line that is no event of a hook",
                    action: "Use --hook in a hook alone; without it, all photos are copied.")
            }
            photos += event.photos
        }
        return photos
    }
}

/// What a hook reads of an event; see photoinbox-json(7), under HOOKS.
private struct HookEvent: Decodable {
    struct File: Decodable { let photo: Int64 }

    let event: String
    let photo: Int64?
    let files: [File]?

    /// The filed photos that it names.
    var photos: [Int64] {
        switch event {
        case "filed": photo.map { [$0] } ?? []
        case "set-complete": (files ?? []).map(\.photo)
        default: []
        }
    }
}

/// All bytes up to the end, but for what is beyond `most`.
private func readAll(of number: Int32, atMost most: Int) throws(SystemCallError) -> [UInt8] {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while bytes.count < most {
        let count = try systemCall("read") { read(number, &piece, piece.count) }
        if count == 0 { break }
        bytes += piece.prefix(count)
    }
    return bytes
}

extension CommandFailure {
    /// Why a bucket cannot be used.
    init(_ failure: StoreFailure, at address: String, test: String?) {
        switch failure.scope {
        case .passing: self.init(.busy, "\(printable(address)): \(failure.reason)", action: "Run it again later.")
        case .daemon: self.init(.unavailable, failure.reason, action: "See: photoinbox status")
        case .all, .object:
            self.init(
                .unavailable, "\(printable(address)): \(failure.reason)",
                action: test.map { "See what the server allows: \($0)" })
        }
    }
}
