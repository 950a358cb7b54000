/// Wraps the text of a help page. Lines that fit are unchanged; of those that do not,
/// paragraphs are refilled, a command is continued after `|` or a backslash, and entries with a second column stay
/// together: see `arranged`.
package func folded(_ lines: [String], to columns: Int) -> [String] {
    var out: [String] = []
    var rest = lines[...]
    while let first = rest.first {
        let paragraph = rest.prefix { isProse($0) && indent($0) == indent(first) }
        let entries = rest.prefix { isEntry($0, indent(first)) }
        if !paragraph.isEmpty {
            rest = rest.dropFirst(paragraph.count)
            out +=
                paragraph.contains { displayWidth($0) > columns }
                ? filled(paragraph.joined(separator: " "), indent(first), columns) : Array(paragraph)
        } else if !entries.isEmpty {
            rest = rest.dropFirst(entries.count)
            out += entries.contains { displayWidth($0) > columns } ? arranged(entries, columns) : Array(entries)
        } else {
            rest = rest.dropFirst()
            out += displayWidth(first) > columns ? foldedLine(first, columns) : [first]
        }
    }
    return out
}

private func indent(_ line: String) -> Int { line.prefix { $0 == " " }.count }

/// A line of running text: no second column, no command, no heading.
private func isProse(_ line: String) -> Bool {
    let text = line.dropFirst(indent(line))
    let isHeading = text.hasSuffix(":") && text == text.uppercased()
    // A unit file's section or setting, each of which needs a line of its own.
    let isSetting = (text.hasPrefix("[") && text.hasSuffix("]")) || text.prefix { $0 != " " }.contains("=")
    return !text.isEmpty && !text.contains("  ") && !isHeading && !isSetting && indent(line) <= 2
        && !["photoinbox", "sudo", "systemctl"].contains { text.hasPrefix($0 + " ") } && !text.contains(" | ")
}

private func filled(_ text: String, _ indent: Int, _ columns: Int, hanging: Int = 0) -> [String] {
    let words = text.split(separator: " ")
    let margin = { (isFirst: Bool) in String(repeating: " ", count: indent + (isFirst ? 0 : hanging)) }
    var (lines, line) = ([String](), "")
    for word in words {
        if line.isEmpty {
            line = margin(lines.isEmpty) + word
        } else if displayWidth(line) + 1 + displayWidth(String(word)) <= columns {
            line += " " + word
        } else {
            lines.append(line)
            line = margin(false) + word
        }
    }
    return line.isEmpty ? lines : lines + [line]
}

private func foldedLine(_ line: String, _ columns: Int) -> [String] {
    let indent = indent(line)
    let parts = columnsOf(line)
    guard parts.count > 1 else { return continued(line, indent, columns) }
    // Single words side by side: as many to a line as fit.
    var (lines, text) = ([String](), "")
    for part in parts.flatMap({ filled($0, 0, columns - indent, hanging: 2) }) {
        if text.isEmpty {
            text = part
        } else if indent + displayWidth(text) + 3 + displayWidth(part) <= columns {
            text += "   " + part
        } else {
            lines.append(text)
            text = part
        }
    }
    return (lines + [text]).map { String(repeating: " ", count: indent) + $0 }
}

/// Whether `line` is an entry at this margin: a command or a value, optionally with its meaning in a second column, or
/// a line that continues the previous meaning.
private func isEntry(_ line: String, _ margin: Int) -> Bool {
    let text = line.dropFirst(indent(line))
    let isHeading = text.hasSuffix(":") && text == text.uppercased()
    return !text.isEmpty && !isHeading && !isProse(line) && columnsOf(line).count <= 2
        && (indent(line) == margin || indent(line) > margin + 2)
}

/// Entries that do not all fit: the meanings in one column if that has space for them, or is far enough to the left; else
/// all of them below, so that they are in one place.
private func arranged(_ lines: ArraySlice<String>, _ columns: Int) -> [String] {
    let margin = lines.first.map(indent) ?? 0
    var entries: [(term: String, meaning: String, isBeside: Bool)] = []
    for line in lines {
        let parts = columnsOf(line)
        if indent(line) > margin, !entries.isEmpty {
            let last = entries.count - 1
            entries[last].meaning += (entries[last].meaning.isEmpty ? "" : " ") + parts.joined(separator: "  ")
        } else {
            entries.append((parts.first ?? "", parts.dropFirst().first ?? "", parts.count > 1))
        }
    }
    let widest = entries.filter(\.isBeside).map { displayWidth($0.term) }.max() ?? 0
    let column = margin + widest + 2
    let isBeside =
        widest > 0
        && (widest <= columns / 8 || entries.allSatisfy { column + displayWidth($0.meaning) <= columns })
    return entries.flatMap { term, meaning, _ -> [String] in
        let blanks = String(repeating: " ", count: margin)
        let isNarrow = displayWidth(term) <= widest
        let room = isBeside ? column : margin + 4
        let below = meaning.isEmpty ? [] : filled(meaning, room, columns)
        guard isBeside, isNarrow, let first = below.first else {
            return continued(blanks + term, margin, columns) + below
        }
        return [blanks + fitted(term, to: widest + 2) + first.dropFirst(column)] + below.dropFirst()
    }
}

/// The parts between two or more blanks.
private func columnsOf(_ line: String) -> [String] {
    var (parts, blanks) = ([String](), 0)
    for character in line.drop(while: { $0 == " " }) {
        if character == " " {
            blanks += 1
            continue
        }
        if parts.isEmpty || blanks > 1 {
            parts.append("")
        } else if blanks == 1 {
            parts[parts.count - 1] += " "
        }
        parts[parts.count - 1].append(character)
        blanks = 0
    }
    return parts
}

/// A command on several lines that can be copied, continued after a pipe if there is one.
private func continued(_ line: String, _ indent: Int, _ columns: Int) -> [String] {
    guard displayWidth(line) > columns else { return [line] }
    if let pipe = firstPipe(in: line), displayWidth(String(line[..<pipe.lowerBound])) + 2 <= columns {
        let next = String(repeating: " ", count: indent + 4) + line[pipe.upperBound...]
        return [line[..<pipe.lowerBound] + " |"] + continued(next, indent + 4, columns)
    }
    let lines = filled(line, indent, columns - 2, hanging: 4)
    return lines.dropLast().map { $0 + " \\" } + lines.suffix(1)
}

/// The first ` | `; without Foundation.
private func firstPipe(in line: String) -> Range<String.Index>? {
    var start = line.startIndex
    while start < line.endIndex {
        if line[start...].hasPrefix(" | ") { return start..<line.index(start, offsetBy: 3) }
        start = line.index(after: start)
    }
    return nil
}
