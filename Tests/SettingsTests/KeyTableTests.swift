import Testing

@testable import Settings

struct KeyTableTests {
    @Test func defaultFileIsAValidConfigurationWithoutSettings() throws {
        let settings = try settings(Settings.defaultFileText())
        #expect(settings.library == nil)
        #expect(settings.effective.allSatisfy { $0.origin == .standard })
    }

    @Test func everyKeyIsExplainedInTheDefaultFile() {
        let text = Settings.defaultFileText()
        for key in Settings.keyTable {
            #expect(text.contains("\n#\(key.name) = \(key.example)\n"), "\(key.path)")
            #expect(key.explanation.hasSuffix("."), "\(key.path)")
        }
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }

    @Test func everyExampleOfTheDefaultFileIsValid() throws {
        // A line that begins with "#" and no blank is a setting or a header.
        var lines: [Substring] = []
        for line in Settings.defaultFileText().split(separator: "\n", omittingEmptySubsequences: false) {
            let isSetting = line.hasPrefix("#") && !line.hasPrefix("# ") && line.count > 1
            // A timer must not have both "every" and "at".
            lines.append(isSetting && !line.hasPrefix("#at =") ? line.dropFirst() : line)
        }
        let settings = try settings(lines.joined(separator: "\n"))
        let given = Set(settings.effective.filter { $0.origin != .standard }.map(\.key))
        #expect(given.count == Settings.keyTable.count - 1)
        #expect(settings.inboxes.count == 1 && settings.timers.count == 1 && settings.hooks.count == 1)
    }

    @Test func everyDefaultAndExampleIsReadAsItIsWritten() throws {
        for key in Settings.keyTable {
            for text in [key.standardText, key.example].compactMap(\.self) {
                let node = try #require(TOMLDocument(Array("key = \(text)".utf8)).entries.first?.node)
                let value = try key.read(node, PathBase(directory: nil, mayClimb: false))
                #expect(value.text == text, "\(key.path)")
            }
        }
    }

    @Test func everySectionHasKeys() {
        let counts = SettingsSection.allCases.map(\.keys.count)
        #expect(counts.allSatisfy { $0 > 0 } && counts.reduce(0, +) == Settings.keyTable.count)
    }

    @Test func pathsAreUnique() {
        let paths = Settings.keyTable.map(\.path)
        #expect(Set(paths).count == paths.count)
    }
}
