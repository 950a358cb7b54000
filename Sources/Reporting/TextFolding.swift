/// Text of a help page in no more than so many columns. Lines that fit stay as they are; of those that do not,
/// paragraphs are filled anew, a command goes on behind `|` or a backslash, and what stands in a second column comes below
/// the first.
package func folded(_ lines: [String], to columns: Int) -> [String] {
    var out: [String] = []
    var rest = lines[...]
    while let first = rest.first {
        let paragraph = rest.prefix { isProse($0) && indent($0) == indent(first) }
        if paragraph.count > 1 || isProse(first) {
            rest = rest.dropFirst(paragraph.count)
            out +=
                paragraph.contains { displayWidth($0) > columns }
                ? filled(paragraph.joined(separator: " "), indent(first), columns) : Array(paragraph)
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
    let isSetting = text.hasPrefix("[") || text.prefix { $0 != " " }.contains("=")
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
    // Single values with their meaning, as of exit statuses: as many to a line as fit.
    if parts.count > 2 || parts.allSatisfy({ $0.first?.isNumber == true }) {
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
    if parts.count == 2 {
        let command = String(repeating: " ", count: indent) + parts[0]
        return (displayWidth(command) > columns ? foldedLine(command, columns) : [command])
            + filled(parts[1], indent + 4, columns)
    }
    // What only goes on with the line before.
    if indent > 4 { return filled(line, 6, columns) }
    return continued(line, indent, columns)
}

/// What two or more blanks hold apart.
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

/// A command over several lines, so that it can be copied: behind a pipe where there is one.
private func continued(_ line: String, _ indent: Int, _ columns: Int) -> [String] {
    if let pipe = firstPipe(in: line), displayWidth(String(line[..<pipe.lowerBound])) + 2 <= columns {
        let next = String(repeating: " ", count: indent + 4) + line[pipe.upperBound...]
        return [line[..<pipe.lowerBound] + " |"] + (displayWidth(next) > columns ? foldedLine(next, columns) : [next])
    }
    let lines = filled(line, indent, columns - 2, hanging: 4)
    return lines.dropLast().map { $0 + " \\" } + lines.suffix(1)
}

/// Where ` | ` stands first; without Foundation.
private func firstPipe(in line: String) -> Range<String.Index>? {
    var start = line.startIndex
    while start < line.endIndex {
        if line[start...].hasPrefix(" | ") { return start..<line.index(start, offsetBy: 3) }
        start = line.index(after: start)
    }
    return nil
}
