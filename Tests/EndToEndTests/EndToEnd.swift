import Glibc
import TestSupport
import Testing

/// Real photos, the real daemon. Most tests wait for most of their time, for ticks and deadlines of the daemon; all at once
/// would be more processes than a small machine has room for.
@Suite("End to end", .atMost(4))
struct EndToEnd {
    static let isRoot = geteuid() == 0
    /// Whether file systems can be mounted where only one daemon sees them.
    static let canMount =
        isRoot && (try? runProgram(["/usr/bin/unshare", "-m", "--propagation", "private", "/bin/true"])) != nil
    static let withoutMounts: Comment = "skipped: needs root, to mount a file system of its own"
    /// Whether a file can be mounted as a disk of its own, to be frozen.
    static let canFreeze =
        canMount && access("/dev/loop-control", W_OK) == 0 && access("/sbin/fsfreeze", X_OK) == 0
        && access("/sbin/mkfs.ext4", X_OK) == 0
    static let withoutDisks: Comment = "skipped: needs root, loop devices, mkfs.ext4 and fsfreeze"

    /// Runs the rest of a command line as the user `nobody`: for what root is never refused.
    static let asNobody = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    /// Whether somebody who is not root can run the daemon that was built here.
    static let canBeOrdinary =
        !isRoot || (try? runProgram(asNobody + ["/usr/bin/test", "-x", BuiltPrograms.path("photoinboxd")])) != nil
}
