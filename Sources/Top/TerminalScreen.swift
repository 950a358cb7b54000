import CommandSupport
import Glibc

/// A terminal that is used as a screen: its size, its modes, and how both are given back. Any thread.
struct TerminalScreen: Sendable {
    /// As the terminal was found.
    private let found: termios

    /// Nil where standard input is no terminal.
    init?() {
        var modes = termios()
        guard tcgetattr(STDIN_FILENO, &modes) == 0 else { return nil }
        found = modes
    }

    /// Columns and rows; 80 by 24 where the terminal does not say.
    static var size: (columns: Int, rows: Int) {
        Terminal.size().flatMap { $0.rows > 0 ? $0 : nil } ?? (80, 24)
    }

    /// Whether this process may use the terminal; a shell's background job may not. A terminal that is not this
    /// session's has no such rule.
    static var isForeground: Bool {
        let group = tcgetpgrp(STDIN_FILENO)
        return group == -1 || group == getpgrp()
    }

    /// The alternate screen, no cursor, no wrapping: a line that a terminal takes for wider than we do moves no other one.
    static let entry = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l"
    /// What puts all of that back.
    static let exit = "\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    /// Keys come one by one, unseen. Ctrl-C and Ctrl-Z stay signals; Ctrl-S holds nothing up.
    func enter() -> Bool {
        var modes = found
        modes.c_lflag &= ~tcflag_t(ICANON | ECHO | ECHONL | IEXTEN)
        modes.c_lflag |= tcflag_t(ISIG)
        modes.c_iflag &= ~tcflag_t(IXON | ICRNL | INLCR | IGNCR)
        // Reading gives what is there, and waits for nothing.
        withUnsafeMutableBytes(of: &modes.c_cc) {
            $0[Int(VMIN)] = 0
            $0[Int(VTIME)] = 0
        }
        return tcsetattr(STDIN_FILENO, TCSANOW, &modes) == 0
    }

    /// Gives the modes back, without waiting for what has still to be shown.
    func leave() {
        var modes = found
        _ = tcsetattr(STDIN_FILENO, TCSANOW, &modes)
    }
}
