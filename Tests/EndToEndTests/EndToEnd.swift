import Glibc
import TestSupport
import Testing

/// Tests with real photos and the real daemon. Most tests mainly wait for ticks and deadlines of the daemon; all at
/// once would need more processes than a small machine can run.
@Suite("End to end", .atMost(6))
struct EndToEnd {
    static let isRoot = geteuid() == 0
    /// Whether file systems can be mounted in a mount namespace of one daemon.
    static let canMount =
        isRoot && (try? runProgram(["/usr/bin/unshare", "-m", "--propagation", "private", "/bin/true"])) != nil
    static let withoutMounts: Comment = "skipped: needs root, to mount a file system of its own"
    /// Whether a file can be mounted as a disk, to be frozen.
    static let canFreeze =
        canMount && access("/dev/loop-control", W_OK) == 0 && access("/sbin/fsfreeze", X_OK) == 0
        && access("/sbin/mkfs.ext4", X_OK) == 0
    static let withoutDisks: Comment = "skipped: needs root, loop devices, mkfs.ext4 and fsfreeze"

    /// Runs the rest of a command line as the user `nobody`, for permissions that root always has.
    static let asNobody = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    /// Whether an ordinary user can run the daemon that was built here.
    static let canBeOrdinary =
        !isRoot || (try? runProgram(asNobody + ["/usr/bin/test", "-x", BuiltPrograms.path("photoinboxd")])) != nil
}
