/// photoinbox-tutorial(7), from the Markdown of docs/guides/tutorial.md: headings, paragraphs and fenced blocks.
func tutorialPage(markdown: String) -> String {
    let lines = markdown.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let title = lines.first.map { String($0.drop { "# ".contains($0) }) } ?? ""
    var page = Roff(
        "photoinbox-tutorial", section: 7,
        purpose: title.prefix(1).lowercased() + title.dropFirst() + " with photo-inbox")
    page.heading("DESCRIPTION")
    var (paragraph, commands): ([String], [String]?) = ([], nil)
    for line in lines.dropFirst() + [""] {
        if line.hasPrefix("```") {
            if let block = commands { page.verbatim(block.map { "    \($0)" }) }
            commands = commands == nil ? [] : nil
        } else if commands != nil {
            commands?.append(line)
        } else if line.hasPrefix("## ") {
            page.heading(line.dropFirst(3).uppercased())
        } else if !line.isEmpty {
            paragraph.append(line)
        } else if !paragraph.isEmpty {
            // A page shows names as they are, and links nowhere.
            let words = paragraph.joined(separator: " ").replacing("`", with: "")
            page.paragraph(words.replacing(/\[([^\]]+)\]\([^)]+\)/) { String($0.1) })
            paragraph = []
        }
    }
    page.heading("SEE ALSO")
    page.paragraph("photoinbox(1), photoinbox-setup(1), photoinboxd(8), photoinbox.toml(5)")
    return page.text
}
