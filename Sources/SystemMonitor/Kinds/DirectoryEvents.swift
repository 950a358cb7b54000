import Glibc
public import LinuxKernel
import SystemPackage

/// The records of one read of an inotify queue, in the kernel's order.
public struct DirectoryEvents: Sendable {
    /// The records as returned by read(2); see inotify(7).
    public let bytes: [UInt8]

    /// Whole records as returned by read(2); see inotify(7).
    public init(bytes: [UInt8]) { self.bytes = bytes }

    /// Calls `body` with each record. A record and its name point into the batch: they are valid only during the call;
    /// copy a name to store it (`InotifyRecord.copiedName`).
    @inlinable
    public func forEach<E: Error>(_ body: (InotifyRecord) throws(E) -> Void) throws(E) {
        // The rethrowing buffer call would lose the error's type, so its result is passed as a value.
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
    /// Bytes of one read: about 1,500 records with camera names. Below malloc's threshold for mapping each buffer.
    static var readSize: Int { 64 << 10 }

    /// Delivers the queue's records, with one read, or with several while each is full, for `turn` at most. Returns
    /// whether there were any.
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
            // The buffer was not full, so the queue was empty.
            if bytes.count < readSize - InotifyInstance.smallestBuffer { break }
            // The source fires again, after the turns of other monitors.
            if nanoseconds(of: CLOCK_MONOTONIC) - now > UInt64(max(0, turn.wholeNanoseconds)) { break }
        }
        return start != nil
    }
}
