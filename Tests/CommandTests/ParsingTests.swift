import ArgumentParser
import FileValues
import Glibc
import LinuxKernel
import Reporting
import Settings
import SystemPackage
import TestSupport
import Testing

@testable import CommandSupport
@testable import Watching
@testable import photoinbox

@Suite struct ParsingTests {
    private func watch(_ arguments: String...) throws -> WatchCommand {
        let arguments = ShortOptions.separated(["watch"] + arguments)
        return try #require(try PhotoInbox.parseAsRoot(arguments) as? WatchCommand)
    }

    @Test func queriesTheJournalOfOneDaemon() throws {
        let scratch = try ScratchDirectory()
        let (real, other) = (scratch.bytePath.appending("real"), scratch.bytePath.appending("other"))
        #expect(mkdir(scratch.appending("real"), 0o700) == 0)
        #expect(symlink("real", scratch.appending("other")) == 0)
        #expect(LogCommand.names(of: real) == [real])
        #expect(LogCommand.names(of: other) == [other, real])
        #expect(
            LogCommand.arguments("card", "a b\n.jpg", states: [other, real], more: ["-o", "cat"]) == [
                "journalctl", "-o", "cat", "SYSLOG_IDENTIFIER=photoinboxd", "PHOTOINBOX_INBOX=card",
                #"PHOTOINBOX_FILE=a b\n.jpg"#, BytePath("PHOTOINBOX_STATE=\(other)"),
                BytePath("PHOTOINBOX_STATE=\(real)"),
            ])
    }

    @Test func parsesWatchOptions() throws {
        let command = try watch(
            "-0", "--events", "finished,vanished", "--exclude-glob", "*.tmp", "--exclude", "raw/.*", "--timeout", "1.5",
            "--count", "3", "-q", "a", "b")
        #expect(command.shape.null && command.quiet == 1 && !command.shape.json && !command.existing)
        #expect(command.paths.excludeGlob == ["*.tmp"] && command.paths.exclude.map(\.path) == ["raw/.*"])
        #expect(command.timeout == 1.5 && command.count == 3)
        #expect(command.directories.map(\.path) == ["a", "b"])
    }

    @Test func parsesOptionsOfInotifywait() throws {
        let command = try watch(
            "-mrqqe", "create,close_write", "-edelete", "--event=move", "-t5", "--format", "-%f", "in", "@in/cache")
        #expect(command.monitor && command.recursive && command.quiet == 2)
        #expect(command.event == ["create,close_write", "delete", "move"])
        #expect(command.timeout == 5 && command.shape.format?.path == "-%f")
        #expect(command.directories.map(\.path) == ["in", "@in/cache"])
        let exclude = try watch("--exclude", "-x", "-P", "-I", "--", "-mr")
        #expect(exclude.paths.exclude.map(\.path) == ["-x"] && exclude.directories.map(\.path) == ["-mr"])
        #expect(ShortOptions.separated(["list", "-mr"]) == ["list", "-mr"])
    }

    @Test(arguments: [
        ["--null", "--json", "a"], ["--count", "0", "a"], ["--timeout", "-1", "a"], ["--timeout", "inf", "a"],
        ["--exclude", "[a", "b"], ["--exclude-glob", "", "b"], ["--events", "", "a"],
        ["--events", "finished,all", "a"],
        ["--events", "created,close_write", "a"], ["--events", "finished,flown", "a"], [], ["--csv", "--json", "a"],
        ["--format", "%f", "--csv", "a"], ["--no-newline", "a"], ["--timefmt", "%F", "a"], ["--format", "%T", "a"],
        ["-d", "-o", "x", "a"], ["--syslog", "a"], ["-F", "a"], ["--filesystem", "a"], ["-f", "a"], ["-0c", "a"],
        ["--format", "%f", "--no-newline", "--null", "a"],
    ]) func refusesWatchOptions(_ arguments: [String]) {
        #expect(throws: (any Error).self) { try PhotoInbox.parseAsRoot(["watch"] + arguments) }
    }

    @Test func parsesEvents() throws {
        #expect(try WatchEvents(words: ["finished,renamed"]) == .notices([.finished, .renamed]))
        #expect(try WatchEvents(words: ["finished", "renamed"]) == .notices([.finished, .renamed]))
        #expect(try WatchEvents(words: ["directory-vanished"]) == .notices([.directoryVanished]))
        #expect(try WatchEvents(words: ["all"]) == .raw(InotifyMask(rawValue: 0xFFF)))
        #expect(try WatchEvents(words: ["CLOSE_WRITE", "moved_to"]) == .raw([.closedAfterWriting, .movedTo]))
        #expect(try WatchEvents(words: ["close,move"]) == .raw(InotifyMask(rawValue: 0xD8)))
        #expect(WatchEvents(asInotifywait: true) == .raw(InotifyMask(rawValue: 0xFFF)))
        #expect(WatchEvents(asInotifywait: false) == .notices([.finished]))
    }

    @Test func parsesPatternsAsTheConfigurationDoes() throws {
        let patterns = try globs("--exclude-glob", ["*.tmp", "raw/*.xmp"])
        #expect(patterns.map(\.pattern) == ["*.tmp", "raw/*.xmp"])
        #expect(patterns[1].matches("raw/a.xmp") && !patterns[1].matches("x/raw/a.xmp"))
        #expect(try globs("--exclude-glob", []).isEmpty)
    }

    @Test(arguments: [
        Array("plain".utf8), Array("with spaces \n\t\\x41".utf8), [0xFF], Array("é".utf8) + [0xC3],
        Array("\u{10FFFF}mark".utf8), Array("--".utf8), [],
    ]) func keepsArgumentsByteForByte(_ bytes: [UInt8]) throws {
        let argument = RawArgument(argument: RawArgument.carried(bytes))
        #expect(argument?.path.bytes == bytes)
    }

    @Test func parsesTimes() throws {
        #expect(SinceText("2h")?.moment(now: 10_000) == 2800)
        #expect(SinceText("90s")?.moment(now: 100) == 10)
        #expect(SinceText("1w")?.moment(now: 0) == -604_800)
        let noon = try #require(SinceText("2026-03-02T12:00")?.moment(now: 0))
        #expect(SinceText("yesterday")?.moment(now: noon) == SinceText("2026-03-01")?.moment(now: 0))
        #expect(SinceText("today")?.moment(now: noon) == SinceText("2026-03-02")?.moment(now: 0))
        let midnight = SinceText("2026-03-01")?.moment(now: 0)
        let later = SinceText("2026-03-01T14:07:31")?.moment(now: 0)
        #expect(later.flatMap { later in midnight.map { later - $0 } } == 50_851)
        #expect(SinceText("2026-03-01 14:07")?.moment(now: 0) == later.map { $0 - 31 })
        #expect(SinceText("2026-02-30")?.moment(now: 0) == nil)
        for text in [
            "", "h", "2", "-1h", "2x", "2026-13-01", "2026-1", "2026-01-01T", "2026-01-01T25:00", "٣h", "9999999h",
        ] {
            #expect(SinceText(text) == nil, "\(text)")
        }
    }

    @Test func parsesOperations() {
        func subject(_ text: String) -> OperationArgument.Subject? { OperationArgument(argument: text)?.subject }
        #expect(subject("8841") == .number(8841))
        #expect(subject("photo:12") == .photo(12))
        let hash = String(repeating: "0a", count: 32)
        for digits in [hash, "0a0a0a0a", "E3B0C4429"] {
            #expect(subject(digits) == .content(digits, else: BytePath(digits)))
        }
        for text in ["0", "-1", "photo:x", "abc", "card/a.jpg", String(repeating: "+a", count: 32), hash + "0"] {
            #expect(subject(text) == .file(BytePath(text)), "\(text)")
        }
        #expect(subject("") == nil)
    }

    @Test func endsWithDocumentedStatus() {
        let status = { (end: WatchEnd, incomplete: Bool) in WatchReport.status(of: end, isIncomplete: incomplete) }
        #expect(status(.readerClosed, true) == .someLeft)
        #expect(status(.counted, false) == .ok)
        #expect(status(.timedOut, true) == .timedOut)
        #expect(status(.timedOut, false).rawValue == 2)
        #expect(status(.outputFailed(.noSpace), false) == .failed)
    }
}
