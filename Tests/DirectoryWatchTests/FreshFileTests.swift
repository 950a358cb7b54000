import FileValues
import LinuxKernel
import Testing

@testable import DirectoryWatch
@testable import WatchCore

@Suite("A file that was made a moment ago")
struct FreshFileTests {
    private static let watch: Int32 = 1

    /// A core whose root was adopted and listed, and is empty.
    private func watching() throws -> TreeCore {
        var core = TreeCore(roots: ["inbox"])
        core.start(ticket: nil)
        core.take(
            .adopted(RootIdentity(fileSystem: FileSystem(type: 0xEF53, identifier: 1), inode: 7)), root: 0, epoch: 0)
        core.flush()
        let survey = try #require(
            core.output.work.lazy.compactMap { work -> UInt32? in
                if case .survey(let survey) = work.request { survey.id } else { nil }
            }.first)
        var findings = Findings()
        Array("".utf8).withUnsafeBytes {
            findings.add(directory: $0, at: 0, parent: -1, .listed(inode: 7, watch: Self.watch))
        }
        core.take(.surveyed(id: survey, findings: findings, isComplete: true), root: 0, epoch: 0)
        core.flush()
        core.output = TreeCore.Output()
        return core
    }

    /// The names that are looked at after a turn with these events.
    private func looks(_ core: inout TreeCore, after events: [(InotifyMask, BytePath)] = []) -> [BytePath] {
        for (mask, name) in events {
            core.take(EventRecord(watch: Self.watch, mask: mask, cookie: 0, name: name))
        }
        core.flush()
        defer { core.output = TreeCore.Output() }
        return core.output.work.flatMap { work -> [BytePath] in
            if case .look(let look) = work.request { look.items.map(look.name) } else { [] }
        }
    }

    @Test("Is looked at when it is closed, once")
    func closed() throws {
        var core = try watching()
        #expect(looks(&core, after: [(.created, "a")]) == [])
        #expect(core.isHolding)
        #expect(looks(&core, after: [(.closedAfterWriting, "a")]) == ["a"])
        #expect(!core.isHolding)
    }

    @Test("Is looked at in a moment where it stays open")
    func open() throws {
        var core = try watching()
        #expect(looks(&core, after: [(.created, "a")]) == [])
        core.age()
        #expect(looks(&core) == [])
        core.age()
        #expect(looks(&core) == ["a"])
        #expect(!core.isHolding)
    }

    @Test("Is forgotten where it is deleted at once")
    func deleted() throws {
        var core = try watching()
        #expect(looks(&core, after: [(.created, "a"), (.deleted, "a")]) == [])
        #expect(!core.isHolding)
    }

    @Test("Is looked at before its directory is listed again, so that the listing cannot take it for finished")
    func listed() throws {
        var core = try watching()
        #expect(looks(&core, after: [(.created, "a")]) == [])
        core.reconcile(0, ticket: nil)
        // Two turns: a comparison begins at the end of one.
        #expect(looks(&core) + looks(&core) == ["a"])
    }
}
