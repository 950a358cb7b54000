import CLinux
import Glibc

/// Latches the readiness of a descriptor that reports it only once: a counter (an eventfd) becomes readable and stays
/// so until ``consume()``.
///
/// A pressure trigger forgets that it fired as soon as it is polled. epoll polls twice (when a descriptor is rearmed,
/// and before it reports), and the second poll finds nothing: an event that fires while nothing waits would be lost.
/// Here the kernel polls once per request, and the counter keeps the result; see io_submit(2), IOCB_CMD_POLL.
///
/// Not thread-safe. Its owner calls ``end()`` once, before the subject is closed.
public struct PollLatch: Sendable {
    private let context: UInt64
    private let subject: Int32
    private let counter: Int32
    private let readiness: Readiness

    /// Starts polling `subject`; the caller keeps both descriptors. Throws the errors of io_setup(2) and io_submit(2):
    /// EAGAIN if `fs.aio-max-nr` is exhausted, ENOSYS if the kernel lacks them.
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
            try request()
        } catch {
            end()
            throw error
        }
    }

    /// Creates a counter for the initialiser.
    public static func makeCounter() throws(SystemCallError) -> OwnedDescriptor {
        try descriptorCall("eventfd") { clinux_eventfd() }
    }

    /// Whether the subject has been ready since the last call; if so, polls it again.
    public func consume() throws(SystemCallError) -> Bool {
        var count: UInt64 = 0
        guard read(counter, &count, MemoryLayout.size(ofValue: count)) > 0 else { return false }
        try systemCall("io_getevents") { clinux_aio_reap(context) }
        try request()
        return true
    }

    /// Stops polling. To be called once; no other call may follow.
    public func end() { _ = clinux_aio_destroy(context) }

    private func request() throws(SystemCallError) {
        try systemCall("io_submit") { clinux_aio_poll(context, subject, readiness.rawValue, counter) }
    }
}
