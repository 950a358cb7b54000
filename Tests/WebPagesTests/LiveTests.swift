import ControlProtocol
import HTTPValues
import LinuxKernel
import Reporting
import TestSupport
import Testing

@testable import WebPages

@Suite("The state for all who look", .timeLimit(.minutes(60)))
struct LiveHubTests {
    /// A daemon whose answers a test changes, asked at the test's pace.
    final class Source: Sendable {
        private let answer = Locked("a")
        private let asked = Locked(0)
        private let turns: AsyncStream<Void>
        private let turn: AsyncStream<Void>.Continuation
        private let pauses: AsyncStream<Void>
        private let paused: AsyncStream<Void>.Continuation

        init() {
            (turns, turn) = AsyncStream.makeStream()
            (pauses, paused) = AsyncStream.makeStream()
        }

        func makeHub() -> LiveHub {
            LiveHub {
                self.asked.withLock { $0 += 1 }
                return ServerEvent("state", self.answer.withLock { $0 })
            } pause: {
                self.paused.yield()
                for await _ in self.turns { break }
            }
        }

        var count: Int { asked.withLock { $0 } }
        func set(_ text: String) { answer.withLock { $0 = text } }

        /// Lets it ask once more, and waits until it has.
        func next() async {
            turn.yield()
            await untilPaused()
        }

        func untilPaused() async { for await _ in pauses { break } }

        /// Lets it notice that nobody looks.
        func proceed() { turn.yield() }
    }

    private func next(_ events: AsyncStream<[UInt8]>) async -> String? {
        for await bytes in events { return String(decoding: bytes, as: UTF8.self) }
        return nil
    }

    @Test("Who comes gets the state at once; a question is asked once for all, and only a change is sent")
    func sharing() async {
        let source = Source()
        let hub = source.makeHub()
        #expect(source.count == 0)
        let first = await hub.events()
        await source.untilPaused()
        #expect(await next(first) == "event: state\ndata: a\n\n")
        let second = await hub.events()
        #expect(await next(second) == "event: state\ndata: a\n\n")
        #expect(source.count == 1)
        await source.next()
        source.set("b")
        await source.next()
        #expect(source.count == 3)
        #expect(await next(first) == "event: state\ndata: b\n\n")
        #expect(await next(second) == "event: state\ndata: b\n\n")
    }

    @Test("A slow one gets the newest state, and a silent stream a comment")
    func slow() async {
        let source = Source()
        let hub = source.makeHub()
        let events = await hub.events()
        await source.untilPaused()
        source.set("b")
        await source.next()
        source.set("c")
        await source.next()
        #expect(await next(events) == "event: state\ndata: c\n\n")
        for _ in 0..<LiveHub.silence { await source.next() }
        #expect(await next(events) == String(decoding: ServerEvent.comment, as: UTF8.self))
    }

    @Test("A stream ends after a while, so that whoever is signed out sees no more")
    func lifetime() async {
        let source = Source()
        let hub = source.makeHub()
        let events = await hub.events()
        await source.untilPaused()
        for _ in 1..<LiveHub.lifetime { await source.next() }
        var count = 0
        for await _ in events { count += 1 }
        #expect(count == 1)
        #expect(source.count == LiveHub.lifetime)
    }

    @Test("When nobody looks, nothing is asked")
    func nobody() async throws {
        let source = Source()
        let hub = source.makeHub()
        do {
            let looking = Task { [events = await hub.events()] in for await _ in events {} }
            await source.untilPaused()
            looking.cancel()
            await looking.value
        }
        try await poll {
            await hub.isAsking
        } until: { isAsking in
            source.proceed()
            return !isAsking
        }
        let before = source.count
        #expect(source.count == before)
        let events = await hub.events()
        #expect(await next(events) == "event: state\ndata: a\n\n")
        #expect(source.count > before)
    }
}

@Suite("What the live page shows")
struct LiveViewTests {
    @Test("It does not change by itself, and has names as requests have them")
    func view() {
        var state = DaemonState()
        state.program.started = "2026-11-26T05:00:00Z"
        state.program.uptimeSeconds = 1
        var arrival = DaemonState.InHand()
        (arrival.inbox, arrival.file, arrival.stage) = ("card", "a\\xff.jpg", "deferred")
        state.inHand = [arrival]
        let text = LiveView(state).json.compact
        #expect(text.contains("\"file_base64\""))
        state.program.uptimeSeconds = 2
        state.at = "later"
        #expect(LiveView(state).json.compact == text)
    }

    @Test("It has another mark when a photo was filed, taken back or read for what it says")
    func mark() throws {
        var state = DaemonState()
        var marks: Set<Substring> = []
        func look() throws {
            marks.insert(try #require(LiveView(state).json.compact.firstMatch(of: #/"mark":"([^"]*)"/#)).1)
        }
        try look()
        var ended = DaemonState.Ended()
        ended.operation = 7
        state.outcomes = [ended]
        try look()
        state.changes = 1
        try look()
        state.program.started = "2026-11-26T05:00:00Z"
        try look()
        #expect(marks.count == 4)
    }

    @Test("Of many arrivals a part is listed, and the rest counted")
    func many() {
        var state = DaemonState()
        state.inHand = (0..<130).map { number in
            var arrival = DaemonState.InHand()
            arrival.file = "\(number).jpg"
            return arrival
        }
        state.inHandOmitted = 5
        let text = LiveView(state).json.compact
        #expect(text.contains("\"in_hand_omitted\":35"))
        #expect(text.contains("\"99.jpg\"") && !text.contains("\"100.jpg\""))
    }
}
