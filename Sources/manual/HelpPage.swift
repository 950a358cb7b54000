import Reporting

/// A page made from the help of a program, in `blocks`.
/// `more` adds sections before the references.
func helpPage(
    _ name: String, section: Int, seeAlso: [String], _ blocks: [HelpBlock], more: (inout Roff) -> Void = { _ in }
) -> String {
    let purpose = blocks.first { $0.title == "OVERVIEW" }?.remark ?? ""
    let clause = purpose.hasSuffix(".") ? purpose.dropLast() : purpose[...]
    var page = Roff(name, section: section, purpose: clause.prefix(1).lowercased() + clause.dropFirst())
    let usage = blocks.first { $0.title == "USAGE" }
    page.heading("SYNOPSIS")
    page.paragraph(joined([usage?.remark ?? name] + (usage?.lines ?? [])))
    let body = blocks.filter { !["OVERVIEW", "USAGE", "SEE ALSO"].contains($0.title) }
    // Pages of the manual end with these; a terminal shows them before the options.
    let last = ["COMMANDS", "ARGUMENTS", "OPTIONS", "COMMON OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES"]
    let ordered = body.filter { !last.contains($0.title) } + last.flatMap { title in body.filter { $0.title == title } }
    for block in ordered {
        page.heading(block.title)
        page.append(block)
    }
    more(&page)
    page.heading("SEE ALSO")
    page.paragraph(seeAlso.joined(separator: ", "))
    return page.text
}

/// photoinboxd(8).
func daemonPage(help: String) -> String {
    helpPage(
        "photoinboxd", section: 8,
        seeAlso: ["photoinbox(1)", "photoinbox.toml(5)", "photoinbox-problems(7)", "photoinbox-json(7)"],
        helpBlocks(help))
}

/// photoinbox(1). `help` is that of the program; that of one command follows after a form feed, for the common options.
func programPage(help: String) -> String {
    let parts = help.split(separator: "\u{C}").map { helpBlocks(String($0)) }
    var blocks = withDescription(parts.first ?? []).filter { $0.title != "OPTIONS" }
    let groups = blocks.filter { $0.title.hasSuffix(" SUBCOMMANDS") }
    blocks.removeAll { $0.title.hasSuffix(" SUBCOMMANDS") }
    let options = parts.last?.first { $0.title == "OPTIONS" }.map { block in
        block.filtered { $0.isCommon || $0.isBuiltIn }
    }
    blocks += [HelpBlock(title: "COMMANDS", remark: "", groups: groups)]
    if var options {
        options.title = "COMMON OPTIONS"
        blocks.append(options)
    }
    return helpPage(
        "photoinbox", section: 1,
        seeAlso: [
            "photoinbox-tutorial(7)", "photoinbox.toml(5)", "photoinbox-problems(7)", "photoinbox-json(7)",
            "photoinboxd(8)",
        ], blocks,
        more: addFormats)
}

/// photoinbox-COMMAND(1), without the options that photoinbox(1) describes.
func commandPage(_ command: String, help: String) -> String {
    let name = "photoinbox-\(command)"
    let blocks = withDescription(helpBlocks(help)).map { block in
        guard block.title == "OPTIONS" else { return block }
        // One that asks no daemon has options of its own by these names.
        let asksDaemon = block.items.contains { $0.name == "--config" }
        let common = asksDaemon ? block.items.filter(\.isCommon).map(\.name) : []
        var own = block.filtered { !common.contains($0.name) && !$0.isBuiltIn }
        if !common.isEmpty {
            own.lines += ["", "Common options, see photoinbox(1): \(common.joined(separator: ", "))."]
        }
        return own
    }
    let named = help.matches(of: /photoinbox[a-z.-]*\([1-8]\)/).map { String($0.0) }
    var others = Set(named + ["photoinbox(1)", "photoinboxd(8)"]).subtracting(["\(name)(1)"]).sorted()
    if command == "watch" { others += ["inotifywait(1)", "inotify(7)"] }
    return helpPage(name, section: 1, seeAlso: others, blocks) { page in
        if command == "watch" { page.appendDifferences() }
    }
}

func commandNames(help: String) -> [String] {
    helpBlocks(help).filter { $0.title.hasSuffix(" SUBCOMMANDS") }.flatMap { $0.items.map(\.name) }
}

/// Text at the margin after the examples is the description.
private func withDescription(_ blocks: [HelpBlock]) -> [HelpBlock] {
    blocks.flatMap { block -> [HelpBlock] in
        guard block.title == "EXAMPLES" else { return [block] }
        let end = block.lines.firstIndex { !$0.isEmpty && indent($0) == 0 } ?? block.lines.endIndex
        let (examples, description) = (Array(block.lines[..<end]), Array(block.lines[end...]))
        return [HelpBlock(title: block.title, remark: block.remark, lines: examples)]
            + (description.isEmpty ? [] : [HelpBlock(title: "DESCRIPTION", remark: "", lines: description)])
    }
}

/// The text below one heading of a help text.
struct HelpBlock: Equatable {
    var title: String
    /// The text after the title on its line.
    var remark: String
    var lines: [String] = []
    /// Blocks below it, each with a heading of its own.
    var groups: [HelpBlock] = []

    /// A term and its meaning.
    struct Item: Equatable {
        var term: String
        var lines: [String]

        /// `--config` of `--config <config>`; the long one of several.
        var name: String {
            let names = term.split(whereSeparator: { $0 == " " || $0 == "," }).map(String.init)
            return names.first { $0.hasPrefix("--") } ?? names.first ?? term
        }

        /// Whether photoinbox(1) describes it for all commands.
        var isCommon: Bool { ["--config", "--state", "--runtime", "--color", "--json"].contains(name) }

        var isBuiltIn: Bool { ["--version", "--help"].contains(name) }
    }

    /// Terms at two columns, each with its meaning two or more spaces later, or on the lines after it; up to a blank line.
    var items: [Item] {
        var items: [Item] = []
        for line in lines.prefix(while: { !$0.isEmpty }) {
            if indent(line) > 2, !items.isEmpty {
                items[items.count - 1].lines.append(line)
                continue
            }
            let text = Array(line.dropFirst(2))
            let gap = text.indices.dropLast().first { text[$0] == " " && text[$0 + 1] == " " } ?? text.count
            items.append(Item(term: String(text[..<gap]), lines: [String(text[gap...])]))
        }
        return items
    }

    /// The same with those items alone.
    func filtered(_ isKept: (Item) -> Bool) -> HelpBlock {
        var block = self
        block.lines = items.filter(isKept).flatMap { ["  \($0.term)  \($0.lines.first ?? "")"] + $0.lines.dropFirst() }
        return block
    }
}

/// A help text by its headings: words in capitals at the margin, then a colon, a remark in parentheses, or nothing.
func helpBlocks(_ help: String) -> [HelpBlock] {
    var blocks: [HelpBlock] = []
    for line in help.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
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
        blocks.append(HelpBlock(title: String(name), remark: joined([String(remark)])))
    }
    return blocks
}

private func joined(_ lines: [String]) -> String {
    lines.joined(separator: " ").split(separator: " ").joined(separator: " ")
}

/// The columns for unfilled text on a terminal of 80, without the page's margin.
private let verbatimColumns = 73

private func indent(_ line: String) -> Int { line.prefix { $0 == " " }.count }

extension Roff {
    mutating func append(_ block: HelpBlock) {
        if !block.remark.isEmpty { paragraph(block.remark) }
        for group in block.groups {
            subheading(group.title.dropLast(" SUBCOMMANDS".count).capitalised)
            for item in group.items { self.item("photoinbox-\(item.term)(1)", [joined(item.lines)]) }
        }
        if ["OPTIONS", "COMMON OPTIONS", "ARGUMENTS", "SIGNALS", "ENVIRONMENT", "FILES"].contains(block.title) {
            for item in block.items { self.item(item.term, [joined(item.lines)]) }
            let rest = block.lines.drop { !$0.isEmpty }
            if rest.contains(where: { !$0.isEmpty }) { paragraph(joined(Array(rest))) }
            return
        }
        for run in block.lines.split(separator: "") {
            var rest = run[...]
            while let first = rest.first {
                let isIndented = indent(first) > 0
                let lines = Array(rest.prefix { (indent($0) > 0) == isIndented })
                rest = rest.dropFirst(lines.count)
                let isProse = lines.allSatisfy { indent($0) == 2 && !$0.dropFirst(2).contains("  ") }
                if !isIndented || (isProse && block.title != "EXAMPLES") {
                    paragraph(joined(lines))
                } else {
                    verbatim(folded(lines.map { String($0.dropFirst(min(2, indent($0)))) }, to: verbatimColumns))
                }
            }
        }
    }
}

extension Substring {
    fileprivate var capitalised: String { prefix(1) + dropFirst().lowercased() }
}
