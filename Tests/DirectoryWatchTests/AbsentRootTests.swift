import FileValues
import LinuxKernel
import Testing

@testable import DirectoryWatch
@testable import WatchCore

@Suite("A root that was not there for a moment")
struct AbsentRootTests {
    @Test("Is no reason to wait for ever, and is surveyed again on the next tick")
    func surveyedAgain() throws {
        var core = TreeCore(roots: ["inbox"])
        core.start(ticket: nil)
        let identity = RootIdentity(fileSystem: FileSystem(type: 0xEF53, identifier: 1), inode: 7)
        core.take(.adopted(identity), root: 0, epoch: 0)
        core.flush()
        // It was found, and then its listing found nothing; a look at it finds it as it was.
        core.take(
            .surveyed(id: try #require(survey(in: core)), findings: absent(), isComplete: true), root: 0, epoch: 0)
        core.take(.checked, root: 0, epoch: 0)
        core.flush()
        #expect(core.roots[0].isLive)
        #expect(core.roots[0].hasBegun)
        core.output = TreeCore.Output()
        core.flush()
        #expect(survey(in: core) == nil)
        core.tick(isPaced: false)
        core.flush()
        #expect(survey(in: core) != nil)
    }

    private func survey(in core: TreeCore) -> UInt32? {
        for (_, _, request) in core.output.work { if case .survey(let survey) = request { return survey.id } }
        return nil
    }

    private func absent() -> Findings {
        var findings = Findings()
        Array("".utf8).withUnsafeBytes { findings.add(directory: $0, at: 0, parent: -1, .absent) }
        return findings
    }
}
