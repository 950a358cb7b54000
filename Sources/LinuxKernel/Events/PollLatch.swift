import CLinux
import Glibc

/// Keeps the answer of a descriptor that says only once that it is ready: a counter (an eventfd) that becomes readable
/// then, and stays so until it is taken.
///
/// A pressure trigger forgets that it fired as soon as anybody polls it. epoll asks twice (when a descriptor is armed
/// again, and before it reports), and the second answer is no: what fired while nobody waited would be told to nobody.
/// Here the kernel asks once for each request, and the counter remembers; see io_submit(2), IOCB_CMD_POLL.
///
/// Not for two threads at once. Its owner calls ``end()`` once, before the subject is closed.
public struct PollLatch: Sendable {
    private let context: UInt64
    private let subject: Int32
    private let counter: Int32
    private let readiness: Readiness

    /// Asks `subject` from now on. Both descriptors stay the caller's. Throws what io_setup(2) and io_submit(2) say:
    /// EAGAIN where `fs.aio-max-nr` is used up, ENOSYS where the kernel lacks them.
    public init(
        of subject: borrowing OwnedDescriptor, _ readiness: Readiness, counter: borrowing OwnedDescriptor
    ) throws(SystemCallError) {
        var context: UInt64 = 0
        try systemCall("io_setup") { clinux_aio_setup(&context) }
        self.context = context
        self.subject = subject.raw
        self.counter = counter.raw
        self.readiness = readiness
        do throws(SystemCallError) {
            try ask()
        } catch {
            end()
            throw error
        }
    }

    /// A counter for an initialiser.
    public static func makeCounter() throws(SystemCallError) -> OwnedDescriptor {
        try descriptorCall("eventfd") { clinux_eventfd() }
    }

    /// Whether the subject was ready since the last call; asks it again if so.
    public func take() throws(SystemCallError) -> Bool {
        var count: UInt64 = 0
        guard read(counter, &count, MemoryLayout.size(ofValue: count)) > 0 else { return false }
        try systemCall("io_getevents") { clinux_aio_reap(context) }
        try ask()
        return true
    }

    /// Asks no more. Once; nothing may be called afterwards.
    public func end() { _ = clinux_aio_destroy(context) }

    private func ask() throws(SystemCallError) {
        try systemCall("io_submit") { clinux_aio_poll(context, subject, readiness.rawValue, counter) }
    }
}
