import Glibc
import TestSupport
import Testing

/// Real photos, the real daemon: what arrives is filed. One test of a group at a time, since each starts processes.
@Suite("End to end", .serialized)
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

/// What people ask of the daemon, and of the command line without one.
@Suite("End to end, commands", .serialized)
struct CommandsEndToEnd: EndToEndGroup {}

/// What goes wrong around the daemon, and how it ends.
@Suite("End to end, trouble", .serialized)
struct TroubleEndToEnd: EndToEndGroup {}

/// A group that runs beside the others, since most tests wait for most of their time.
protocol EndToEndGroup {}

extension EndToEndGroup {
    static var isRoot: Bool { EndToEnd.isRoot }
    static var canMount: Bool { EndToEnd.canMount }
    static var withoutMounts: Comment { EndToEnd.withoutMounts }
    static var canFreeze: Bool { EndToEnd.canFreeze }
    static var withoutDisks: Comment { EndToEnd.withoutDisks }
    static var asNobody: [String] { EndToEnd.asNobody }
    static var canBeOrdinary: Bool { EndToEnd.canBeOrdinary }
}
