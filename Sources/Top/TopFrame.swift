import CommandContact
import Reporting

/// One line of the screen: pieces of text with how each is painted, no wider than the screen.
struct TopLine: Hashable, Sendable {
    /// A piece that is painted in one way.
    struct Piece: Hashable, Sendable {
        let text: String
        let paint: TextStyle.Paint?
    }

    private(set) var pieces: [Piece] = []
    private(set) var width = 0
    /// Shown the other way round: the row that is selected.
    var isReversed = false

    init(_ text: String = "", _ paint: TextStyle.Paint? = nil) { add(text, paint) }

    mutating func add(_ text: String, _ paint: TextStyle.Paint? = nil) {
        guard !text.isEmpty else { return }
        pieces.append(Piece(text: text, paint: paint))
        width += displayWidth(text)
    }

    /// Its text alone.
    var text: String { pieces.map(\.text).joined() }

    /// The same in no more than so many columns; in exactly so many where it is reversed, so that the bar is whole.
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

    /// Its bytes for a terminal; no escape sequence but ours, since every text was escaped before.
    func painted(_ style: TextStyle) -> String {
        // The bar is no colour, so NO_COLOR lets it be.
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

    /// What is to be written where `shown` stands on the screen; everything where nothing does, or another size.
    func update(from shown: TopFrame?, _ style: TextStyle) -> String {
        var text = ""
        let known = shown.flatMap { $0.columns == columns && $0.lines.count == lines.count ? $0 : nil }
        if known == nil { text += "\u{1B}[0m\u{1B}[2J" }
        for (row, line) in lines.enumerated() where known.map({ $0.lines[row] != line }) ?? !line.pieces.isEmpty {
            // Cleared first: behind a full line the cursor stands on its last column, which would go with the rest.
            text += "\u{1B}[\(row + 1);1H\u{1B}[K" + line.painted(style)
        }
        return text
    }
}
