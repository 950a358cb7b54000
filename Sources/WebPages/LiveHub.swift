import CommandSupport
import ControlProtocol
import HTTPValues
import Reporting

/// One question a second to the daemon, for all who look; none while nobody does.
///
/// Whoever looks gets the state at once, and again when it has changed. A slow one gets the newest, and misses those
/// between.
actor LiveHub {
    private let ask: @Sendable () async -> ServerEvent
    private let pause: @Sendable () async -> Void
    private var watchers: [Int: (events: AsyncStream<[UInt8]>.Continuation, left: Int)] = [:]
    private var lastWatcher = 0
    private var last: ServerEvent?
    private var asking: Task<Void, Never>?

    /// A comment keeps a silent stream open: after so many questions whose answers were the same.
    static let silence = 15
    /// How many questions a stream lasts: the browser then asks for another, and who was signed out or removed gets none.
    static let lifetime = 120

    /// `pause` is waited for between two questions.
    init(
        ask: @escaping @Sendable () async -> ServerEvent,
        pause: @escaping @Sendable () async -> Void = { try? await Task.sleep(for: .seconds(1)) }
    ) {
        (self.ask, self.pause) = (ask, pause)
    }

    /// The events for one who looks, until the stream is dropped or has lasted long enough.
    func events() -> AsyncStream<[UInt8]> {
        lastWatcher += 1
        let number = lastWatcher
        let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self, bufferingPolicy: .bufferingNewest(1))
        continuation.onTermination = { _ in Task { await self.left(number) } }
        watchers[number] = (continuation, Self.lifetime)
        if asking == nil {
            asking = Task { await self.askWhileWatched() }
        } else if let last {
            continuation.yield(last.bytes)
        }
        return stream
    }

    /// Whether somebody looks, or has until a moment ago.
    var isAsking: Bool { asking != nil }

    private func left(_ number: Int) { watchers[number] = nil }

    private func askWhileWatched() async {
        var silent = 0
        last = nil
        while !watchers.isEmpty {
            let event = await ask()
            silent += 1
            if event != last {
                last = event
                send(event.bytes)
                silent = 0
            } else if silent >= Self.silence {
                send(ServerEvent.comment)
                silent = 0
            }
            endOldest()
            await pause()
        }
        asking = nil
    }

    private func send(_ bytes: [UInt8]) { for watcher in watchers.values { watcher.events.yield(bytes) } }

    private func endOldest() {
        for number in watchers.keys { watchers[number]?.left -= 1 }
        for (number, watcher) in watchers where watcher.left <= 0 {
            watchers[number] = nil
            watcher.events.finish()
        }
    }
}

extension DaemonClient {
    /// The state, or why there is none, as an event.
    func liveEvent() -> ServerEvent {
        do throws(CommandFailure) {
            return ServerEvent("state", LiveView(try state()).json.compact)
        } catch {
            let failure = JSONValue.object([JSONField("message", error.message), JSONField("action", error.action)])
            return ServerEvent("failure", failure.compact)
        }
    }
}
