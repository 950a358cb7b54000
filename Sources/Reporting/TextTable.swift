/// Rows of cells in aligned columns, with two blanks between them: the format of `list` and `top`.
package struct TextTable: Sendable {
    package enum Alignment: Sendable {
        case left, right
    }

    private let header: [String]
    private let alignments: [Alignment]
    private var rows: [[String]] = []

    /// A table with a heading for each column; a heading is printed in capitals as it is given.
    package init(_ columns: [(heading: String, alignment: Alignment)]) {
        header = columns.map(\.heading)
        alignments = columns.map(\.alignment)
    }

    /// Adds a row; missing cells are empty, cells beyond the last column are ignored.
    package mutating func add(_ cells: [String]) {
        rows.append((0..<header.count).map { $0 < cells.count ? cells[$0] : "" })
    }

    /// Heading and rows, without trailing blanks; empty without rows. If the style has a width, a last
    /// cell that is too long is continued below, in its column or, if that is too narrow, below the row.
    package func rendered(_ style: TextStyle) -> String {
        guard !rows.isEmpty else { return "" }
        let widths = header.indices.map { column in
            ([header] + rows).map { displayWidth($0[column]) }.max() ?? 0
        }
        let lines = ([header] + rows).map { cells in
            var line = ""
            for (column, cell) in cells.enumerated() {
                if column > 0 { line += "  " }
                if column == cells.count - 1, alignments[column] == .left {
                    Self.add(last: cell, to: &line, style.width)
                    continue
                }
                let pad = String(repeating: " ", count: widths[column] - displayWidth(cell))
                line += alignments[column] == .left ? cell + pad : pad + cell
            }
            while line.last == " " { line.removeLast() }
            return line
        }
        return ([style.painted(lines[0], .faint)] + lines.dropFirst()).map { $0 + "\n" }.joined()
    }

    /// The least columns for wrapping a text.
    private static let least = 24

    private static func add(last cell: String, to line: inout String, _ width: Int?) {
        let start = displayWidth(line)
        guard let width, start > 0, start + displayWidth(cell) > width else { return line += cell }
        let isBelow = width - start < least
        let margin = isBelow ? 4 : start
        if isBelow {
            while line.last == " " { line.removeLast() }
            line += "\n" + String(repeating: " ", count: margin)
        }
        line += wrappedAtBlanks(cell, width: width - margin)
            .joined(separator: "\n" + String(repeating: " ", count: margin))
    }
}
