import CommandSupport
import Glibc
import Reporting

/// One line of the screen: pieces of text with their paint.
struct TopLine: Hashable, Sendable {
    struct Piece: Hashable, Sendable {
        let text: String
        let paint: TextStyle.Paint?
    }

    private(set) var pieces: [Piece] = []
    private(set) var width = 0
    /// In reversed video: the selected row.
    var isReversed = false

    init(_ text: String = "", _ paint: TextStyle.Paint? = nil) { add(text, paint) }

    mutating func add(_ text: String, _ paint: TextStyle.Paint? = nil) {
        guard !text.isEmpty else { return }
        pieces.append(Piece(text: text, paint: paint))
        width += displayWidth(text)
    }

    var text: String { pieces.map(\.text).joined() }

    /// At most `columns` wide; exactly that if it is reversed, so that the bar spans the screen.
    func fitted(to columns: Int) -> TopLine {
        guard width > columns || isReversed else { return self }
        var line = TopLine()
        line.isReversed = isReversed
        for piece in pieces where line.width < columns {
            let room = columns - line.width
            line.add(
                displayWidth(piece.text) <= room ? piece.text : Reporting.fitted(piece.text, to: room), piece.paint)
        }
        if isReversed { line.add(String(repeating: " ", count: columns - line.width)) }
        return line
    }

    /// The text for a terminal. Its pieces are escaped already, so all escape sequences are those added here.
    func painted(_ style: TextStyle) -> String {
        // Reversed video is not a colour: NO_COLOR does not apply.
        if isReversed { return "\u{1B}[7m" + text + "\u{1B}[0m" }
        return pieces.map { piece in piece.paint.map { style.painted(piece.text, $0) } ?? piece.text }.joined()
    }
}

/// The content of a screen, and the bytes that update a terminal to it. A value without I/O.
struct TopFrame: Hashable, Sendable {
    let columns: Int
    /// As many as the screen has.
    let lines: [TopLine]

    init(columns: Int, rows: Int, _ lines: [TopLine]) {
        self.columns = columns
        self.lines = (0..<max(0, rows)).map { $0 < lines.count ? lines[$0].fitted(to: columns) : TopLine() }
    }

    /// The text that updates a screen that shows `shown`; the whole frame if that is nil or of another size.
    func update(from shown: TopFrame?, _ style: TextStyle) -> String {
        var text = ""
        let known = shown.flatMap { $0.columns == columns && $0.lines.count == lines.count ? $0 : nil }
        if known == nil { text += "\u{1B}[0m\u{1B}[2J" }
        for (row, line) in lines.enumerated() where known.map({ $0.lines[row] != line }) ?? !line.pieces.isEmpty {
            // Cleared first: after a full line the cursor is on its last column, which would be cleared, too.
            text += "\u{1B}[\(row + 1);1H\u{1B}[K" + line.painted(style)
        }
        return text
    }
}

/// A terminal that is used as a screen: its size and its modes, which are restored. Any thread.
struct TerminalScreen: Sendable {
    /// The modes to restore.
    private let found: termios

    /// Nil if standard input is no terminal.
    init?() {
        var modes = termios()
        guard tcgetattr(STDIN_FILENO, &modes) == 0 else { return nil }
        found = modes
    }

    /// Columns and rows; 80 by 24 if unknown.
    static var size: (columns: Int, rows: Int) {
        Terminal.size().flatMap { $0.rows > 0 ? $0 : nil } ?? (80, 24)
    }

    /// Whether this process may use the terminal; a shell's background job may not. A terminal that is not this
    /// session's has no such rule.
    static var isForeground: Bool {
        let group = tcgetpgrp(STDIN_FILENO)
        return group == -1 || group == getpgrp()
    }

    /// The alternate screen, without cursor and wrapping: a line that is wider than computed here moves no other one.
    static let entry = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l"
    static let exit = "\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    /// Delivers keys one by one, without echo. Ctrl-C and Ctrl-Z remain signals; Ctrl-S does not stop output.
    func enter() -> Bool {
        var modes = found
        modes.c_lflag &= ~tcflag_t(ICANON | ECHO | ECHONL | IEXTEN)
        modes.c_lflag |= tcflag_t(ISIG)
        modes.c_iflag &= ~tcflag_t(IXON | ICRNL | INLCR | IGNCR)
        // Reading returns at once.
        withUnsafeMutableBytes(of: &modes.c_cc) {
            $0[Int(VMIN)] = 0
            $0[Int(VTIME)] = 0
        }
        return tcsetattr(STDIN_FILENO, TCSANOW, &modes) == 0
    }

    /// Restores the modes without waiting for pending output.
    func leave() {
        var modes = found
        _ = tcsetattr(STDIN_FILENO, TCSANOW, &modes)
    }
}
