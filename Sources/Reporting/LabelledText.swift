/// Lines with right-aligned labels: the format of `status` and `explain`.
package struct LabelledText: Sendable {
    private enum Line: Sendable {
        case row(label: String, paint: TextStyle.Paint?, text: String, textPaint: TextStyle.Paint?)
        case blank
    }

    private var lines: [Line] = []
    /// The width of labels, in columns; longer ones are not cut.
    private static let widestLabel = 24

    package init() {}

    package var isEmpty: Bool { lines.isEmpty }

    package mutating func add(
        _ label: String, _ text: String, labelPaint: TextStyle.Paint? = nil, textPaint: TextStyle.Paint? = nil
    ) {
        lines.append(.row(label: label, paint: labelPaint, text: text, textPaint: textPaint))
    }

    package mutating func addBlank() { lines.append(.blank) }

    /// The text, with a newline at the end of each line; wrapped at words if the style has a width.
    package func rendered(_ style: TextStyle) -> String {
        let widths = lines.compactMap { line -> Int? in
            if case .row(let label, _, _, _) = line { displayWidth(label) } else { nil }
        }
        let column = min(widths.max() ?? 0, Self.widestLabel)
        var out = ""
        for line in lines {
            guard case .row(let label, let paint, let text, let textPaint) = line else {
                out += "\n"
                continue
            }
            let pad = String(repeating: " ", count: max(0, column - displayWidth(label)))
            let parts = wrappedAtBlanks(text, width: style.width.map { $0 - column - 2 })
            out += pad + (paint.map { style.painted(label, $0) } ?? label)
            for (number, part) in parts.enumerated() {
                out += number == 0 ? "  " : "\n" + String(repeating: " ", count: column + 2)
                out += textPaint.map { style.painted(part, $0) } ?? part
            }
            out += "\n"
        }
        return out
    }

}

/// Wraps at blanks; a word that is longer than the width stays whole, so that paths can be copied.
package func wrappedAtBlanks(_ text: String, width: Int?) -> [String] {
    guard let width, width >= 20, displayWidth(text) > width else { return [text] }
    var parts: [String] = []
    var part = ""
    for word in text.split(separator: " ", omittingEmptySubsequences: false) {
        if !part.isEmpty, displayWidth(part) + 1 + displayWidth(String(word)) > width {
            parts.append(part)
            part = String(word)
        } else {
            part += part.isEmpty ? String(word) : " " + word
        }
    }
    return parts + [part]
}
