import ArgumentParser
import FileValues
import LinuxKernel
import Reporting
import Settings
import SystemPackage
import Testing

@testable import photoinbox

@Suite struct ParsingTests {
    private func watch(_ arguments: String...) throws -> WatchCommand {
        try #require(try PhotoInbox.parseAsRoot(["watch"] + arguments) as? WatchCommand)
    }

    @Test func takesWatchOptions() throws {
        let command = try watch(
            "--null", "--events", "finished,vanished", "--exclude", "*.tmp", "--exclude", "raw/*", "--timeout", "1.5",
            "--count", "3", "-q", "a", "b")
        #expect(command.null && command.quiet && !command.json && !command.existing)
        #expect(command.exclude == ["*.tmp", "raw/*"])
        #expect(command.timeout == 1.5 && command.count == 3)
        #expect(command.directories.map(\.path) == ["a", "b"])
    }

    @Test(arguments: [
        ["--null", "--json", "a"], ["--count", "0", "a"], ["--timeout", "-1", "a"], ["--timeout", "inf", "a"],
        ["--exclude", "[a", "b"], ["--exclude", "", "b"], ["--events", "", "a"], ["--events", "finished,all", "a"],
        ["--events", "created,close_write", "a"], ["--events", "finished,flown", "a"], [],
    ]) func refusesWatchOptions(_ arguments: [String]) {
        #expect(throws: (any Error).self) { try PhotoInbox.parseAsRoot(["watch"] + arguments) }
    }

    @Test func readsEvents() throws {
        #expect(try WatchEvents(words: "finished,renamed") == .notices([.finished, .renamed]))
        #expect(try WatchEvents(words: "directory-vanished") == .notices([.directoryVanished]))
        #expect(try WatchEvents(words: "all") == .raw(InotifyMask(rawValue: 0xFFF)))
        #expect(try WatchEvents(words: "CLOSE_WRITE,moved_to") == .raw([.closedAfterWriting, .movedTo]))
    }

    @Test func readsPatternsAsTheConfigurationDoes() throws {
        let patterns = try excludePatterns(["*.tmp", "raw/*.xmp"])
        #expect(patterns.map(\.pattern) == ["*.tmp", "raw/*.xmp"])
        #expect(patterns[1].matches("raw/a.xmp") && !patterns[1].matches("x/raw/a.xmp"))
        #expect(try excludePatterns([]).isEmpty)
    }

    @Test(arguments: [
        Array("plain".utf8), Array("with spaces \n\t\\x41".utf8), [0xFF], Array("é".utf8) + [0xC3],
        Array("\u{10FFFF}mark".utf8), Array("--".utf8), [],
    ]) func carriesArgumentsByteForByte(_ bytes: [UInt8]) throws {
        let argument = RawArgument(argument: RawArgument.carried(bytes))
        #expect(argument?.path.bytes == bytes)
    }

    @Test func readsMoments() {
        #expect(SinceText("2h")?.moment(now: 10_000) == 2800)
        #expect(SinceText("90s")?.moment(now: 100) == 10)
        #expect(SinceText("1w")?.moment(now: 0) == -604_800)
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

    @Test func readsIdentifiers() {
        #expect(ShowCommand.Subject("8841") == .operation(8841))
        #expect(ShowCommand.Subject("photo:12") == .photo(12))
        let hash = String(repeating: "0a", count: 32)
        #expect(ShowCommand.Subject(hash) == .content(Array(repeating: 10, count: 32)))
        for text in ["", "0", "-1", "photo:", "photo:x", "abc", String(repeating: "+a", count: 32), hash + "0"] {
            #expect(ShowCommand.Subject(text) == nil, "\(text)")
        }
    }

    @Test func endsWithDocumentedStatus() {
        let status = { (end: WatchEnd, told: Int, limit: Int?, incomplete: Bool) in
            WatchReport.status(of: end, told: told, limit: limit, isIncomplete: incomplete)
        }
        #expect(status(.signalled, 0, nil, false) == .ok)
        #expect(status(.readerClosed, 3, nil, true) == .someLeft)
        #expect(status(.counted, 3, 3, false) == .ok)
        #expect(status(.timedOut, 0, nil, true) == .noMatch)
        #expect(status(.timedOut, 2, 3, false) == .someLeft)
        #expect(status(.timedOut, 2, nil, false) == .ok)
        #expect(status(.outputFailed(.noSpace), 2, nil, false) == .failed)
    }
}
