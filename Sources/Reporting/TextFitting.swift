/// Which end of a long text is cut.
package enum TextCut: Sendable {
    /// Its end, as of a sentence.
    case end
    /// Its beginning, as of a path, whose name says most.
    case start
}

/// `text` in exactly this many columns: cut with an ellipsis, or padded with blanks. A wide
/// character that does not fit leaves a blank. `text` contains no control characters.
package func fitted(
    _ text: String, to columns: Int, _ alignment: TextTable.Alignment = .left, cutting cut: TextCut = .end
) -> String {
    guard columns > 0 else { return "" }
    let width = displayWidth(text)
    if width <= columns {
        let pad = String(repeating: " ", count: columns - width)
        return alignment == .left ? text + pad : pad + text
    }
    let kept: String
    switch cut {
    case .end: kept = prefix(of: text, columns: columns - 1) + "…"
    case .start: kept = "…" + suffix(of: text, columns: columns - 1)
    }
    return kept + String(repeating: " ", count: columns - displayWidth(kept))
}

private func prefix(of text: String, columns: Int) -> String {
    var (kept, width) = ("", 0)
    for character in text {
        width += displayWidth(String(character))
        if width > columns { break }
        kept.append(character)
    }
    return kept
}

private func suffix(of text: String, columns: Int) -> String {
    var (kept, width) = ([Character](), 0)
    for character in text.reversed() {
        width += displayWidth(String(character))
        if width > columns { break }
        kept.append(character)
    }
    return String(kept.reversed())
}
