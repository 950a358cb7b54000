import CLinux
public import FileValues
import Glibc
import SystemPackage

/// Irrevocably removes a process's access to files, network, other processes and new programs before it handles
/// untrusted data. Open descriptors stay usable.
///
/// To be called once, early, while the process has one thread: Landlock restricts only the calling thread.
public enum Confinement {
    /// Resource limits of a confined process.
    public struct Limits: Hashable, Sendable {
        /// Bytes of address space.
        public var addressSpace: UInt64
        /// The largest file that it may write, in bytes; exceeding it raises SIGXFSZ.
        public var fileSize: UInt64
        /// The highest descriptor number plus one.
        public var descriptors: UInt64

        /// Limits from their values.
        public init(addressSpace: UInt64, fileSize: UInt64, descriptors: UInt64 = 16) {
            self.addressSpace = addressSpace
            self.fileSize = fileSize
            self.descriptors = descriptors
        }
    }

    /// A restriction that failed.
    public struct Gap: Error, Hashable, Sendable, CustomStringConvertible {
        /// Its name: `landlock`.
        public let part: String
        /// Why.
        public let cause: String

        /// One line: `landlock: landlock_create_ruleset: Function not implemented`.
        public var description: String { "\(part): \(cause)" }
    }

    /// Applies all restrictions; continues if one fails.
    ///
    /// - Returns: The restrictions that failed; empty if the process is fully confined. The order is fixed: no new
    ///   privileges and no core (prctl(2)), limits (setrlimit(2)), landlock(7) without any rule, and last a seccomp(2)
    ///   filter, which forbids the calls for all others.
    public static func begin(_ limits: Limits) -> [Gap] {
        var gaps: [Gap] = []
        attempt("no_new_privs", &gaps) { () throws(SystemCallError) in
            try systemCall("prctl") { clinux_no_new_privileges() }
        }
        attempt("dumpable", &gaps) { () throws(SystemCallError) in try systemCall("prctl") { clinux_not_dumpable() } }
        attempt("rlimits", &gaps) { () throws(SystemCallError) in
            try systemCall("setrlimit") { clinux_limit(CLINUX_LIMIT_AS, limits.addressSpace) }
            try systemCall("setrlimit") { clinux_limit(CLINUX_LIMIT_FSIZE, limits.fileSize) }
            try systemCall("setrlimit") { clinux_limit(CLINUX_LIMIT_NOFILE, limits.descriptors) }
            try systemCall("setrlimit") { clinux_limit(CLINUX_LIMIT_CORE, 0) }
        }
        if let count = threadCount, count > 1 {
            gaps.append(Gap(part: "landlock", cause: "\(count) threads run already, and it reaches one"))
        }
        attempt("landlock", &gaps) { () throws(SystemCallError) in
            let version = try systemCall("landlock_create_ruleset") { clinux_landlock_version() }
            try systemCall("landlock_restrict_self") { clinux_landlock_nothing(version) }
        }
        attempt("seccomp", &gaps) { () throws(SystemCallError) in
            try systemCall("seccomp") { clinux_seccomp_compute_only() }
        }
        return gaps
    }

    /// Restricts the process to reading files beneath `reading`, reading and changing files beneath `writing`, and moving
    /// files to free names beneath `adding`, where it may read and change none; the network is not restricted. Missing
    /// directories are skipped. See landlock(7).
    ///
    /// Throws if the kernel has no Landlock, or a version that forbids moves between directories.
    public static func keep(
        reading: [BytePath], writing: [BytePath], adding: [BytePath] = []
    ) throws(SystemCallError) {
        let version = try systemCall("landlock_create_ruleset") { clinux_landlock_version() }
        guard version >= 2 else { throw SystemCallError("landlock_create_ruleset", .notSupported) }
        if let count = threadCount, count > 1 { throw SystemCallError("landlock_restrict_self", .resourceBusy) }
        let rules = try descriptorCall("landlock_create_ruleset") { clinux_landlock_set(version) }
        let set = rules.raw
        for (paths, what) in [
            (reading, CLINUX_LANDLOCK_READ), (writing, CLINUX_LANDLOCK_WRITE), (adding, CLINUX_LANDLOCK_ADD),
        ] {
            for path in paths {
                guard let place = try? openDirectory(path, OpenOptions(rawValue: clinux_o_path())) else { continue }
                let raw = place.raw
                try systemCall("landlock_add_rule", path: path) { clinux_landlock_allow(set, version, raw, what) }
            }
        }
        try systemCall("prctl") { clinux_no_new_privileges() }
        try systemCall("landlock_restrict_self") { clinux_landlock_enforce(set) }
        withExtendedLifetime(rules) {}
    }

    private static func attempt(_ part: String, _ gaps: inout [Gap], _ body: () throws(SystemCallError) -> Void) {
        do throws(SystemCallError) { try body() } catch { gaps.append(Gap(part: part, cause: error.description)) }
    }

    /// The number of threads of this process; nil without /proc.
    private static var threadCount: Int? {
        guard let directory = opendir("/proc/self/task") else { return nil }
        defer { closedir(directory) }
        var count = 0
        while let entry = readdir(directory) {
            if entry.pointee.d_name.0 != CChar(bitPattern: UInt8(ascii: ".")) { count += 1 }
        }
        return count
    }

    /// Ends the process with SIGPROF after `seconds` more of processor time, all threads together; 0 cancels that. See
    /// setitimer(2).
    public static func limitProcessorTime(seconds: UInt32) throws(SystemCallError) {
        try systemCall("setitimer") { clinux_processor_time_alarm(seconds) }
    }
}
