import CLinux
import Glibc

/// A pipe for a child's output: blocking for the child, non-blocking for this process. Closed on exec; see pipe(2).
public struct OutputPipe: ~Copyable, Sendable {
    /// The end to read from; non-blocking.
    public let reading: OwnedDescriptor
    /// The child's end; must be closed here once the child has it, or the output never ends.
    public let writing: OwnedDescriptor

    /// Creates a pipe.
    public init() throws(SystemCallError) {
        var ends: [Int32] = [-1, -1]
        try systemCall("pipe2") { clinux_pipe(&ends) }
        reading = OwnedDescriptor(taking: ends[0])
        writing = OwnedDescriptor(taking: ends[1])
        // Each end has its own flags; setting them on a new pipe cannot fail.
        let result = fcntl(ends[1], F_SETFL, 0)
        precondition(result == 0, "fcntl: \(errno)")
    }

    /// Transfers both ends to new owners.
    public consuming func take() -> (reading: Int32, writing: Int32) { (reading.take(), writing.take()) }
}
