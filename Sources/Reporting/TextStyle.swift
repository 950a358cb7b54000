/// How to format text for its destination: a terminal, or anything else.
package struct TextStyle: Hashable, Sendable {
    /// `--color=`.
    package enum ColourChoice: String, CaseIterable, Hashable, Sendable {
        case auto, always, never
    }

    /// The meaning of a word, which determines its colour. The colour only supports the word.
    package enum Paint: Sendable {
        case good, notice, warning, bad, faint, strong
    }

    package let usesColour: Bool
    /// Whether the terminal has 256 colours, some of which are readable on white and black.
    package let hasManyColours: Bool
    /// The width for wrapping, in columns; nil if lines are never wrapped.
    package let width: Int?

    package static let plain = TextStyle(usesColour: false, width: nil)

    package init(usesColour: Bool, hasManyColours: Bool = false, width: Int?) {
        (self.usesColour, self.hasManyColours, self.width) = (usesColour, hasManyColours, width)
    }

    /// The style for a stream: colour on a terminal only, unless NO_COLOR is set and not empty, or TERM is dumb or
    /// absent; `choice` overrides all of them. See https://no-color.org. 256 colours are indicated by TERM, or
    /// by COLORTERM, which terminals with more colours set.
    package init(
        isTerminal: Bool, choice: ColourChoice = .auto, noColour: String?, terminal: String?,
        colourTerminal: String? = nil, columns: Int? = nil
    ) {
        switch choice {
        case .always: usesColour = true
        case .never: usesColour = false
        case .auto:
            usesColour =
                isTerminal && (noColour ?? "").isEmpty && terminal != nil && terminal != "" && terminal != "dumb"
        }
        hasManyColours = !(colourTerminal ?? "").isEmpty || (terminal ?? "").hasSuffix("256color")
        width = isTerminal ? columns.flatMap { $0 >= 20 ? $0 : nil } : nil
    }

    package func painted(_ text: String, _ paint: Paint) -> String {
        guard usesColour, !text.isEmpty, let code = hasManyColours ? paint.fineCode : paint.code else { return text }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }
}

extension TextStyle.Paint {
    /// Of the eight basic colours only those that are readable on white and black. Green,
    /// cyan and yellow are too pale for the one, blue is too dark for the other; so success has no colour.
    fileprivate var code: String? {
        switch self {
        case .good: nil
        case .notice: "1"
        case .warning: "35"
        case .bad: "1;31"
        case .faint: "2"
        case .strong: "1"
        }
    }

    /// Of 256: middle tones, with a contrast of about 4.5 to 1 to white and black, since the background is unknown.
    fileprivate var fineCode: String? {
        switch self {
        case .good: "38;5;28"
        case .notice: "38;5;31"
        case .warning: "1;38;5;130"
        case .bad: "1;38;5;196"
        case .faint, .strong: code
        }
    }
}

/// The terminal columns of `text`: none for combining marks, two for East Asian wide characters and
/// emoji. An approximation, as terminals differ; `text` holds no control characters.
package func displayWidth(_ text: String) -> Int {
    text.unicodeScalars.reduce(0) { sum, scalar in
        if scalar.isASCII { return sum + 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return sum
        default: break
        }
        let isWide =
            switch scalar.value {
            case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
                0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1F9FF,
                0x20000...0x3FFFD:
                true
            default: false
            }
        return sum + (isWide ? 2 : 1)
    }
}
