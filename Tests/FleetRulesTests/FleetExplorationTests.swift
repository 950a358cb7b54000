import FleetRules
import Testing

/// Everything that hosts can do in any order, from each scenario on. The bounds are such that a debug build is through within
/// half a minute on one processor.
@Suite("Rules of a fleet, in all orders", .timeLimit(.minutes(60)))
struct FleetExplorationTests {
    static let same = Scenario([[0], [0]])
    static let other = Scenario([[0], [1]])
    static let set = Scenario([[0, 1], [1]]).with { $0.base = [1, 3, 1] }
    static let undo = same.with { $0.undoes = true }
    static let missing = same.with { $0.missing = [0: 1] }
    static let back = same.with {
        $0.goesBack = true
        $0.crashes = 0
        $0.adoptions = 0
    }
    static let otherBack = back.with {
        $0.hosts = [[0], [1]]
        $0.crashes = 1
    }
    static let setBack = set.with {
        $0.goesBack = true
        $0.crashes = 0
        $0.adoptions = 0
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let scenario: Scenario
        /// What is violated, in scenarios of a broken rule.
        var violates = ""
        var testDescription: String { name }

        init(_ name: String, _ scenario: Scenario, _ change: (inout Scenario) -> Void = { _ in }) {
            self.name = name
            self.scenario = scenario.with(change)
        }

        init(_ name: String, _ broken: Scenario.Broken, _ scenario: Scenario, violates: String) {
            self.init(name, scenario) { $0.broken = broken }
            self.violates = violates
        }
    }

    static let scenarios = [
        Case("the same content on two hosts, two crashes, two adoptions", same) { ($0.crashes, $0.adoptions) = (2, 2) },
        Case("two contents of one name on two hosts, the same", other) { ($0.crashes, $0.adoptions) = (2, 2) },
        Case("the same on three hosts", Scenario([[0], [0], [0]])) { ($0.crashes, $0.adoptions) = (0, 0) },
        Case("two of three hosts with the same", Scenario([[0], [0], [1]])) { ($0.crashes, $0.adoptions) = (0, 0) },
        Case("a set of two, and one of it on another host", set),
        Case("two sets with one in common", Scenario([[0, 1], [1, 2]])) {
            $0.base = [1, 3, 5]
            ($0.places, $0.crashes) = (6, 0)
        },
        Case("an undo against a duplicate", undo),
        Case("an undo of what was filed before, against two duplicates", undo) { $0.filed = [0: 1] },
        Case("an undo of what is missing", undo) { $0.missing = [0: 1] },
        Case("an undo against another content of its name", other) { $0.undoes = true },
        Case("an undo of one of a set", set) {
            $0.undoes = true
            ($0.crashes, $0.adoptions) = (0, 0)
        },
        Case("a photo that is missing, on two hosts again", missing),
        Case("a photo that is missing, and another of its name", other) { $0.missing = [0: 1] },
        Case("one of a set is missing", set) {
            $0.missing = [1: 3]
            $0.crashes = 0
        },
        Case("the catalogue goes back, a crash", back) { $0.crashes = 1 },
        Case("the catalogue goes back", back),
        Case("the catalogue goes back, two contents of one name, a crash", otherBack),
        Case("the catalogue goes back, an undo", back) { $0.undoes = true },
        Case("the catalogue goes back, a photo is missing", back) { $0.missing = [0: 1] },
        Case("the catalogue goes back, a set", setBack),
    ]

    @Test("No order of steps breaks a rule", arguments: scenarios)
    func allOrders(one: Case) {
        let found = Exploration(one.scenario)
        print("\(one.name): \(found.states) states, \(found.quiescent) of them at rest")
        #expect(found.violation == nil, "\(found.way.joined(separator: ", "))")
        #expect(found.states > 1_000)
        #expect(found.quiescent > 0)
    }

    static let broken = [
        Case("withdraw while the source stands, same", .withdrawsWhileSourceStands, same, violates: "I5"),
        Case("withdraw while the source stands, other", .withdrawsWhileSourceStands, other, violates: "I5"),
        Case("equal file of another host, withdrawn", .withdrawsEqualFile, same, violates: "I5"),
        Case("retire, then unlink, unreserved", .retiresUnreserved, same, violates: "I5"),
        Case("retire, then unlink, the catalogue goes back", .retiresThenUnlinks, back, violates: "I1"),
        Case("the same, other", .retiresThenUnlinks, otherBack, violates: "I1"),
        Case("takeover deletes", .takeoverDeletes, same, violates: "I6: a stray"),
        Case("adopter closes where no file stands, same", .adopterClosesEmpty, same, violates: "I6: a stray"),
        Case("adopter closes where no file stands, other", .adopterClosesEmpty, other, violates: "I6: a stray"),
        Case("echo after the source", .echoAfterSource, otherBack, violates: "I6: content"),
        Case("undo and duplicate look first", .undoLooksFirst, undo.with { $0.filed = [0: 1] }, violates: "I2"),
        Case("undo of what is not finished", .undoIgnoresOpenIntents, undo, violates: "I2"),
        Case("filed again beside an undo", .supersedesBesideUndo, undo.with { $0.filed = [0: 1] }, violates: "I2"),
        Case(
            "undo beside its filing again", .undoBesideSupersession, undo.with { $0.missing = [0: 1] }, violates: "I2"),
        Case(
            "the same, and another of its name", .undoBesideSupersession,
            other.with { ($0.undoes, $0.missing) = (true, [0: 1]) }, violates: "I2"),
        Case("superseded by place", .supersedesByPlace, undo.with { $0.missing = [0: 1] }, violates: "I6: a stray"),
        Case("lost, and the record's file missing", .lostWaitsForMissing, missing, violates: "I6: source 0"),
        Case("undo without an echo", .undoHasNoEcho, back.with { $0.undoes = true }, violates: "I6: content 0"),
        Case("copy without a row, its place claimed", .forgetsCopyOfClaimedPlace, back, violates: "I6: a stray"),
        Case("echo without its set", .echoHasNoSet, setBack, violates: "I6: a set is torn"),
    ]

    @Test("Each broken rule is found", arguments: broken)
    func brokenRules(one: Case) {
        let found = Exploration(one.scenario)
        print("\(one.name): \(found.violation ?? "nothing") after \(found.way.count) steps, \(found.states) states")
        #expect(found.violation?.hasPrefix(one.violates) == true, "\(found.way.joined(separator: ", "))")
    }

    @Test(
        "To retire and then to unlink does no harm while places are reserved and the catalogue stays",
        arguments: [same, other])
    func retiring(scenario: Scenario) {
        let found = Exploration(scenario.with { $0.broken = .retiresThenUnlinks })
        #expect(found.violation == nil)
        #expect(found.quiescent > 0)
    }
}
