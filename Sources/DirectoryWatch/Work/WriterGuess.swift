import FileValues
import Glibc
import LinuxKernel

/// Asks of a file that a listing found whether somebody is writing it, so that it is told once, when it is closed, and
/// not before.
///
/// Only of files that changed lately: it costs four system calls. Where nothing can be said (another user's file, SIGIO
/// not blocked), the file counts as finished, as WatchNotice says. A value; safe on any thread.
struct WriterGuess: Sendable {
    private let isSafe = isSignalHarmless(SIGIO)

    /// How long ago a file may have changed to be asked about, in seconds.
    private static let recently: Int64 = 60

    /// The wall clock in seconds, as file systems read it.
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME_COARSE, &time)
        return Int64(time.tv_sec)
    }

    /// Whether the kernel refuses a read lease on the file, which it does while it has a writer. A NUL follows the name.
    func hasWriter(
        _ name: UnsafeRawBufferPointer, _ identity: FileIdentity, in directory: borrowing OwnedDescriptor, now: Int64
    ) -> Bool {
        guard isSafe, abs(now - identity.changed.seconds) <= Self.recently,
            let start = name.baseAddress?.assumingMemoryBound(to: CChar.self)
        else { return false }
        do throws(SystemCallError) {
            let file = try directory.openFile(named: start)
            // Another file has the name by now: an event tells of it.
            guard try FileStatus(of: file).identity.inode == identity.inode else { return false }
            return file.askForReadLease() == .refusedForWriter
        } catch {
            return false
        }
    }
}
