import FileValues
import LinuxKernel
import Testing

@testable import DirectoryWatch
@testable import WatchCore

@Suite("A file that was made a moment ago")
struct NewFileTests {
    private static let watch: Int32 = 1

    /// A core whose root was adopted and listed, and is empty.
    private func watching() throws -> TreeCore {
        var core = TreeCore(roots: ["inbox"])
        core.start(ticket: nil)
        core.apply(
            .adopted(RootIdentity(fileSystem: FileSystem(type: 0xEF53, identifier: 1), inode: 7)), root: 0, epoch: 0)
        let survey = try #require(
            core.endTurn().work.lazy.compactMap { work -> UInt32? in
                if case .survey(let survey) = work.request { survey.id } else { nil }
            }.first)
        var findings = Findings()
        Array("".utf8).withUnsafeBytes {
            findings.add(directory: $0, at: 0, parent: -1, .listed(inode: 7, watch: Self.watch))
        }
        core.apply(.surveyed(id: survey, findings: findings, isComplete: true), root: 0, epoch: 0)
        _ = core.endTurn()
        return core
    }

    /// The names that are looked up after a turn with these events.
    private func lookups(_ core: inout TreeCore, after events: [(InotifyMask, BytePath)] = []) -> [BytePath] {
        for (mask, name) in events {
            core.apply(EventRecord(watch: Self.watch, mask: mask, cookie: 0, name: name))
        }
        return core.endTurn().work.flatMap { work -> [BytePath] in
            if case .lookUp(let lookup) = work.request { lookup.items.map(lookup.name) } else { [] }
        }
    }

    @Test("Is looked up once when it is closed")
    func closed() throws {
        var core = try watching()
        #expect(lookups(&core, after: [(.created, "a")]) == [])
        #expect(core.isWaiting)
        #expect(lookups(&core, after: [(.closedAfterWriting, "a")]) == ["a"])
        #expect(!core.isWaiting)
    }

    @Test("Is looked up in a moment if it stays open")
    func open() throws {
        var core = try watching()
        #expect(lookups(&core, after: [(.created, "a")]) == [])
        core.age()
        #expect(lookups(&core) == [])
        core.age()
        #expect(lookups(&core) == ["a"])
        #expect(!core.isWaiting)
    }

    @Test("Is not looked up if it is deleted at once")
    func deleted() throws {
        var core = try watching()
        #expect(lookups(&core, after: [(.created, "a"), (.deleted, "a")]) == [])
        #expect(!core.isWaiting)
    }

    @Test("Is looked up before its directory is listed again, so that the listing does not report it as finished")
    func listed() throws {
        var core = try watching()
        #expect(lookups(&core, after: [(.created, "a")]) == [])
        core.reconcile(0, ticket: nil)
        // Two turns: a comparison begins at the end of one.
        #expect(lookups(&core) + lookups(&core) == ["a"])
    }
}
