extension Settings {
    /// A configuration file that explains every key and sets none: each is a comment, with its default or an example.
    /// Lines have at most 80 columns if the values allow it.
    package static func defaultFileText() -> String {
        var lines = [
            "# Configuration of photoinboxd. See photoinbox.toml(5).",
            "# Check it:   photoinboxd --check",
            "# Use it:     systemctl reload photoinboxd",
            "#",
            "# Lines that begin with # change nothing; remove the # to set a value.",
            "# Durations are written \"500ms\", \"5s\", \"2m\", \"1h30m\", \"7d\".",
        ]
        for section in SettingsSection.allCases {
            lines.append("")
            if section != .top {
                lines += comment(section.explanation)
                lines.append("#" + section.exampleHeader)
            }
            for key in section.keys {
                let tail = key.fallback.map { " Default: \($0)." } ?? (key.isRequired ? " Required." : "")
                if section != .signals { lines.append("") }
                lines += comment((section == .signals ? key.name + ": " : "") + key.explanation + tail)
                lines.append("#\(key.name) = \(key.example)")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func comment(_ text: String) -> [String] {
        var lines: [String] = []
        var line = "#"
        for word in text.split(separator: " ") {
            if line.count + 1 + word.count > 80 {
                lines.append(line)
                line = "#"
            }
            line += " " + word
        }
        return lines + [line]
    }
}
