import CLinux
import Glibc

/// A pipe that a child is to write into: it waits where nobody reads, we do not. Both ends are closed on exec; see pipe(2).
public struct OutputPipe: ~Copyable, Sendable {
    /// For us; non-blocking.
    public let reading: OwnedDescriptor
    /// For the child; closed here once the child has it, or there is no end.
    public let writing: OwnedDescriptor

    /// Makes one.
    public init() throws(SystemCallError) {
        var ends: [Int32] = [-1, -1]
        try systemCall("pipe2") { clinux_pipe(&ends) }
        reading = OwnedDescriptor(taking: ends[0])
        writing = OwnedDescriptor(taking: ends[1])
        // Each end has flags of its own; of a pipe that is ours they can be set.
        let result = fcntl(ends[1], F_SETFL, 0)
        precondition(result == 0, "fcntl: \(errno)")
    }

    /// Hands both ends over.
    public consuming func take() -> (reading: Int32, writing: Int32) { (reading.take(), writing.take()) }
}
