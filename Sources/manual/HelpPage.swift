import Reporting

/// A page from what a program prints for `--help`. `help` is that of the program; those of its commands follow, each
/// after a form feed and the command's name on a line.
/// `more` adds what stands between that and the references.
func helpPage(
    _ name: String, section: Int, seeAlso: String, help: String, more: (inout Roff) -> Void = { _ in }
) -> String {
    let parts = help.split(separator: "\u{C}").map { $0.split(separator: "\n", omittingEmptySubsequences: false) }
    let blocks = helpBlocks(parts.first?.map(String.init) ?? [])
    let purpose = blocks.first { $0.title == "OVERVIEW" }?.remark ?? ""
    var page = Roff(name, section: section, purpose: purpose.hasSuffix(".") ? String(purpose.dropLast()) : purpose)
    let usage = blocks.first { $0.title == "USAGE" }
    page.heading("SYNOPSIS")
    page.paragraph(words([usage?.remark ?? name] + (usage?.lines ?? [])))
    for block in blocks where !["OVERVIEW", "USAGE", "SEE ALSO"].contains(block.title) {
        page.heading(block.title)
        page.append(block)
    }
    for part in parts.dropFirst() {
        page.heading("\(name) \(part.first ?? "")")
        for block in helpBlocks(part.dropFirst().map(String.init)) {
            if block.title != "OVERVIEW" { page.subheading(block.title) }
            page.append(block)
        }
    }
    more(&page)
    page.heading("SEE ALSO")
    page.paragraph(seeAlso)
    return page.text
}

/// What stands below one heading of a help text.
struct HelpBlock: Equatable {
    var title: String
    /// What follows the title on its line.
    var remark: String
    var lines: [String] = []
}

/// A help text by its headings: words in capitals at the margin, then a colon, a remark in parentheses, or nothing.
func helpBlocks(_ lines: [String]) -> [HelpBlock] {
    var blocks: [HelpBlock] = []
    for line in lines {
        let title = line.prefix { $0 == " " || ("A"..."Z").contains($0) }
        let name = title.hasSuffix(" ") ? title.dropLast() : title
        let rest = line[title.endIndex...]
        let isHeading = name.count > 3 && name.first != " " && (rest.isEmpty || rest.first == ":" || rest.first == "(")
        guard isHeading else {
            if blocks.isEmpty { blocks.append(HelpBlock(title: "OVERVIEW", remark: "")) }
            blocks[blocks.count - 1].lines.append(line)
            continue
        }
        let remark = rest.first == ":" ? rest.dropFirst() : rest.hasSuffix(":") ? rest.dropLast() : rest
        blocks.append(HelpBlock(title: String(name), remark: words([String(remark)])))
    }
    return blocks
}

/// All words of `lines`, with one space between.
private func words(_ lines: [String]) -> String {
    lines.joined(separator: " ").split(separator: " ").joined(separator: " ")
}

/// What a terminal of 80 columns has for text that is not filled, behind the page's margin.
private let verbatimColumns = 73

private func indent(_ line: String) -> Int { line.prefix { $0 == " " }.count }

extension Roff {
    mutating func append(_ block: HelpBlock) {
        if block.title == "USAGE" {
            paragraph(words([block.remark] + block.lines))
            return
        }
        if !block.remark.isEmpty { paragraph(block.remark) }
        let isList = ["OPTIONS", "ARGUMENTS", "SIGNALS"].contains(block.title) || block.title.hasSuffix("SUBCOMMANDS")
        for run in block.lines.split(separator: "") {
            var rest = run[...]
            while let first = rest.first {
                let isIndented = indent(first) > 0
                let lines = Array(rest.prefix { (indent($0) > 0) == isIndented })
                rest = rest.dropFirst(lines.count)
                let isProse = lines.allSatisfy { indent($0) == 2 && !$0.dropFirst(2).contains("  ") }
                if !isIndented || (isProse && !isList && block.title != "EXAMPLES") {
                    paragraph(words(lines))
                } else if isList {
                    items(lines)
                } else {
                    verbatim(folded(lines.map { String($0.dropFirst(min(2, indent($0)))) }, to: verbatimColumns))
                }
            }
        }
    }

    /// Terms at two columns, each with its meaning two or more spaces later, or on the lines after it.
    private mutating func items(_ lines: [String]) {
        var items: [(term: String, meaning: [String])] = []
        for line in lines {
            if indent(line) > 2, !items.isEmpty {
                items[items.count - 1].meaning.append(line)
                continue
            }
            let text = Array(line.dropFirst(2))
            let gap = text.indices.dropLast().first { text[$0] == " " && text[$0 + 1] == " " } ?? text.count
            items.append((String(text[..<gap]), [String(text[gap...])]))
        }
        for (term, meaning) in items { item(term, [words(meaning)]) }
    }
}
