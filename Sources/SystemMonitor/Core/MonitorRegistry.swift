import LinuxKernel

/// All monitors that are not invalidated yet. Usable from any thread; never waits for a queue.
public final class MonitorRegistry: Sendable {
    /// The process's registry.
    public static let shared = MonitorRegistry()

    private struct Contents {
        var lastID: UInt64 = 0
        var records: [UInt64: MonitorRecord] = [:]
        var onHandlerError: (@Sendable (MonitorDescription, any Error) -> Void)?
    }

    private let contents = Locked(Contents())

    private init() {}

    /// A description of each, in the order of their set up.
    public func descriptions() -> [MonitorDescription] {
        let records = contents.withLock { Array($0.records.values) }
        return records.sorted { $0.id < $1.id }.map { $0.describe() }
    }

    /// The number of monitors.
    public var liveCount: Int { contents.withLock { $0.records.count } }

    /// Sets a callback for errors of handlers, called on the monitor's queue after the monitor was disabled.
    public func setHandlerErrorSink(_ sink: @escaping @Sendable (MonitorDescription, any Error) -> Void) {
        contents.withLock { $0.onHandlerError = sink }
    }

    func makeRecord(kind: String, label: String, queue: String, file: StaticString, line: UInt) -> MonitorRecord {
        contents.withLock {
            $0.lastID += 1
            let record = MonitorRecord(
                id: $0.lastID, kind: kind, label: label, queue: queue, file: file, line: line)
            $0.records[record.id] = record
            return record
        }
    }

    func remove(_ record: MonitorRecord) {
        _ = contents.withLock { $0.records.removeValue(forKey: record.id) }
    }

    func report(_ error: any Error, of record: MonitorRecord) {
        contents.withLock { $0.onHandlerError }?(record.describe(), error)
    }
}
