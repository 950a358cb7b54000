import FileValues
import Testing

@testable import Systemd

struct JournalEncodingTests {
    private let encoding = JournalEncoding(identifier: "photoinboxd", prefix: "PHOTOINBOX_")

    @Test(
        "Keys become field names",
        arguments: [
            ("file", "PHOTOINBOX_FILE"), ("queueDepth", "PHOTOINBOX_QUEUE_DEPTH"),
            ("queue-depth", "PHOTOINBOX_QUEUE_DEPTH"),
            ("SHA256", "PHOTOINBOX_SHA256"), ("where.slot", "PHOTOINBOX_WHERE_SLOT"), ("a=b\nC", "PHOTOINBOX_A_B_C"),
            ("", "PHOTOINBOX_"), ("documentation", "DOCUMENTATION"), ("_PID", "PHOTOINBOX__PID"),
        ])
    func keys(_ key: String, _ name: String) {
        #expect(encoding.name(forKey: key) == name)
        #expect(JournalEncoding.isValidName(name))
    }

    @Test("Every key becomes a valid name")
    func allKeys() {
        for scalar in (0...0x3000).compactMap(Unicode.Scalar.init) {
            #expect(JournalEncoding.isValidName(encoding.name(forKey: "\(scalar)x\(scalar)")))
        }
        #expect(encoding.name(forKey: String(repeating: "k", count: 500)).utf8.count == 64)
    }

    @Test(
        "Invalid names are refused",
        arguments: ["", "_PID", "1ST", "lower", "A-B", "A\n", String(repeating: "A", count: 65), "É"])
    func invalidNames(_ name: String) {
        #expect(!JournalEncoding.isValidName(name))
    }

    @Test("The fields of an entry")
    func fields() {
        let time = FileTime(seconds: 1_795_266_451, nanoseconds: 7_000_000)
        let entry = LogEntry(
            .warning, "m", id: .handlerFailed, fields: [.init("inbox", "card")],
            location: CodeLocation(file: "M/F.swift", line: 7, function: "f()"), time: time)
        let fields = encoding.fields(of: entry, sent: time).map { String(decoding: $0, as: UTF8.self) }
        #expect(
            fields == [
                "MESSAGE=m", "PRIORITY=4", "SYSLOG_IDENTIFIER=photoinboxd", "CODE_FILE=M/F.swift", "CODE_LINE=7",
                "CODE_FUNC=f()", "MESSAGE_ID=\(MessageID.handlerFailed)", "PHOTOINBOX_INBOX=card",
            ])
        let later = encoding.fields(of: entry, sent: FileTime(seconds: time.seconds + 60, nanoseconds: 0))
        #expect(later.last == Array("PHOTOINBOX_HAPPENED_AT=2026-11-21T13:07:31.007Z".utf8))
    }

    @Test("Constant fields are in every entry")
    func constants() {
        let encoding = JournalEncoding(
            identifier: "photoinboxd", prefix: "PHOTOINBOX_", constants: [.init("state", "/var/lib/photoinbox")])
        let time = FileTime(seconds: 1_795_266_451, nanoseconds: 0)
        let fields = encoding.fields(of: LogEntry(.info, "m", fields: [.init("inbox", "card")], time: time), sent: time)
        #expect(
            fields.suffix(2).map { String(decoding: $0, as: UTF8.self) } == [
                "PHOTOINBOX_INBOX=card", "PHOTOINBOX_STATE=/var/lib/photoinbox",
            ])
    }

    @Test("A value with a newline is sent with its length")
    func newlines() {
        let datagram = JournalEncoding.datagram([Array("A=b".utf8), Array("C=d\ne".utf8), Array("F=".utf8)])
        #expect(datagram == Array("A=b\nC\n".utf8) + [3, 0, 0, 0, 0, 0, 0, 0] + Array("d\ne\nF=\n".utf8))
    }

    @Test("An invalid prefix traps")
    func invalidPrefix() async {
        await #expect(processExitsWith: .failure) { _ = JournalEncoding(identifier: "x", prefix: "_x") }
    }
}
