import FileValues
import Logging
import Testing

@testable import Systemd

struct LogEntryTests {
    @Test(
        "A message is one line without control characters",
        arguments: [
            ("plain", "plain"),
            ("two\nlines\r\t", #"two\nlines\r\t"#),
            ("escape \u{1B}[31m bell \u{7} delete \u{7F}", #"escape \x1b[31m bell \x07 delete \x7f"#),
            ("line separator \u{2028} override \u{202E}", #"line separator \xe2\x80\xa8 override \xe2\x80\xae"#),
            (#"escaped already a\nb"#, #"escaped already a\nb"#),
            ("Größe 写真 📷", "Größe 写真 📷"),
            (#"\"#, #"\"#),
            ("", ""),
        ])
    func message(_ message: String, _ expected: String) {
        #expect(LogEntry(.info, message).message == expected)
    }

    @Test("Cutting keeps whole characters within the limit", arguments: 0...12, ["a", "é", "写", "📷"])
    func cutting(_ limit: Int, _ character: String) {
        let text = String(repeating: character, count: 12)
        let result = cut(text, to: limit)
        if text.utf8.count <= limit {
            #expect(result == text)
        } else {
            #expect(result.hasSuffix("…") && text.hasPrefix(result.dropLast()))
            #expect(result.utf8.count <= max(limit, 3) && result.utf8.count > limit - 4)
        }
    }

    @Test("Long texts are cut")
    func longTexts() {
        let long = String(repeating: "\n", count: 100_000)
        let entry = LogEntry(.info, long, fields: [.init(long, long)])
        #expect(entry.message.utf8.count <= LogEntry.maximumText)
        #expect(entry.fields[0].value.utf8.count <= LogEntry.maximumText && entry.fields[0].key.utf8.count <= 64)
        #expect(entry.cost < 3 * LogEntry.maximumText)
    }

    @Test("Levels have syslog's numbers")
    func levels() {
        let numbers = Logger.Level.allCases.map { LogPriority($0).rawValue }
        #expect(numbers == [7, 7, 6, 5, 4, 3, 2])
        #expect(LogPriority.allCases.filter(\.isSevere) == [.emergency, .alert, .critical, .error, .warning])
    }

    @Test("Message identifiers are distinct and can be parsed")
    func messageIdentifiers() {
        let own: [MessageID] = [.entriesDropped, .lifecycleViolation, .handlerFailed]
        #expect(Set(own).count == own.count)
        for id in own {
            #expect(id.description.utf8.count == 32 && MessageID(id.description) == id)
        }
        let id = MessageID(0x0000_0000_0000_00AB, 0x0C00_0000_0000_0001)
        #expect(id.description == "00000000000000ab0c00000000000001")
        #expect(MessageID("00000000-0000-00AB-0C00-000000000001") == id)
        for wrong in ["", "ab", "+0000000000000ab0c00000000000001", "00000000_0000-00AB-0C00-000000000001"] {
            #expect(MessageID(wrong) == nil)
        }
    }
}
