/// Builds a manual page with the macros of man(7).
struct Roff {
    private(set) var text = ""

    /// The page's header; without a date, so that the same sources always give the same page.
    init(_ name: String, section: Int, purpose: String) {
        text += ".\\\" Written by \"make man\": change the sources that it reads, not this file.\n"
        text += ".TH \"\(Self.escaped(name))\" \(section) \"\" \"photo\\-inbox\"\n"
        // Paths and commands are copied from pages, so nothing is hyphenated, and lines are not justified.
        text += ".nh\n.ad l\n"
        heading("NAME")
        text += "\(Self.escaped(name)) \\- \(Self.escaped(purpose))\n"
    }

    mutating func heading(_ words: String) { start(".SH \"\(Self.escaped(words))\"") }

    mutating func subheading(_ words: String) { start(".SS \"\(Self.escaped(words))\"") }

    mutating func paragraph(_ words: String) {
        beginParagraph()
        text += "\(Self.line(words))\n"
    }

    /// Whether a heading was last, after which a paragraph needs no macro.
    private var isAfterHeading = false

    private mutating func start(_ heading: String) {
        text += heading + "\n"
        isAfterHeading = true
    }

    private mutating func beginParagraph() {
        if !isAfterHeading { text += ".PP\n" }
        isAfterHeading = false
    }

    /// A term in bold, and its meaning in indented paragraphs.
    mutating func item(_ term: String, _ paragraphs: [String]) {
        isAfterHeading = false
        text += ".TP\n\\fB\(Self.escaped(term))\\fR\n"
        for (index, words) in paragraphs.enumerated() {
            text += index == 0 ? "" : ".IP\n"
            text += Self.line(words) + "\n"
        }
    }

    mutating func verbatim(_ lines: [String]) {
        beginParagraph()
        text += ".nf\n"
        for line in lines { text += (line.isEmpty ? "\\&" : Self.line(line)) + "\n" }
        text += ".fi\n"
    }

    /// A text line: no control line, whatever it begins with.
    static func line(_ words: String) -> String {
        let text = escaped(words)
        return text.hasPrefix(".") || text.hasPrefix(" ") ? "\\&" + text : text
    }

    /// `words` so that each character is printed as it is, in text and in a macro's argument. A hyphen is written as
    /// a minus, which can be copied from the page into a shell.
    static func escaped(_ words: String) -> String {
        var out = ""
        for scalar in words.unicodeScalars {
            switch scalar {
            case "\\": out += "\\e"
            case "-": out += "\\-"
            case "\"": out += "\\(dq"
            case "'": out += "\\(aq"
            case "`": out += "\\(ga"
            case "^": out += "\\(ha"
            case "~": out += "\\(ti"
            case _ where scalar.value > 0x7E:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                out += "\\[u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "]"
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out
    }
}
