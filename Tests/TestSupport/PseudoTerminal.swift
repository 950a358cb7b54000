import Dispatch
public import Glibc
import LinuxKernel
import SystemPackage

/// A program with a pseudo-terminal as its controlling terminal, and its screen; see pty(7).
///
/// Waiting always has a deadline. The slave side stays open, so that its modes can be read after the program's end.
public final class PseudoTerminal: Sendable {
    /// The screen did not match in time.
    public struct TimedOut: Error, CustomStringConvertible {
        let wanted: String
        let screen: String
        /// The wanted content and the actual screen.
        public var description: String { "waited in vain for \(wanted); the screen:\n\(screen)" }
    }

    private struct State {
        var screen: ScreenReader
        /// The last changes of the process, as reported by waitpid(2).
        var changes: [Int32] = []
    }

    /// Its process.
    public let pid: pid_t
    private let controller: Int32
    private let terminal: Int32
    /// Its modes before the program began.
    public let firstModes: [UInt32]
    private let state: Locked<State>
    private let changed = DispatchSemaphore(value: 0)

    /// Starts `arguments[0]` with the terminal as its input, output and errors.
    public init(
        _ arguments: [String], environment: [String: String] = [:], columns: Int = 80, rows: Int = 24
    ) throws {
        controller = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        // TIOCSPTLCK and TIOCGPTPEER: as unlockpt(3), which Swift's Glibc module lacks, and the slave side
        // without its name, since /dev/pts may belong to another instance.
        var lock: Int32 = 0
        guard controller >= 0, ioctl(controller, 0x4004_5431, &lock) == 0 else { throw Errno(rawValue: errno) }
        terminal = ioctl(controller, 0x5441, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard terminal >= 0 else { throw Errno(rawValue: errno) }
        firstModes = Self.modes(of: terminal)
        state = Locked(State(screen: ScreenReader(columns: columns, rows: rows)))
        var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(controller, UInt(TIOCSWINSZ), &size)

        var variables = ["TERM": "xterm-256color", "TZ": "UTC", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"]
        if let options = getenv("TSAN_OPTIONS") { variables["TSAN_OPTIONS"] = String(cString: options) }
        let name = "/proc/self/fd/\(terminal)"
        let process = try spawn(arguments, environment: variables.merging(environment) { $1 }, inASession: true) {
            // The first terminal that a session's leader opens is its controlling one.
            posix_spawn_file_actions_addopen(&$0, STDIN_FILENO, name, O_RDWR, 0)
            posix_spawn_file_actions_adddup2(&$0, STDIN_FILENO, STDOUT_FILENO)
            posix_spawn_file_actions_adddup2(&$0, STDIN_FILENO, STDERR_FILENO)
        }
        pid = process
        // The threads do not retain the terminal: it ends with the test, and they with it. A copy of the descriptor,
        // since the number may be reused.
        let own = fcntl(controller, F_DUPFD_CLOEXEC, 3)
        Thread.start { [state, changed] in
            defer { close(own) }
            var bytes = [UInt8](repeating: 0, count: 65_536)
            while case let count = read(own, &bytes, bytes.count), count > 0 {
                state.withLock { $0.screen.add(bytes[..<count]) }
                changed.signal()
            }
        }
        Thread.start { [state, changed] in
            var status: Int32 = 0
            while waitpid(process, &status, WUNTRACED | WCONTINUED) == process || errno == EINTR {
                let now = status
                state.withLock { $0.changes.append(now) }
                changed.signal()
                if Self.isEnd(now) { return }
            }
        }
    }

    /// Whether it is neither a stop nor a continuation.
    private static func isEnd(_ status: Int32) -> Bool { status & 0xFF != 0x7F && status != 0xFFFF }

    deinit {
        // The number of an ended process may be reused.
        if state.withLock({ $0.changes.last.map { !Self.isEnd($0) } ?? true }) { kill(pid, SIGKILL) }
        close(controller)
        close(terminal)
    }

    /// The screen's lines, without trailing blanks.
    public var lines: [String] { state.withLock { $0.screen.lines } }
    /// The whole screen.
    public var text: String { lines.joined(separator: "\n") }
    /// Whether the alternate screen is shown.
    public var isAlternate: Bool { state.withLock { $0.screen.isAlternate } }
    /// Whether the cursor is hidden.
    public var isCursorHidden: Bool { state.withLock { $0.screen.isCursorHidden } }
    /// All colour sequences since the start, such as `31`.
    public var paints: Set<String> { state.withLock { $0.screen.paints } }
    /// Escape sequences that are not expected.
    public var strange: [String] { state.withLock { $0.screen.strange } }

    /// The terminal's modes, for comparison.
    public var modes: [UInt32] { Self.modes(of: terminal) }

    private static func modes(of terminal: Int32) -> [UInt32] {
        var modes = termios()
        guard tcgetattr(terminal, &modes) == 0 else { return [] }
        let characters = withUnsafeBytes(of: modes.c_cc) { $0.map { UInt32($0) } }
        return [modes.c_iflag, modes.c_oflag, modes.c_cflag, modes.c_lflag] + characters
    }

    /// Types `text`.
    public func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(controller, bytes, bytes.count)
    }

    /// Changes the terminal's size; its program gets SIGWINCH.
    public func resize(columns: Int, rows: Int) {
        state.withLock { $0.screen.resize(columns: columns, rows: rows) }
        var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(controller, UInt(TIOCSWINSZ), &size)
    }

    /// Waits until the screen matches.
    public func wait(
        for wanted: String, _ isSo: @escaping @Sendable ([String]) -> Bool
    ) async throws {
        try await until { [self] in
            isSo(lines)
        } orElse: { [self] in
            TimedOut(wanted: wanted, screen: text)
        }
    }

    /// Waits until `part` is on the screen.
    public func wait(for part: String) async throws {
        try await wait(for: part) { $0.contains { $0.contains(part) } }
    }

    /// Waits until the process has stopped.
    public func stopped() async throws {
        try await until { [self] in
            state.withLock { $0.changes.last.map { $0 & 0xFF == 0x7F } ?? false }
        } orElse: {
            [self] in
            TimedOut(wanted: "its stop", screen: text)
        }
    }

    /// Waits for the end of the process.
    public func ending() async throws -> RunningProgram.Ending {
        let last: @Sendable () -> RunningProgram.Ending? = { [self] in
            guard let status = state.withLock({ $0.changes.last }), Self.isEnd(status) else {
                return nil
            }
            return status & 0x7F == 0 ? .status((status >> 8) & 0xFF) : .signal(status & 0x7F)
        }
        try await until {
            last() != nil
        } orElse: { [self] in
            TimedOut(wanted: "its end", screen: text)
        }
        return last() ?? .status(-1)
    }

    private func until(
        _ isSo: @escaping @Sendable () -> Bool, orElse error: @escaping @Sendable () -> TimedOut
    ) async throws {
        try await aside { [changed] in
            let end = DispatchTime.now() + waitLimit
            while !isSo() {
                // A change may have been counted before: then one check is redundant.
                if changed.wait(timeout: end) == .timedOut { throw error() }
            }
        }
    }
}
