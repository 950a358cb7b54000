import FileValues
import LinuxKernel
import TestSupport
import Testing

@testable import Filing

@Suite("Notes beside quarantined files are read again")
struct ReasonFileTests {
    private let note = QuarantineNote(
        what: "set aside", why: "it is cut short:\nno end \\ marker \u{202E}",
        when: FileTime(seconds: 1_795_269_787, nanoseconds: 0),
        origin: BytePath(Array("/srv/in/a\n".utf8) + [0xFF, 0x5C] + Array(".jpg".utf8)), advice: "copy it again")

    @Test func whatIsWrittenIsRead() {
        #expect(QuarantineNote(text: Array(note.text.utf8)) == note)
    }

    @Test(
        arguments: [
            "", "\n", "what  a\n", "what  a\n why  b\nwhen  c\nfrom  d\n  do  e\n",
            "what  a\n why  b\nwhen  2026-02-30 14:03:07 UTC\nfrom  d\n  do  e\n",
            "what  a\n why  b\nwhen  2026-11-21 24:03:07 UTC\nfrom  d\n  do  e\n",
            "what  a\n why  b\nwhen  2026-11-21 14:03:07 UTC\nfrom  \\q\n  do  e\n",
            "what  a\n why  b\nwhen  2026-11-21 14:03:07 UTC\nfrom  d\n  do  e",
            "what  a\n why  b\n why  b\nwhen  2026-11-21 14:03:07 UTC\nfrom  d\n  do  e\n",
            "what  a\n why  \\xff\nwhen  2026-11-21 14:03:07 UTC\nfrom  d\n  do  e\n",
        ])
    func otherTextsAreNoNotes(_ text: String) {
        #expect(QuarantineNote(text: Array(text.utf8)) == nil)
    }

    @Test func everyChangedByteIsReadOrRefused() {
        let text = Array(note.text.utf8)
        for index in text.indices {
            for byte in [0, 0x0A, 0x5C, 0x80, 0xFF] as [UInt8] {
                var changed = text
                changed[index] = byte
                _ = QuarantineNote(text: changed)
                _ = QuarantineNote(text: changed[..<index])
            }
        }
    }

    @Test func linksLargeFilesAndDirectoriesAreNoNotes() throws {
        let scratch = try ScratchDirectory()
        let root = try openDirectory(BytePath(scratch.path))
        func write(_ name: String, _ bytes: [UInt8]) throws {
            let file = try root.openBeneath(BytePath(name), [.write, .createNew], mode: 0o600)
            try file.write(bytes, at: 0)
        }
        try write("a.jpg.reason.txt", Array(note.text.utf8))
        #expect(QuarantineNote(besides: "a.jpg", in: root) == note)
        var long = note
        long.why = String(repeating: "x", count: 70_000)
        try write("b.jpg.reason.txt", Array(long.text.utf8))
        try runProgram(["/bin/ln", "-s", "a.jpg.reason.txt", scratch.appending("c.jpg.reason.txt")])
        try runProgram(["/bin/mkdir", scratch.appending("d.jpg.reason.txt")])
        for name: BytePath in ["b.jpg", "c.jpg", "d.jpg", "e.jpg"] {
            #expect(QuarantineNote(besides: name, in: root) == nil, "\(name)")
        }
        try runProgram(["/bin/ln", scratch.appending("a.jpg.reason.txt"), scratch.appending("other")])
        #expect(QuarantineNote(besides: "a.jpg", in: root) == nil, "it has two names")
    }
}
