import FileValues
import Glibc
import LinuxKernel

/// Asks whether a program is writing a file whose close was not reported, so that it is reported once, when it is closed, and
/// not before.
///
/// It costs four system calls. Unknown for another user's file, or while SIGIO is not blocked. A value; safe on any thread.
struct WriterGuess: Sendable {
    private let isSafe: Bool

    /// - Parameter handlesSIGIO: Whether the process has a handler for it, which cannot be detected.
    init(handlesSIGIO: Bool) { isSafe = handlesSIGIO || isSignalHarmless(SIGIO) }

    enum Answer {
        case writer, noWriter, unknown
    }

    /// How long ago a file of a listing may have changed to be asked about, in seconds.
    static let recently: Int64 = 60

    /// The wall clock in seconds, as file systems read it.
    static var now: Int64 { FileTime.now(isCoarse: true).seconds }

    /// Whether the kernel grants a read lease on the file, which it does unless the file has a writer or is mapped for
    /// writing. A NUL follows the name.
    func ask(
        _ name: UnsafeRawBufferPointer, _ identity: FileIdentity, in directory: borrowing OwnedDescriptor
    ) -> Answer {
        guard isSafe, let start = name.baseAddress?.assumingMemoryBound(to: CChar.self) else { return .unknown }
        do throws(SystemCallError) {
            let file = try directory.openFile(named: start)
            // Another file has the name by now: an event reports it.
            guard try FileStatus(of: file).identity.inode == identity.inode else { return .unknown }
            switch file.askForReadLease() {
            case .refusedForWriter: return .writer
            case .granted: return .noWriter
            case .unavailable: return .unknown
            }
        } catch {
            return .unknown
        }
    }
}
