import CLinux

/// How a process ended; see waitid(2).
public enum ProcessExit: Hashable, Sendable, CustomStringConvertible {
    /// It returned from `main` or called exit(3) with this status, 0 to 255.
    case exited(status: Int32)
    /// Ended by this signal; see signal(7).
    case killed(signal: Int32, dumpedCore: Bool)

    /// Whether it ended with status 0.
    public var isSuccess: Bool { self == .exited(status: 0) }

    /// `exited with status 1`, `killed by signal 9`.
    public var description: String {
        switch self {
        case .exited(let status): "exited with status \(status)"
        case .killed(let signal, let dumpedCore): "killed by signal \(signal)" + (dumpedCore ? ", core dumped" : "")
        }
    }

    /// How the child of a pidfd ended; nil while it runs. Reaps the child unless `peeking`.
    ///
    /// Never blocks. Throws ECHILD if the process is not a child of this one, or is already reaped.
    public static func ofChild(_ descriptor: Int32, peeking: Bool = false) throws(SystemCallError) -> ProcessExit? {
        var code: Int32 = 0
        var status: Int32 = 0
        let found = try systemCall("waitid") { clinux_wait_pidfd(descriptor, peeking ? 1 : 0, &code, &status) }
        guard found == 1 else { return nil }
        return code == CLINUX_CLD_EXITED
            ? .exited(status: status) : .killed(signal: status, dumpedCore: code == CLINUX_CLD_DUMPED)
    }
}
