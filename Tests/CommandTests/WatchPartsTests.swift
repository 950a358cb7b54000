import FileValues
import LinuxKernel
import Testing

@testable import Watching
@testable import photoinbox

@Suite struct FoundEntriesTests {
    /// One record as the kernel writes it.
    private func record(_ watch: Int32, _ mask: InotifyMask, _ name: String, _ body: (InotifyRecord) -> Void) {
        var bytes: [UInt8] = []
        let padded = name.isEmpty ? 0 : (name.utf8.count + 16) / 16 * 16
        for number in [UInt32(bitPattern: watch), mask.rawValue, 0, UInt32(padded)] {
            withUnsafeBytes(of: number) { bytes += $0 }
        }
        bytes += Array(name.utf8) + Array(repeating: 0, count: padded - name.utf8.count)
        bytes.withUnsafeBytes { buffer in
            for record in InotifyRecords(buffer) {
                #expect(record.byteCount == bytes.count)
                body(record)
            }
        }
    }

    @Test func coversWhatWasQueuedBeforeTheListing() {
        var found = FoundEntries()
        found.insert("a", in: 7)
        found.insert("b", in: 7)
        found.endWalk(bytesAhead: 3 * 32 + 16)
        var covered: [Bool] = []
        record(7, [.created], "a") { covered.append(found.covers($0)) }
        // It left and came again.
        record(7, [.created], "a") { covered.append(found.covers($0)) }
        record(7, [.movedSelf], "") { covered.append(found.covers($0)) }
        record(8, [.created], "b") { covered.append(found.covers($0)) }
        // From here on, records are news.
        record(7, [.movedTo], "b") { covered.append(found.covers($0)) }
        #expect(covered == [true, false, false, false, false])
        #expect(found.isEmpty)
    }

    @Test func keepsNothingWhereNothingIsQueued() {
        var found = FoundEntries()
        found.insert("a", in: 7)
        found.endWalk(bytesAhead: 0)
        #expect(found.isEmpty)
    }
}

@Suite struct PathFilterTests {
    private func expression(_ pattern: BytePath, ignoringCase: Bool = false) throws -> RegularExpression {
        try RegularExpression(pattern, ignoringCase: ignoringCase)
    }

    @Test func matchesBytesAsRegexecDoes() throws {
        #expect(try expression("a{2,}|b$").matches("xaay"))
        #expect(try !expression("a{2,}|b$").matches("aba"))
        #expect(try expression("É", ignoringCase: true).matches("xÉ"))
        #expect(try expression("^IN/", ignoringCase: true).matches("in/a"))
        #expect(try expression(BytePath([0xFF])).matches(BytePath(Array("a".utf8) + [0xFF])))
        #expect(throws: RegularExpression.Mistake.self) { try expression("a(") }
    }

    @Test(arguments: [
        ("/cache/", true), ("^in/cache", true), ("cache", true), ("cache$", false), ("cache/$", false),
        ("^in/cache/?$", false), ("(x|cache/)", true), (#"\.cache"#, false), (#"cache/\B"#, false), ("other", false),
    ]) func prunesWhereEverythingBelowIsHidden(_ pattern: String, _ isPruned: Bool) throws {
        let filter = PathFilter(excluded: [try expression(BytePath(pattern))])
        #expect(filter.prunes("in/cache/", root: 3) == isPruned)
        // What is pruned is hidden, every entry of it.
        if isPruned { #expect(filter.hides("in/cache/deep/a", root: 3)) }
    }

    @Test func joinsItsRules() throws {
        var filter = PathFilter(
            excluded: [try expression("[.]tmp$")], included: [try expression("[.]jpg$")],
            excludedGlobs: try globs("--exclude-glob", ["raw/*"]), includedGlobs: try globs("--include-glob", ["*.png"])
        )
        filter.excludedTrees = ["in/old"]
        #expect(!filter.hides("in/a.jpg", root: 3) && !filter.hides("in/x/a.png", root: 3))
        #expect(filter.hides("in/a.gif", root: 3) && filter.hides("in/raw/a.jpg", root: 3))
        #expect(
            filter.prunes("in/old/", root: 3) && filter.prunes("in/raw/x/", root: 3) && !filter.prunes("in/", root: 3))
        let rule = try #require(filter.rule(for: "in"))
        #expect(rule("old", .directory) && !rule("new", .directory) && rule("new", .regular) && !rule("new", .unknown))
        #expect(PathFilter().isEmpty && PathFilter().rule(for: "in") == nil)
    }
}
