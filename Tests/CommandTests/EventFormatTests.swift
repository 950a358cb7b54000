import DirectoryWatch
import FileValues
import Foundation
import LinuxKernel
import Reporting
import Testing

@testable import CommandSupport
@testable import Watching
@testable import photoinbox

@Suite struct EventFormatTests {
    private static let time = FileTime(seconds: 1_763_730_451, nanoseconds: 7_999_999)
    private static let identity = FileIdentity(inode: 1, size: 12, modified: time, changed: time)

    private func bytes(
        _ format: EventFormat, _ kind: NoticeKind, _ notice: WatchNotice.Kind, _ path: [UInt8], from: [UInt8]? = nil
    ) -> [UInt8] {
        var format = format
        var bytes: [UInt8] = []
        format.append(
            kind, of: WatchNotice(root: "0", path: "x", kind: notice, identity: Self.identity), path: path, from: from,
            at: Self.time, to: &bytes)
        return bytes
    }

    private func format(_ text: String, terminator: UInt8? = 0x0A, isEscaped: Bool = false) throws -> EventFormat {
        EventFormat(try FormatString(text.utf8, terminator: terminator), isEscaped: isEscaped)
    }

    @Test func writesLines() throws {
        let odd = Array("in/a\n".utf8) + [0xFF]
        let (plain, kinds) = (try format("%w%f"), try format("%e %w%f"))
        #expect(bytes(plain, .finished, .finished(.closeWrite), odd) == odd + [0x0A])
        #expect(
            bytes(try format("%w%f", isEscaped: true), .finished, .finished(.closeWrite), odd)
                == Array("in/a\\n\\xff\n".utf8))
        #expect(bytes(try format("%w%f", terminator: 0), .finished, .finished(.closeWrite), odd) == odd + [0])
        #expect(
            bytes(kinds, .renamed, .renamed(from: "o"), [0x6E], from: [0x6F])
                == Array("renamed-from o\nrenamed-to n\n".utf8))
        #expect(
            bytes(try format("%f|%w|%e|%c", terminator: nil), .vanished, .vanished, Array("in/b/a".utf8))
                == Array("a|in/b/|vanished|0".utf8))
        #expect(
            bytes(EventFormat(.csv), .finished, .finished(.found), Array("in,1/a \"b\"".utf8))
                == Array("\"in,1/\",finished,\"a \"\"b\"\"\"\n".utf8))
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
        let line = bytes(EventFormat(.json), .finished, .renamed(from: "o"), Array("new".utf8), from: Array("old".utf8))
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

    @Test func writesKernelRecords() throws {
        let record = { (format: EventFormat, mask: InotifyMask, name: String) -> String in
            var (format, bytes) = (format, [UInt8]())
            Array(name.utf8).withUnsafeBytes { name in
                format.append(
                    record: mask, directory: Array("in/".utf8), name: name, cookie: 0xA1, at: Self.time, to: &bytes)
            }
            return String(decoding: bytes, as: UTF8.self)
        }
        #expect(record(try format("%w %e %f", isEscaped: true), [.created], "a\n") == "in/ CREATE a\\n\n")
        #expect(record(try format("%w %e %f"), [.closedAfterWriting], "a") == "in/ CLOSE_WRITE,CLOSE a\n")
        #expect(record(try format("%w %e %f"), [.movedSelf, .isDirectory], "") == "in/ MOVE_SELF,ISDIR \n")
        #expect(record(try format("%:e %c"), [.movedTo, .isDirectory], "b") == "MOVED_TO:ISDIR a1\n")
        #expect(record(EventFormat(.csv), [.closedAfterReading], " b") == "in/,\"CLOSE_NOWRITE,CLOSE\",\" b\"\n")
        #expect(
            record(EventFormat(.json), [.closedAfterWriting], "b").hasPrefix(
                #"{"format":1,"event":"raw","mask":"CLOSE_WRITE,CLOSE","directory":"in/","name":"b","cookie":161,"#))
    }

    @Test func writesTimesByStrftime() throws {
        let text = try FormatString("%T".utf8, terminator: nil)
        var format = EventFormat(text, time: TimeFormat("%s|%%|%Y"))
        var bytes: [UInt8] = []
        for _ in 1...2 {
            format.append(
                record: [.created], directory: [], name: UnsafeRawBufferPointer(start: nil, count: 0), cookie: 0,
                at: Self.time, to: &bytes)
        }
        #expect(String(decoding: bytes, as: UTF8.self) == "1763730451|%|20251763730451|%|2025")
    }
}

@Suite struct FormatStringTests {
    private func pieces(_ text: String, terminator: UInt8? = nil) throws -> String {
        let format = try FormatString(text.utf8, terminator: terminator)
        return format.pieces.map { piece in
            switch piece.kind {
            case .literal: "[" + String(decoding: format.literals[piece.range], as: UTF8.self) + "]"
            case .events: "e" + String(UnicodeScalar(piece.separator))
            case .directory: "w"
            case .name: "f"
            case .time: "T"
            case .cookie: "c"
            }
        }.joined()
    }

    @Test(arguments: [
        ("%w%f", "wf"), ("a%%b", "[a%b]"), ("%e%:e%.e", "e,e:e."), ("%x%q", "[%x%q]"), ("%0%n", "[\0\n]"),
        ("%T %c", "T[ ]c"), ("%we", "w[e]"), ("%\u{E9}e", "[%\u{E9}e]"), ("%%e", "[%e]"),
    ]) func readsFormats(_ text: String, _ expected: String) throws {
        #expect(try pieces(text) == expected)
    }

    @Test func readsALonePercentAsInotifywaitDoes() throws {
        #expect(try pieces("x%", terminator: 0x0A) == "[x%\n]")
        #expect(throws: (any Error).self) { try pieces("x%") }
        #expect(throws: (any Error).self) { try pieces("") }
        #expect(try pieces("", terminator: 0x0A) == "[\n]")
    }
}

@Suite struct NoticeSelectionTests {
    private func kind(
        _ kinds: NoticeKinds, _ notice: WatchNotice.Kind, _ path: BytePath, unfinished: Bool = false
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
        #expect(kind(NoticeKinds(NoticeKind.allCases), .overflow, "") == nil)
        #expect(kind([.special], .notRegular(.fifo), "p") == .special)
    }
}
