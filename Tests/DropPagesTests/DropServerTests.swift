import ControlProtocol
import DropStore
import FileValues
import Filing
import Foundation
import Glibc
import HTTPValues
import LinuxKernel
import TestSupport
import Testing
import WebAccounts
import WebServing

@testable import DropPages

/// A daemon that says what a test wants, of one inbox.
final class FakeDaemon: Sendable {
    struct State {
        var isRunning = true
        var known: Set<[UInt8]> = []
        var reports: [BytePath: FileReports.Report] = [:]
        /// Paths with new outcomes, oldest first.
        var outcomes: [BytePath] = []
        var paused: String?
        var asked: [[BytePath]] = []
    }

    let state = Locked(State())

    func answer(_ request: ControlRequest) -> ControlAnswer? {
        state.withLock { state in
            guard state.isRunning else { return nil }
            var answer = ControlAnswer("")
            switch request.command {
            case .known(let hashes): answer.known = hashes.map { state.known.contains($0) }
            case .outcomes("web", let files, let after):
                state.asked.append(files)
                var reports = FileReports(through: Int64(state.outcomes.count))
                let new = after.map { Array(state.outcomes.dropFirst(Int($0))) } ?? []
                reports.files = (files + new).map { state.reports[$0] ?? FileReports.Report($0, .inHand) }
                reports.paused = state.paused
                answer.arrivals = reports
            default: answer.status = 77
            }
            // As it goes through the socket.
            return ControlAnswer(json: answer.json())
        }
    }

    /// The outcome of a file; durable by the library's photo with this content, if any.
    func settle(_ path: BytePath, _ step: FileReports.Step, durable: ContentHash? = nil, place: String? = nil) {
        var report = FileReports.Report(path, step)
        (report.durable, report.place, report.reason) = (durable.map { "\($0)" }, place, "because")
        state.withLock { state in
            state.reports[path] = report
            state.outcomes.append(path)
        }
    }
}

private func hash(_ text: String) -> ContentHash {
    var hasher = ContentHasher()
    Array(text.utf8).withUnsafeBytes { hasher.update($0) }
    return hasher.hash()
}

@Suite("What a sender asks of the door", .timeLimit(.minutes(60)), .atMost(4))
struct DropServerTests {
    typealias World = UploadHandlerTests.World

    private let daemon = FakeDaemon()
    private let clock = Locked(Int64(1_000))
    private let oma = Secret()

    private let gone = Locked(0)

    private func world(pages: UInt32? = geteuid()) throws -> World {
        try World { store, scratch in
            var links = GuestLinks()
            links.put(GuestLink(label: "oma", token: oma.hash, end: 2_000, quota: 20))
            try Data(links.text.utf8).write(to: URL(filePath: scratch.appending("web.links")))
            var options = DropServer.Options()
            options.pages = pages
            options.accounts = scratch.bytePath
            options.now = { clock.withLock { $0 } }
            options.restart = { _ in gone.withLock { $0 += 1 } }
            let server = DropServer(store, inbox: "web", ask: { daemon.answer($0) }, options)
            return { await server.answer(to: $0, &$1) }
        }
    }

    private let ana = "Remote-User: ana"
    private let tus = "Tus-Resumable: 1.0.0"
    private let bytes = "Content-Type: application/offset+octet-stream"

    @Test("A name counts from the pages' own user alone; without one nothing begins, and what is begun goes on")
    func names() async throws {
        let world = try world()
        #expect(try await world.ask("GET /up/about").status == 401)
        #expect(try await world.ask("POST /up/?name=a.jpg&length=2").status == 401)
        #expect(try await world.ask("GET /up/about", ["Remote-User: ../x"]).status == 401)
        let about = try await world.ask("GET /up/about", [ana])
        #expect(
            about.text == "{\"inbox\":\"web\",\"owner\":\"ana\",\"largest\":68719476736,\"daemon\":true}", "\(about)")
        #expect(about.fields["cache-control"] == "no-store")
        let created = try await world.ask("POST /up/?name=a.jpg&length=2", [ana])
        let place = try #require(created.fields["location"])
        // Relative, whatever a proxy has taken off the address.
        #expect(place.count == 32)
        #expect(try await world.ask("POST /up/\(place)?at=0", body: "ab").status == 200)
        try await world.end()
        let strict = try self.world(pages: geteuid() + 1)
        #expect(try await strict.ask("GET /up/about", [ana]).status == 401)
        try await strict.end()
    }

    @Test("Where an upload is, is said relative to the request's address")
    func places() {
        let cases: [([String], Bool, String)] = [
            ([], false, "up/"), ([], true, ""), (["x"], false, ""), (["x"], true, "../"), (["a", "b"], false, "../"),
        ]
        for (segments, isDirectory, base) in cases {
            #expect(DropServer.base(from: segments[...], isDirectory: isDirectory) == base)
        }
    }

    @Test("A guest has the quota and the own files; with the link's end all of it ends")
    func guests() async throws {
        let world = try world()
        let door = "/d/\(oma.text)"
        for path in ["", "/"] { #expect(try await world.ask("GET \(door)\(path)").status == 404) }
        #expect(try await world.ask("GET \(door)/x").status == 404)
        #expect(try await world.ask("POST \(door)/about").status == 405)
        daemon.state.withLock { $0.paused = "paused by ana" }
        let about = try await world.ask("GET \(door)/about")
        #expect(about.text.contains("\"owner\":\"guests/oma\",\"until\":\"1970-01-01T00:33:20Z\",\"left\":20"))
        #expect(!about.text.contains("ana"), "a guest hears of nobody else")
        let put = try await world.ask("PUT \(door)/up/a.jpg", body: "0123456789")
        #expect(put.status == 201, "\(put)")
        #expect(world.file("guests/oma/2026-11-26/a.jpg") == "0123456789")
        #expect(try await world.ask("GET \(door)/about").text.contains("\"left\":10"))
        #expect(try await world.ask("PUT \(door)/up/b.jpg", body: "0123456789a").status == 507)
        // Not by announcing the length later either.
        let deferred = try await world.ask(
            "POST \(door)/up/", [tus, "Upload-Metadata: filename Yi5qcGc=", "Upload-Defer-Length: 1"])
        #expect(deferred.status == 411)
        let begun = try await world.ask("POST \(door)/up/?name=b.jpg&length=10")
        let place = try #require(begun.fields["location"])
        // Of a link that has ended or was removed, nothing goes on, by no address.
        clock.withLock { $0 = 2_000 }
        for line in ["GET \(door)/", "HEAD \(door)/up/\(place)", "GET \(door)/about", "PUT \(door)/up/c.jpg"] {
            #expect(try await world.ask(line, [tus]).status == 410, "\(line)")
        }
        #expect(try await world.ask("HEAD /up/\(place)", [tus, ana]).status == 404)
        clock.withLock { $0 = 1_000 }
        #expect(try await world.ask("HEAD \(door)/up/\(place)", [tus]).status == 200)
        try Data(GuestLinks().text.utf8).write(to: URL(filePath: world.scratch.appending("web.links")))
        #expect(try await world.ask("HEAD \(door)/up/\(place)", [tus]).status == 404)
        #expect(try await world.ask("GET /d/\(Secret().text)/").status == 404)
        #expect(try await world.ask("GET /d/").status == 404)
        try await world.end()
    }

    @Test("Links that cannot be looked up have not ended, and an inbox that was replaced is reported")
    func troubles() async throws {
        let world = try world()
        let path = world.scratch.appending("web.links")
        #expect(try await world.ask("PUT /d/\(oma.text)/up/a.jpg", body: "a").status == 201)
        #expect(gone.withLock { $0 } == 0)
        let inbox = world.inbox.path
        #expect(rename(inbox, inbox + "-aside") == 0)
        #expect(try await world.ask("PUT /d/\(oma.text)/up/b.jpg", body: "b").status == 503)
        #expect(mkdir(inbox, 0o755) == 0)
        #expect(try await world.ask("PUT /d/\(oma.text)/up/b.jpg", body: "b").status == 503)
        #expect(gone.withLock { $0 } == 2)
        #expect(rmdir(inbox) == 0 && rename(inbox + "-aside", inbox) == 0)
        try Data("wrong\n".utf8).write(to: URL(filePath: path))
        #expect(try await world.ask("GET /d/\(oma.text)/about").status == 503)
        unlink(path)
        #expect(try await world.ask("GET /d/\(oma.text)/about").status == 404)
        try await world.end()
    }

    @Test("Neither a guest nor a person continues the uploads of a guest with another link")
    func strangers() async throws {
        let world = try world()
        let created = try await world.ask("POST /up/?name=a.jpg&length=2", [ana])
        let place = try #require(created.fields["location"])
        let door = "/d/\(oma.text)/up"
        #expect(try await world.ask("POST \(door)/\(place)?at=0", body: "ab").status == 404)
        #expect(try await world.ask("POST \(door)/\(place)?end=1").status == 404)
        let own = try #require(try await world.ask("POST \(door)/?name=a.jpg&length=2").fields["location"])
        #expect(try await world.ask("POST /up/\(own)?at=0", [ana], body: "ab").status == 404)
        #expect(try await world.ask("POST \(door)/\(own)?at=0", body: "ab").status == 200)
        try await world.end()
    }

    @Test("What is filed need not be sent, and what was begun is continued; guests hear of their own alone")
    func known() async throws {
        let world = try world()
        let (door, other) = ("/d/\(oma.text)/up", hash("filed"))
        daemon.state.withLock { $0.known = [other.bytes, hash("own").bytes] }
        let begun = try #require(
            try await world.ask("POST /up/?name=b/c.jpg&length=9&modified=7000", [ana]).fields["location"])
        _ = try await world.ask("POST /up/\(begun)?at=0", body: "abc")
        func ask(_ address: String, _ fields: [String] = [], _ file: String) async throws -> String {
            let answer = try await world.ask("POST \(address)/known", fields, body: "{\"files\":[\(file)]}")
            #expect(answer.status == 200, "\(answer)")
            return answer.text
        }
        let filed = "{\"name\":\"x.jpg\",\"size\":5,\"sha256\":\"\(other)\"}"
        #expect(try await ask("/up", [ana], filed) == "{\"files\":[{\"state\":\"filed\"}]}")
        #expect(try await ask(door, [], filed) == "{\"files\":[{\"state\":\"unknown\"}]}")
        let half = "{\"name\":\"b/c.jpg\",\"size\":9}"
        #expect(
            try await ask("/up", [ana], half)
                == "{\"files\":[{\"state\":\"unfinished\",\"upload\":\"\(begun)\",\"offset\":3}]}")
        for (modified, state) in [(7_000, "unfinished"), (7_001, "unknown")] {
            let file = "{\"name\":\"b/c.jpg\",\"size\":9,\"modified\":\(modified)}"
            #expect(try await ask("/up", [ana], file).contains(state), "\(modified)")
        }
        #expect(try await ask("/up", [ana], half.replacing("9", with: "8")) == "{\"files\":[{\"state\":\"unknown\"}]}")
        #expect(try await ask(door, [], half) == "{\"files\":[{\"state\":\"unknown\"}]}")
        // A part of other bytes, and all of them, whose answer was lost.
        #expect(
            try await ask("/up", [ana], half.replacing("9}", with: "9,\"sha256\":\"\(hash("else"))\"}")).contains(
                "unknown"))
        let shot = "name=s.heic&length=2&modified=7000&set=0a&of=2"
        let digest = "Repr-Digest: sha-256=:\(Data(hash("ab").bytes).base64EncodedString()):"
        let member = try #require(
            try await world.ask("POST /up/?\(shot)", [ana, digest], body: "ab").fields["location"])
        let whole = "{\"name\":\"s.heic\",\"size\":2,\"sha256\":\"\(hash("ab"))\"}"
        let answer = "{\"files\":[{\"state\":\"unfinished\",\"upload\":\"\(member)\",\"offset\":2}]}"
        #expect(try await ask("/up", [ana], whole) == answer)
        #expect(try await world.ask("POST /up/\(member)", [ana]).fields["upload-offset"] == "2")
        _ = try await world.ask("POST /up/?\(shot.replacing(".heic", with: ".mov"))", [ana], body: "cd")
        #expect(try await ask("/up", [ana], whole) == answer, "it has its name")
        #expect(try await ask(door, [], whole) == "{\"files\":[{\"state\":\"unknown\"}]}")
        #expect(try await world.ask("PUT \(door)/own.jpg", body: "own").status == 201)
        let own = "{\"name\":\"x.jpg\",\"size\":3,\"sha256\":\"\(hash("own"))\"}"
        #expect(try await ask(door, [], own) == "{\"files\":[{\"state\":\"filed\"}]}")
        // Others have the same link, and could guess a name and a size.
        _ = try await world.ask("POST \(door)/?name=p.jpg&length=9&modified=7000")
        let guess = "{\"name\":\"p.jpg\",\"size\":9}"
        #expect(try await ask(door, [], guess) == "{\"files\":[{\"state\":\"unknown\"}]}")
        #expect(try await ask(door, [], guess.replacing("9}", with: "9,\"modified\":7000}")).contains("unfinished"))
        daemon.state.withLock { $0.isRunning = false }
        #expect(try await ask("/up", [ana], filed) == "{\"files\":[{\"state\":\"unknown\"}]}")
        let many = Array(repeating: half, count: 1_001).joined(separator: ",")
        #expect(try await world.ask("POST /up/known", [ana], body: "{\"files\":[\(many)]}").status == 413)
        #expect(try await world.ask("POST /up/known", [ana], body: "{}").status == 400)
        #expect(try await world.ask("GET /up/known", [ana]).status == 405)
        #expect(try await world.ask("POST /up/known", body: "{}").status == 401)
        try await world.end()
    }
}

@Suite("Receipts", .timeLimit(.minutes(60)))
struct ReceiptTests {
    /// A store with its hub, which asks the daemon when the test wants it to.
    final class World: Sendable {
        let inbox: ScratchDirectory
        let store: DropStore
        let daemon = FakeDaemon()
        let hub: ReceiptHub
        private let turn: AsyncStream<Void>.Continuation
        private let pauses: AsyncStream<Void>

        init(lifetime: Duration = .seconds(86_400)) throws {
            inbox = try ScratchDirectory()
            var options = DropStore.Options()
            options.minFree = 0
            options.today = { "2026-11-26" }
            store = try DropStore(inbox.bytePath, options)
            let (turns, turn) = AsyncStream.makeStream(of: Void.self)
            let (pauses, paused) = AsyncStream.makeStream(of: Void.self)
            (self.turn, self.pauses) = (turn, pauses)
            hub = ReceiptHub(
                store, inbox: "web", ask: { [daemon] in daemon.answer($0) },
                pause: { _ in
                    paused.yield()
                    for await _ in turns { break }
                }, rotation: .zero, lifetime: lifetime)
        }

        /// Lets it ask once more, and waits until it has told what it heard.
        func next() async {
            turn.yield()
            await untilPaused()
        }

        func untilPaused() async { for await _ in pauses { break } }

        /// An upload that is in the inbox.
        func place(_ name: String, _ text: String, _ owner: DropOwner = .person("ana")) throws -> (UploadID, BytePath) {
            let new = NewUpload(owner, try DropName(Array(name.utf8), of: owner), length: UInt64(text.utf8.count))
            let id = try store.create(new)
            try store.append(to: id, at: 0).write(Array(text.utf8))
            return (id, try #require(try store.complete(id).path))
        }
    }

    /// One who looks.
    struct Watcher {
        private var events: AsyncStream<[UInt8]>.AsyncIterator

        init(_ events: AsyncStream<[UInt8]>) { self.events = events.makeAsyncIterator() }

        mutating func next() async -> String? {
            while let bytes = await events.next() {
                let text = String(decoding: bytes, as: UTF8.self)
                if text != ": \n\n" { return text }
            }
            return nil
        }
    }

    private func number(_ event: String?) -> UInt64? {
        event?.firstMatch(of: #/id: (\d+)\n/#).flatMap { UInt64($0.1) }
    }

    @Test("Safe is said when the library has these bytes, and not because another file has an outcome")
    func steps() async throws {
        let world = try World()
        let (id, path) = try world.place("a.jpg", "aaa")
        var ana = Watcher(await world.hub.events(for: .person("ana"), after: nil))
        await world.untilPaused()
        let first = try #require(await ana.next())
        #expect(
            first.contains(
                "event: receipt\ndata: {\"upload\":\"\(id)\",\"name\":\"a.jpg\",\"size\":3,\"step\":\"inbox\""))
        #expect(first.contains("\"safe\":false"))
        // A file that had this name before.
        world.daemon.settle(path, .filed, durable: hash("other"), place: "2026/other.jpg")
        await world.next()
        // What is filed, but not known to stand.
        world.daemon.settle(path, .filed, place: "2026/a.jpg")
        await world.next()
        let doubtful = try #require(await ana.next())
        #expect(doubtful.contains("\"step\":\"filed\"") && doubtful.contains("\"safe\":false"), "\(doubtful)")
        world.daemon.settle(path, .filed, durable: hash("aaa"), place: "2026/a.jpg")
        await world.next()
        let safe = try #require(await ana.next())
        #expect(safe.contains("\"where\":\"2026/a.jpg\",\"reason\":\"because\",\"safe\":true"), "\(safe)")
        let numbers = [first, doubtful, safe].compactMap { number($0) }
        #expect(numbers.count == 3 && numbers == numbers.sorted())

        // Who comes again with the last number gets what is after it; with an unknown one everything, as it is now.
        var again = Watcher(await world.hub.events(for: .person("ana"), after: numbers[1]))
        await world.next()
        #expect(await again.next() == safe)
        world.daemon.settle(path, .undone)
        world.daemon.state.withLock { $0.outcomes.removeAll() }
        var anew = Watcher(await world.hub.events(for: .person("ana"), after: 1))
        await world.next()
        let returned = try #require(await anew.next())
        #expect(returned.contains("\"step\":\"returned\"") && returned.contains("\"safe\":false"), "\(returned)")
        #expect(await again.next() == returned)
    }

    @Test("Guests hear of their own files, and neither where these are nor that they were there already")
    func guests() async throws {
        let world = try World()
        let (_, own) = try world.place("a.jpg", "aaa", .guest("oma"))
        _ = try world.place("b.jpg", "bbb")
        _ = try world.place("c.jpg", "ccc", .guest("opa"))
        world.daemon.settle(own, .duplicate, durable: hash("aaa"), place: "2026/secret.jpg")
        var oma = Watcher(await world.hub.events(for: .guest("oma"), after: nil))
        await world.untilPaused()
        let event = try #require(await oma.next())
        #expect(event.contains("\"step\":\"filed\",\"safe\":true") && !event.contains("secret"), "\(event)")
        #expect(!event.contains("because"))
        let (_, late) = try world.place("d.jpg", "ddd", .guest("oma"))
        world.daemon.settle(late, .quarantined)
        await world.next()
        #expect(await oma.next()?.contains("\"step\":\"quarantined\",\"reason\":\"because\"") == true)
    }

    @Test("Without the daemon nothing is safe; what has left the inbox unfiled is lost, and deferred has its reason")
    func troubles() async throws {
        let world = try World()
        let (_, path) = try world.place("a.jpg", "aaa")
        world.daemon.state.withLock { $0.isRunning = false }
        var ana = Watcher(await world.hub.events(for: .person("ana"), after: nil))
        await world.untilPaused()
        #expect(await ana.next()?.contains("\"safe\":false,\"warning\":\"photoinboxd does not answer\"") == true)
        world.daemon.state.withLock { $0.isRunning = true }
        // No outcome, so it is asked about again.
        var report = FileReports.Report(path, .deferred)
        report.reason = "cut short"
        let deferred = report
        world.daemon.state.withLock { $0.reports[path] = deferred }
        await world.next()
        #expect(await ana.next()?.contains("\"step\":\"deferred\",\"reason\":\"cut short\"") == true)
        world.daemon.state.withLock { $0.reports[path] = FileReports.Report(path, .unseen) }
        await world.next()
        #expect(await ana.next()?.contains("\"step\":\"inbox\"") == true)
        unlink(world.inbox.appending("\(path)"))
        await world.next()
        #expect(await ana.next()?.contains("\"step\":\"lost\"") == true)
    }

    @Test("What is no photo has been dealt with: it stays in the inbox, which a guest hears, too")
    func stays() async throws {
        let world = try World()
        for owner in [DropOwner.person("ana"), .guest("oma")] {
            let (_, path) = try world.place("notes.txt", "\(owner)", owner)
            world.daemon.settle(path, .ignored)
            var watcher = Watcher(await world.hub.events(for: owner, after: nil))
            if owner == .person("ana") { await world.untilPaused() } else { await world.next() }
            let event = try #require(await watcher.next())
            #expect(event.contains("\"step\":\"stays\",\"reason\":\"because\",\"safe\":false"), "\(event)")
        }
    }

    @Test("What may have been placed is asked about at once")
    func wake() async throws {
        let world = try World()
        var ana = Watcher(await world.hub.events(for: .person("ana"), after: nil))
        await world.untilPaused()
        _ = try world.place("a.jpg", "aaa")
        await world.hub.wake()
        await world.untilPaused()
        #expect(await ana.next()?.contains("\"step\":\"inbox\"") == true)
    }

    @Test("An open page hears that a safe photo was taken back, though that is no outcome")
    func takenBack() async throws {
        let world = try World()
        let (_, path) = try world.place("a.jpg", "aaa")
        world.daemon.settle(path, .filed, durable: hash("aaa"), place: "2026/a.jpg")
        var ana = Watcher(await world.hub.events(for: .person("ana"), after: nil))
        await world.untilPaused()
        let safe = await ana.next()
        #expect(safe?.contains("\"safe\":true") == true)
        world.daemon.state.withLock { $0.reports[path] = FileReports.Report(path, .undone) }
        var again = Watcher(await world.hub.events(for: .person("ana"), after: number(safe)))
        await world.next()
        for event in [await ana.next(), await again.next()] {
            #expect(event?.contains("\"step\":\"returned\"") == true && event?.contains("\"safe\":false") == true)
        }
    }

    @Test("With others looking, an owner of hundreds hears of each that was taken back")
    func turns() async throws {
        let world = try World()
        var paths: [BytePath] = []
        for number in 0..<120 {
            let (_, path) = try world.place("\(number).jpg", "\(number)")
            world.daemon.settle(path, .filed, durable: hash("\(number)"), place: "2026/\(number).jpg")
            paths.append(path)
        }
        let (_, other) = try world.place("a.jpg", "aaa", .guest("oma"))
        world.daemon.settle(other, .filed, durable: hash("aaa"), place: "2026/a.jpg")
        var ana = Watcher(await world.hub.events(for: .person("ana"), after: nil))
        let oma = await world.hub.events(for: .guest("oma"), after: nil)
        await world.untilPaused()
        for _ in paths { _ = await ana.next() }
        let undone = paths.map { ($0, FileReports.Report($0, .undone)) }
        world.daemon.state.withLock { $0.reports.merge(undone) { $1 } }
        for _ in 0..<6 { await world.next() }
        var returned: Set<String> = []
        for _ in paths {
            let event = try #require(await ana.next())
            #expect(event.contains("\"step\":\"returned\""))
            returned.insert(event)
        }
        #expect(returned.count == paths.count)
        withExtendedLifetime(oma) {}
    }

    @Test("A page that comes again while the daemon is away does not go on showing what was safe")
    func away() async throws {
        let world = try World()
        let (_, path) = try world.place("a.jpg", "aaa")
        world.daemon.settle(path, .filed, durable: hash("aaa"), place: "2026/a.jpg")
        var first: AsyncStream<[UInt8]>? = await world.hub.events(for: .person("ana"), after: nil)
        await world.untilPaused()
        var safe: String?
        if let stream = first {
            var ana = Watcher(stream)
            safe = await ana.next()
        }
        first = nil
        try await poll {
            await world.hub.isWatched
        } until: {
            !$0
        }
        world.daemon.state.withLock { $0.isRunning = false }
        // The turn at which nobody looks is the last one; whoever comes begins the next.
        var again = Watcher(await world.hub.events(for: .person("ana"), after: number(safe)))
        await world.next()
        #expect(await again.next()?.contains("\"safe\":false") == true)
    }

    @Test("A stream ends when it has lasted long enough, behind what was to be sent")
    func lifetime() async throws {
        let world = try World(lifetime: .zero)
        let (_, path) = try world.place("a.jpg", "aaa")
        world.daemon.settle(path, .filed, durable: hash("aaa"), place: "2026/a.jpg")
        var ana = Watcher(await world.hub.events(for: .person("ana"), after: nil))
        await world.untilPaused()
        #expect(await ana.next()?.contains("\"safe\":true") == true)
        #expect(await ana.next() == nil)
    }

    @Test("What a stream has no room for is sent when it is read, and others are not sent everything again")
    func unread() async throws {
        let world = try World()
        let count = ReceiptHub.events + 100
        for number in 0..<count { _ = try world.place("\(number).jpg", "\(number)") }
        let stream = await world.hub.events(for: .person("ana"), after: nil)
        await world.untilPaused()
        await world.next()
        var ana = Watcher(stream)
        var seen: Set<String> = []
        for _ in 1..<ReceiptHub.events { if let event = await ana.next() { seen.insert(event) } }
        let other = await world.hub.events(for: .person("ana"), after: nil)
        await world.next()
        while seen.count < count, let event = await ana.next() {
            let isNew = seen.insert(event).inserted
            #expect(isNew, "\(event)")
        }
        #expect(seen.count == count)
        withExtendedLifetime(other) {}
    }

    @Test("What a catalogue that was made anew has without an outcome is filed, and not lost")
    func madeAnew() async throws {
        let world = try World()
        let (_, path) = try world.place("a.jpg", "aaa")
        unlink(world.inbox.appending("\(path)"))
        world.daemon.state.withLock { state in
            state.reports[path] = FileReports.Report(path, .unseen)
            state.known = [hash("aaa").bytes]
        }
        var ana = Watcher(await world.hub.events(for: .person("ana"), after: nil))
        await world.untilPaused()
        let filed = await ana.next()
        #expect(filed?.contains("\"step\":\"filed\"") == true && filed?.contains("\"safe\":false") == true)
        world.daemon.state.withLock { $0.known = [] }
        await world.next()
        #expect(await ana.next()?.contains("\"step\":\"lost\"") == true)
    }

    @Test("Of too many streams of one owner, the oldest ends")
    func streams() async throws {
        let world = try World()
        var first = Watcher(await world.hub.events(for: .person("ana"), after: nil))
        var others: [AsyncStream<[UInt8]>] = []
        await world.untilPaused()
        for _ in 1..<ReceiptHub.streams { others.append(await world.hub.events(for: .person("ana"), after: nil)) }
        others.append(await world.hub.events(for: .guest("oma"), after: nil))
        var second = Watcher(others[0])
        let (id, _) = try world.place("a.jpg", "aaa")
        await world.next()
        #expect(await first.next()?.contains("\(id)") == true)
        others.append(await world.hub.events(for: .person("ana"), after: nil))
        #expect(await first.next() == nil)
        #expect(await second.next()?.contains("\(id)") == true)
    }

    @Test("A name is not used again while an upload that had it is remembered")
    func names() throws {
        let world = try World()
        let (_, first) = try world.place("a.jpg", "aaa")
        unlink(world.inbox.appending("\(first)"))
        let (_, second) = try world.place("a.jpg", "bbb")
        #expect(first == "ana/2026-11-26/a.jpg" && second == "ana/2026-11-26-2/a.jpg")
    }

    @Test("Thousands are asked about in requests that the socket accepts, each once")
    func many() async throws {
        let world = try World()
        let name = String(repeating: "x", count: 200)
        for number in 0..<300 { _ = try world.place("\(name)\(number).jpg", "\(number)") }
        var ana = Watcher(await world.hub.events(for: .person("ana"), after: nil))
        await world.untilPaused()
        var seen: Set<String> = []
        for _ in 0..<300 { if let event = await ana.next() { seen.insert(event) } }
        #expect(seen.count == 300)
        let asked = world.daemon.state.withLock { $0.asked }
        #expect(asked.count > 3 && asked.joined().count == 300)
        for paths in asked {
            #expect(ControlRequest(.outcomes(inbox: "web", of: paths)).json().count <= ControlRequest.limit)
        }
    }
}
