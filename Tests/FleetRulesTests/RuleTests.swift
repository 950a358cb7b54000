import FleetRules
import Foundation
import Testing

@Suite("Rules of a fleet, one by one", .timeLimit(.minutes(60)))
struct RuleTests {
    @Test("A copy is removed by who made it, and if another is recorded and stands")
    func removal() {
        #expect(RemovalRule.mayRemove(isOwn: true, recorded: .elsewhere, other: .whole))
        #expect(!RemovalRule.mayRemove(isOwn: false, recorded: .elsewhere, other: .whole))
        for other in [Standing.other, .nothing] {
            #expect(!RemovalRule.mayRemove(isOwn: true, recorded: .elsewhere, other: other))
        }
        for recorded in [RecordedPlace.nowhere, .here] {
            #expect(!RemovalRule.mayRemove(isOwn: true, recorded: recorded, other: .whole))
        }
    }

    @Test("Each rule of the module is one that the product calls")
    func called() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources")
        var (rules, code): (Set<String>, String) = ([], "")
        let all = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        for case let file as URL in all where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            guard file.path.contains("/Sources/FleetRules/") else {
                code += text
                continue
            }
            for rule in text.matches(of: #/(?:func|static let) (\w+)/#) { rules.insert(String(rule.output.1)) }
        }
        #expect(rules == ["mayBegin", "mayRemove", "next", "order"])
        for (rule, call) in [
            ("mayBegin", ".mayBegin(beside:"), ("mayRemove", "RemovalRule.mayRemove("), ("next", "IntentRules.next("),
            ("order", "IntentRules.order"),
        ] { #expect(code.contains(call), "\(rule)") }
    }

    @Test("Nobody takes over, adopts or names out of time")
    func times() {
        #expect(!GraceRules.isInGrace(since: nil, now: 100, lease: 30))
        #expect(GraceRules.isInGrace(since: 100, now: 159, lease: 30))
        #expect(!GraceRules.isInGrace(since: 100, now: 160, lease: 30))
        #expect(GraceRules.isInGrace(since: 100, now: 99, lease: 30))
        #expect(GraceRules.mayName(acknowledged: 100, now: 129, lease: 30))
        #expect(!GraceRules.mayName(acknowledged: 100, now: 130, lease: 30))
        #expect(!GraceRules.mayName(acknowledged: 100, now: 99, lease: 30))
        guard case .waitForOther = IntentRules.next(recorded: .nowhere, begunByOther: .yes(leaseIsOver: false)),
            case .waitForOther = FilingRules.next(after: .beingFiled(leaseIsOver: true), isInGrace: true)
        else {
            Issue.record("took over in the grace")
            return
        }
    }

    @Test("A server that is another, or older, and a host that is not wanted, are refused")
    func joining() {
        let known = JoiningRules.Server(isKnownCluster: true, timeline: 3, isForgotten: false, isThisMachine: true)
        #expect(JoiningRules.next(for: known, highestTimeline: 3) == .join)
        #expect(JoiningRules.next(for: known, highestTimeline: 2) == .joinAndAssertEchoes)
        #expect(JoiningRules.next(for: known, highestTimeline: 4) == .refuse(.olderTimeline))
        var server = known
        server.isThisMachine = false
        #expect(JoiningRules.next(for: server, highestTimeline: 3) == .refuse(.nameOfAnotherMachine))
        server.isForgotten = true
        #expect(JoiningRules.next(for: server, highestTimeline: 3) == .refuse(.forgotten))
        server.isKnownCluster = false
        #expect(JoiningRules.next(for: server, highestTimeline: 3) == .refuse(.anotherCluster))
    }

    @Test("Whichever of two uses of a photo comes second is refused, or neither is")
    func uses() {
        let all: [PhotoUse] = [.finishing, .duplicate, .undo, .supersession]
        for one in all { #expect(!one.mayBegin(beside: .undo) && !PhotoUse.undo.mayBegin(beside: one)) }
        #expect(
            !PhotoUse.duplicate.mayBegin(beside: .supersession) && !PhotoUse.supersession.mayBegin(beside: .duplicate))
        #expect(PhotoUse.duplicate.mayBegin(beside: .duplicate))
    }
}
