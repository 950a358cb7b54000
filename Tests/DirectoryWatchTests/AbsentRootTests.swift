import FileValues
import LinuxKernel
import Testing

@testable import DirectoryWatch
@testable import WatchCore

@Suite("A root that is absent for a moment while it is listed")
struct AbsentRootTests {
    @Test("The watch begins, and the root is surveyed again on the next tick")
    func surveyedAgain() throws {
        var core = TreeCore(roots: ["inbox"])
        core.start(ticket: nil)
        let identity = RootIdentity(fileSystem: FileSystem(type: 0xEF53, identifier: 1), inode: 7)
        core.apply(.adopted(identity), root: 0, epoch: 0)
        // It was opened, then its listing did not find it, and a check finds it unchanged.
        let id = try #require(survey(in: core.endTurn()))
        core.apply(.surveyed(id: id, findings: absent(), isComplete: true), root: 0, epoch: 0)
        core.apply(.checked, root: 0, epoch: 0)
        _ = core.endTurn()
        #expect(core.state.roots[0].isLive)
        #expect(core.state.roots[0].hasBegun)
        let idle = survey(in: core.endTurn())
        #expect(idle == nil)
        core.tick(isPaced: false)
        let ticked = survey(in: core.endTurn())
        #expect(ticked != nil)
    }

    private func survey(in output: Output) -> UInt32? {
        for (_, _, request) in output.work { if case .survey(let survey) = request { return survey.id } }
        return nil
    }

    private func absent() -> Findings {
        var findings = Findings()
        Array("".utf8).withUnsafeBytes { findings.add(directory: $0, at: 0, parent: -1, .absent) }
        return findings
    }
}
