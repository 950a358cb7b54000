import DirectoryWatch
import FileValues
import Foundation
import LinuxKernel
import Reporting
import Testing

@testable import photoinbox

@Suite struct EventFormatTests {
    private static let time = FileTime(seconds: 1_763_730_451, nanoseconds: 7_999_999)
    private static let identity = FileIdentity(inode: 1, size: 12, modified: time, changed: time)

    private func bytes(
        _ shape: EventFormat.Shape, showsKind: Bool = false, _ kind: NoticeKind, _ notice: WatchNotice.Kind,
        _ path: [UInt8], from: [UInt8]? = nil
    ) -> [UInt8] {
        var format = EventFormat(shape: shape, showsKind: showsKind)
        var bytes: [UInt8] = []
        format.append(
            kind, of: WatchNotice(root: "0", path: "x", kind: notice, identity: Self.identity), path: path, from: from,
            at: Self.time, to: &bytes)
        return bytes
    }

    @Test func writesLines() {
        let odd = Array("in/a\n".utf8) + [0xFF]
        #expect(bytes(.lines(escaped: false), .finished, .finished(.closeWrite), odd) == odd + [0x0A])
        #expect(bytes(.lines(escaped: true), .finished, .finished(.closeWrite), odd) == Array("in/a\\n\\xff\n".utf8))
        #expect(bytes(.null, .finished, .finished(.closeWrite), odd) == odd + [0])
        #expect(
            bytes(.lines(escaped: false), showsKind: true, .renamed, .renamed(from: "o"), [0x6E], from: [0x6F])
                == Array("renamed-from o\nrenamed-to n\n".utf8))
        #expect(
            bytes(.null, showsKind: true, .vanished, .vanished, Array("in/a".utf8)) == Array("vanished in/a\0".utf8))
    }

    @Test(arguments: [
        Array("in/plain.jpg".utf8), Array("é\u{2028}\"\\\u{1}\u{7F}".utf8), Array("bad".utf8) + [0xFF, 0x00 + 1], [],
    ]) func writesPathsAsOtherCommandsDo(_ path: [UInt8]) throws {
        var written: [UInt8] = []
        written.appendJSONPath("path", path)
        let expected = JSONValue.object(JSONField.path("path", BytePath(path))).compact
        #expect("{" + String(decoding: written.dropFirst(), as: UTF8.self) + "}" == expected)
    }

    @Test func writesJSON() throws {
        let line = bytes(.json, .finished, .renamed(from: "o"), Array("new".utf8), from: Array("old".utf8))
        #expect(
            String(decoding: line, as: UTF8.self) == """
                {"format":1,"event":"finished","path":"new","from":"old","cause":"renamed","size":12,\
                "modified":"2025-11-21T13:07:31.007Z","time":"2025-11-21T13:07:31.007Z"}

                """)
    }

    @Test func writesTimesThatFilesClaim() {
        var times = TimeBytes()
        var bytes: [UInt8] = []
        times.append(FileTime(seconds: .max, nanoseconds: 0), to: &bytes)
        bytes.append(0x20)
        times.append(FileTime(seconds: -1, nanoseconds: 999_000_000), to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == "null \"1969-12-31T23:59:59.999Z\"")
    }

    @Test func writesKernelRecords() {
        var format = EventFormat(shape: .lines(escaped: true), showsKind: true)
        var bytes: [UInt8] = []
        Array("a\n".utf8).withUnsafeBytes { name in
            format.append(
                mask: "CREATE", directory: Array("in/".utf8), name: name, cookie: 0, at: Self.time, to: &bytes)
        }
        #expect(String(decoding: bytes, as: UTF8.self) == "in/ CREATE a\\n\n")
    }
}

@Suite struct NoticeSelectionTests {
    private func kind(
        _ kinds: Set<NoticeKind>, _ notice: WatchNotice.Kind, _ path: BytePath, unfinished: Bool = false
    ) -> NoticeKind? {
        NoticeSource.Selection(kinds: kinds, includesUnfinished: unfinished)
            .kind(of: WatchNotice(root: "0", path: path, kind: notice))
    }

    @Test func holdsUnfinishedNamesBack() {
        #expect(kind([.finished], .finished(.closeWrite), "a.jpg") == .finished)
        #expect(kind([.finished], .finished(.closeWrite), "a.jpg.part") == nil)
        #expect(kind([.finished], .finished(.closeWrite), "a.jpg.part", unfinished: true) == .finished)
        // What was held back is told as finished once it has its name.
        #expect(kind([.finished], .renamed(from: "a.jpg.part"), "a.jpg") == .finished)
        #expect(kind([.finished, .renamed], .renamed(from: "a.jpg.part"), "a.jpg") == .finished)
        #expect(kind([.finished, .renamed], .renamed(from: "b.jpg"), "a.jpg") == .renamed)
        #expect(kind([.renamed], .renamed(from: "a.jpg.part"), "a.jpg") == .renamed)
        #expect(kind([.finished], .renamed(from: "b.jpg"), "a.jpg.part") == nil)
    }

    @Test func tellsOnlyWhatIsAskedFor() {
        #expect(kind([.finished], .created, "a") == nil)
        #expect(kind([.created, .vanished], .vanished, "a") == .vanished)
        #expect(kind(Set(NoticeKind.allCases), .overflow, "") == nil)
        #expect(kind([.special], .notRegular(.fifo), "p") == .special)
    }
}
