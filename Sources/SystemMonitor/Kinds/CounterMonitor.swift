import Dispatch
import LinuxKernel

/// An event of a ``CounterMonitor``: the combined notices since the last event.
public struct CounterEvent: Sendable, Equatable {
    /// The notices' values, combined according to the monitor's mode.
    public let value: UInt
    /// The number of notices.
    public let notices: UInt64
}

/// Coalesces notices from other threads: ``notify(_:)`` is cheap, and the handler gets all notices since its last call
/// as one event.
public final class CounterMonitor: Monitor {
    /// How the values of pending notices are combined.
    public enum Mode: String, Sendable {
        /// The sum, wrapping around.
        case add
        /// The union of bits.
        case or
        /// The last one.
        case replace
    }

    /// See ``Monitor/handle``.
    public var handle: MonitorHandle<CounterEvent> { core.handle }
    private let core: MonitorCore<CounterEvent>
    private let source: CounterSource

    /// Sets up a monitor; from any thread.
    public init(
        _ mode: Mode, label: String, queue: MonitorQueue, file: StaticString = #fileID, line: UInt = #line
    ) {
        let slot = HandlerSlot<CounterEvent>(queue: queue)
        let source = CounterSource(mode, slot: slot)
        self.source = source
        core = MonitorCore(
            kind: "CounterMonitor", label: label, queue: queue, source: source, slot: slot, onEnd: nil, file: file,
            line: line)
    }

    /// Adds a notice; from any thread, in any state. Notices before activation are reported after it; those after
    /// invalidation are dropped and counted.
    public func notify(_ value: UInt = 1) {
        if !source.notify(value) { core.countDropped() }
    }
}

/// Wakes through a user-data source and holds the value itself: libdispatch's reports neither the number of merged
/// notices nor a replacement by 0, and accepts none before activation.
final class CounterSource: KernelSource {
    private struct Contents {
        var value: UInt = 0
        var notices: UInt64 = 0
        var source: DispatchSource?
        var isEnded = false
    }

    private let mode: CounterMonitor.Mode
    private let slot: HandlerSlot<CounterEvent>
    private let contents = Locked(Contents())

    init(_ mode: CounterMonitor.Mode, slot: HandlerSlot<CounterEvent>) {
        self.mode = mode
        self.slot = slot
    }

    var descriptor: Int32? { nil }
    var countsUnreadEvents: Bool { true }

    /// Adds a notice; false after the end. Any thread.
    func notify(_ value: UInt) -> Bool {
        let (isAccepted, toWake) = contents.withLock { contents -> (Bool, DispatchSource?) in
            guard !contents.isEnded else { return (false, nil) }
            switch mode {
            case .add: contents.value &+= value
            case .or: contents.value |= value
            case .replace: contents.value = value
            }
            contents.notices += 1
            return (true, contents.notices == 1 ? contents.source : nil)
        }
        if let toWake { Self.wake(toWake) }
        return isAccepted
    }

    func start(for engine: MonitorEngine) {
        let turn: @Sendable () -> Void = { self.drain(engine) }
        let source = startSource(
            DispatchSource.makeUserDataAddSource(queue: engine.queue.dispatchQueue),
            fired: { engine.fired(turn) }, registered: { engine.registered() },
            cancelled: {
                self.contents.withLock { $0.source = nil }
                engine.sourceCancelled()
            })
        let isEarly = contents.withLock { contents in
            contents.source = source
            return contents.notices > 0
        }
        if isEarly { Self.wake(source) }
    }

    func hold() { contents.withLock { $0.source }?.suspend() }
    func release() { contents.withLock { $0.source }?.resume() }

    func cancel(for engine: MonitorEngine) {
        end(engine)
        contents.withLock { $0.source }?.cancel()
    }

    func abandon(for engine: MonitorEngine) {
        end(engine)
        engine.queue.async { engine.sourceCancelled() }
    }

    private func drain(_ engine: MonitorEngine) {
        let event = contents.withLock { contents -> CounterEvent? in
            guard contents.notices > 0 else { return nil }
            defer { (contents.value, contents.notices) = (0, 0) }
            return CounterEvent(value: contents.value, notices: contents.notices)
        }
        guard let event else { return }
        if event.notices > 1 { engine.record.addCoalesced(event.notices - 1) }
        engine.deliver(event, to: slot)
    }

    /// Drops pending and later notices.
    private func end(_ engine: MonitorEngine) {
        let late = contents.withLock { contents in
            contents.isEnded = true
            defer { contents.notices = 0 }
            return contents.notices
        }
        if late > 0 { engine.record.addDropped(late) }
    }

    private static func wake(_ source: DispatchSource) {
        (source as (any DispatchSourceUserDataAdd)).add(data: 1)
    }
}
