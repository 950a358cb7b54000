import Glibc

/// A signal's number; see signal(7).
public struct Signal: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number.
    public let rawValue: Int32

    /// A signal by its number.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// SIGHUP.
    public static let hup = Signal(rawValue: SIGHUP)
    /// SIGINT.
    public static let int = Signal(rawValue: SIGINT)
    /// SIGQUIT.
    public static let quit = Signal(rawValue: SIGQUIT)
    /// SIGUSR1.
    public static let usr1 = Signal(rawValue: SIGUSR1)
    /// SIGUSR2.
    public static let usr2 = Signal(rawValue: SIGUSR2)
    /// SIGPIPE.
    public static let pipe = Signal(rawValue: SIGPIPE)
    /// SIGALRM.
    public static let alrm = Signal(rawValue: SIGALRM)
    /// SIGTERM.
    public static let term = Signal(rawValue: SIGTERM)
    /// SIGCHLD.
    public static let chld = Signal(rawValue: SIGCHLD)
    /// SIGCONT.
    public static let cont = Signal(rawValue: SIGCONT)
    /// SIGWINCH.
    public static let winch = Signal(rawValue: SIGWINCH)
    /// SIGIO, which reports a broken lease.
    public static let io = Signal(rawValue: SIGIO)

    /// The real-time signal SIGRTMIN + `offset`; these are queued and have values.
    public static func realTime(_ offset: Int32) -> Signal { Signal(rawValue: __libc_current_sigrtmin() + offset) }

    private static let names: [Int32: String] = [
        SIGHUP: "SIGHUP", SIGINT: "SIGINT", SIGQUIT: "SIGQUIT", SIGUSR1: "SIGUSR1", SIGUSR2: "SIGUSR2",
        SIGPIPE: "SIGPIPE", SIGALRM: "SIGALRM", SIGTERM: "SIGTERM", SIGCHLD: "SIGCHLD", SIGCONT: "SIGCONT",
        SIGWINCH: "SIGWINCH", SIGIO: "SIGIO", SIGKILL: "SIGKILL", SIGSTOP: "SIGSTOP",
    ]

    /// `SIGTERM`, `SIGRTMIN+3`, or `signal 27`.
    public var description: String {
        if let name = Self.names[rawValue] { return name }
        if (__libc_current_sigrtmin()...__libc_current_sigrtmax()).contains(rawValue) {
            return "SIGRTMIN+\(rawValue - __libc_current_sigrtmin())"
        }
        return "signal \(rawValue)"
    }

    /// Whether a signalfd can receive it.
    var isCatchable: Bool {
        (1...__libc_current_sigrtmax()).contains(rawValue) && rawValue != SIGKILL && rawValue != SIGSTOP
    }
}
