import Settings

/// photoinbox.toml(5).
func settingsPage() -> String {
    var page = Roff("photoinbox.toml", section: 5, purpose: "configuration of photoinboxd")
    page.heading("DESCRIPTION")
    page.paragraph(
        "photoinboxd(8) reads /etc/photoinbox/photoinbox.toml, or the file that --config names, when it starts and on "
            + "reload. The file is TOML. An unknown key or a wrong value is an error, reported with its line and column; "
            + "\"photoinboxd --check\" reports every error at once. A wrong file never replaces a running configuration."
    )
    page.paragraph("Durations are written \"500ms\", \"5s\", \"2m\", \"1h30m\", \"7d\".")
    for section in SettingsSection.allCases {
        page.heading(section == .top ? "KEYS BEFORE THE FIRST HEADER" : section.header)
        if !section.explanation.isEmpty { page.paragraph(section.explanation) }
        for key in Settings.keyTable where key.section == section {
            let fallback = key.fallback.map { "Default: \($0)." } ?? (key.isRequired ? "Required." : "No default.")
            page.item(
                "\(key.name) = \(key.kind.description)",
                [
                    key.explanation + (key.explanation.isEmpty ? "" : " ") + fallback,
                    "Example: \(key.name) = \(key.example)",
                ])
        }
    }
    page.heading("FILES")
    page.item("/etc/photoinbox/photoinbox.toml", ["of photoinboxd.service"])
    page.item("/etc/photoinbox/NAME.toml", ["of photoinboxd@NAME.service"])
    page.item("~/.config/photoinbox/photoinbox.toml", ["of a user's own photoinboxd.service"])
    page.heading("SEE ALSO")
    page.paragraph("photoinbox(1), photoinbox-problems(7), photoinboxd(8)")
    return page.text
}
