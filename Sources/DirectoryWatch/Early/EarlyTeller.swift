/// Who tells files before anything else is done: lines of text, of which all but the name is known beforehand.
///
/// Instead of the handler it is given files that were made and closed after writing, in a directory where such a file was
/// told just before, at a low rate. Only where ``DirectoryWatch/drive(whileOpen:)`` serves, and without identities. Where
/// there is one, a file's creation may be told later than it would, by a tick at most.
public struct EarlyTeller: Sendable {
    /// What stands before and after the names of a directory's files; nil where there is no such line. On the watch's
    /// queue; given the root's place among those that the watch was made with, and the directory's path from there (empty,
    /// or with a slash at its end).
    public let frame: @Sendable (_ root: Int, _ directory: [UInt8]) -> (before: [UInt8], after: [UInt8])?
    /// Whether a file of this name is told so; if not, the handler gets it. As ``write``.
    public let accepts: @Sendable (_ name: UnsafeRawBufferPointer) -> Bool
    /// Writes a line; false if nothing was written, so that the handler gets the file. On the thread that drives the
    /// watch, never at the same time as the handler, and with a lock held that each turn of the watch waits for: it must
    /// not call the watch, nor wait for its queue.
    public let write: @Sendable (_ line: UnsafeRawBufferPointer) -> Bool

    /// One that is made of these.
    public init(
        frame: @escaping @Sendable (_ root: Int, _ directory: [UInt8]) -> (before: [UInt8], after: [UInt8])?,
        accepts: @escaping @Sendable (_ name: UnsafeRawBufferPointer) -> Bool = { _ in true },
        write: @escaping @Sendable (_ line: UnsafeRawBufferPointer) -> Bool
    ) {
        self.frame = frame
        self.accepts = accepts
        self.write = write
    }
}
