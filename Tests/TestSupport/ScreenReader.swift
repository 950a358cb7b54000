/// A small terminal emulator: converts a program's output to a screen. A value without I/O.
///
/// It knows the sequences of the project's programs and records others, such as a file name that moves
/// the cursor.
struct ScreenReader: Sendable {
    private(set) var isAlternate = false
    private(set) var isCursorHidden = false
    private(set) var paints: Set<String> = []
    private(set) var strange: [String] = []
    private var columns: Int
    private var grid: [[Character]]
    private var row = 0
    private var column = 0
    private var pending: [UInt8] = []

    init(columns: Int, rows: Int) {
        self.columns = columns
        grid = Array(repeating: Array(repeating: " ", count: columns), count: rows)
    }

    var lines: [String] {
        grid.map { line in
            var text = String(line.filter { $0 != "\u{0}" })
            while text.last == " " { text.removeLast() }
            return text
        }
    }

    /// Clears the screen, as terminals without reflow do: the program must write all of it.
    mutating func resize(columns: Int, rows: Int) {
        self.columns = columns
        grid = Array(repeating: Array(repeating: " ", count: columns), count: rows)
        (row, column) = (0, 0)
    }

    mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            pending.append(byte)
            parse()
        }
    }

    private mutating func parse() {
        guard let first = pending.first else { return }
        if first == 0x1B {
            guard pending.count > 2 || pending.count == 2 && pending[1] != UInt8(ascii: "[") else { return }
            if pending[1] == UInt8(ascii: "[") {
                guard (0x40...0x7E).contains(pending[pending.count - 1]) else { return }
                apply(String(decoding: pending.dropFirst(2), as: UTF8.self))
            } else {
                strange.append(String(decoding: pending, as: UTF8.self))
            }
            pending = []
            return
        }
        let length = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
        guard pending.count >= length else { return }
        let text = String(decoding: pending, as: UTF8.self)
        pending = []
        switch first {
        case 0x0D: column = 0
        case 0x0A: row = min(row + 1, grid.count - 1)
        case 0..<0x20, 0x7F: strange.append("control \(first)")
        default: for character in text { put(character) }
        }
    }

    private mutating func put(_ character: Character) {
        // East Asian wide characters use two columns.
        let value = character.unicodeScalars.first?.value ?? 0
        let width = (0x1100...0x115F).contains(value) || (0x2E80...0xFFE6).contains(value) ? 2 : 1
        guard grid.indices.contains(row), column + width <= columns else {
            strange.append("beyond the edge: \(character)")
            return
        }
        grid[row][column] = character
        if width == 2 { grid[row][column + 1] = "\u{0}" }
        // Without wrapping the cursor stays in the last column, where the next character replaces this one.
        column += width
    }

    private mutating func apply(_ sequence: String) {
        let numbers = sequence.dropLast().split(separator: ";", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
        switch sequence.last {
        case "H": (row, column) = (max(1, numbers.first ?? 1) - 1, max(1, numbers.dropFirst().first ?? 1) - 1)
        case "K" where sequence == "K":
            guard grid.indices.contains(row) else { return }
            for place in min(column, columns)..<columns { grid[row][place] = " " }
        case "J" where sequence == "2J":
            for line in grid.indices { grid[line] = Array(repeating: " ", count: columns) }
        case "m": if sequence != "0m" { paints.insert(String(sequence.dropLast())) }
        case "h" where sequence == "?1049h": isAlternate = true
        case "l" where sequence == "?1049l": isAlternate = false
        case "l" where sequence == "?25l": isCursorHidden = true
        case "h" where sequence == "?25h": isCursorHidden = false
        case "h", "l": if !["?7h", "?7l"].contains(sequence) { strange.append(sequence) }
        default: strange.append(sequence)
        }
    }
}
