import Glibc
public import LinuxKernel
import SystemPackage

/// Records of an inotify queue in the order in which the kernel put them there, as one read gave them.
public struct DirectoryEvents: Sendable {
    /// The records as read(2) gave them; see inotify(7).
    public let bytes: [UInt8]

    /// Whole records as read(2) gave them; see inotify(7).
    public init(bytes: [UInt8]) { self.bytes = bytes }

    /// Calls `body` with each record. A record and its names point into the batch: they are valid in the call alone, and
    /// whoever keeps a name copies it (`InotifyRecord.copiedName`).
    @inlinable
    public func forEach<E: Error>(_ body: (InotifyRecord) throws(E) -> Void) throws(E) {
        // A closure with typed throws cannot pass through the rethrowing buffer call, so its result is carried out.
        let result: Result<Void, E> = bytes.withUnsafeBytes { buffer in
            do throws(E) {
                for record in InotifyRecords(buffer) { try body(record) }
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }
}

extension DirectoryEvents {
    /// Bytes of one read: some 1,500 records with camera names. Below the size at which malloc maps each buffer.
    static var readSize: Int { 64 << 10 }

    /// Delivers the records in a queue, with one read, or with several while each is full or has few records; for `turn` at
    /// most. Whether there were any.
    @discardableResult
    static func drain(_ descriptor: Int32, _ outlet: EventOutlet<Self>, for turn: Duration) -> Bool {
        var start: UInt64?
        while outlet.isOpen {
            var failure: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: readSize) { buffer, count in
                let result = read(descriptor, buffer.baseAddress, buffer.count)
                count = max(0, result)
                failure = result < 0 ? errno : 0
            }
            if failure == EINTR { continue }
            if bytes.isEmpty {
                if failure != 0, failure != EAGAIN { outlet.fail(SystemCallError("read", Errno(rawValue: failure))) }
                return start != nil
            }
            let now = start ?? nanoseconds(of: CLOCK_MONOTONIC)
            start = now
            outlet.deliver(Self(bytes: bytes))
            // The read had room for more, so the queue was empty after it. After few records it is read again all the same: one
            // that came meanwhile, as that of a close after that of the creation, would otherwise wait until the source
            // fires again, for three changes of threads.
            let hadRoom = bytes.count < readSize - InotifyInstance.smallestBuffer
            if hadRoom, bytes.count > InotifyInstance.smallestBuffer { break }
            // Others on the queue wait no longer than a turn: the source fires again.
            if nanoseconds(of: CLOCK_MONOTONIC) - now > UInt64(max(0, turn.wholeNanoseconds)) { break }
        }
        return start != nil
    }
}
