import Testing

@testable import SystemMonitor

/// Tests every event in every state of the machine.
@Suite("The state machine of the lifecycle")
struct LifecycleTests {
    enum Situation: String, CaseIterable, Sendable, Codable {
        case setUp, active, suspended, suspendedTwice, disabled, rateLimited, backlogged, suspendedAndDisabled, behind
        case invalidating, invalidated

        func reach() throws -> Lifecycle {
            var machine = Lifecycle()
            if self == .setUp { return machine }
            if self == .invalidating || self == .invalidated {
                _ = try machine.invalidate()
                if self == .invalidated { machine.sourceCancelled() }
                return machine
            }
            try machine.activate()
            switch self {
            case .suspended: _ = try machine.suspend()
            case .suspendedTwice:
                _ = try machine.suspend()
                _ = try machine.suspend()
            case .disabled: _ = machine.handlerFailed()
            case .rateLimited: _ = machine.rateLimitReached()
            case .backlogged: _ = machine.backlogGrew()
            case .suspendedAndDisabled:
                _ = try machine.suspend()
                _ = machine.handlerFailed()
            case .behind: _ = machine.consumerFellBehind()
            case .setUp, .active, .invalidating, .invalidated: break
            }
            return machine
        }
    }

    enum Event: String, CaseIterable, Sendable, Codable {
        case configure, use, activate, suspend, resume, reenable, invalidate, released, eventArrived
        case sourceCancelled, backlogGrew, backlogEmptied, rateLimitReached, rateLimitEnded, handlerFailed
        case consumerFellBehind, consumerCaughtUp

        /// The machine's answer.
        func send(to machine: inout Lifecycle) throws -> String {
            switch self {
            case .configure: try answer { try machine.configure() }
            case .use: try answer { try machine.use() }
            case .activate: try answer { try machine.activate() }
            case .suspend: "\(try machine.suspend())"
            case .resume: "\(try machine.resume())"
            case .reenable: "\(try machine.reenable())"
            case .invalidate: "\(try machine.invalidate())"
            case .released: try machine.released().map { "\($0)" } ?? "none"
            case .eventArrived: "\(machine.eventArrived())"
            case .sourceCancelled: try answer { machine.sourceCancelled() }
            case .backlogGrew: "\(machine.backlogGrew())"
            case .backlogEmptied: "\(machine.backlogEmptied())"
            case .rateLimitReached: "\(machine.rateLimitReached())"
            case .rateLimitEnded: "\(machine.rateLimitEnded())"
            case .handlerFailed: "\(machine.handlerFailed())"
            case .consumerFellBehind: "\(machine.consumerFellBehind())"
            case .consumerCaughtUp: "\(machine.consumerCaughtUp())"
            }
        }

        private func answer(_ body: () throws -> Void) throws -> String {
            try body()
            return "done"
        }
    }

    /// A row: the event; for each situation in the order of its cases the action or the rule, and the state after
    /// it if that differs. `impossible` traps.
    static let table: [(Event, [String])] = [
        (
            .configure,
            ["done"] + Array(repeating: "propertiesAreSetBeforeActivation", count: 8)
                + ["noUseAfterInvalidation", "noUseAfterInvalidation"]
        ),
        (.use, Array(repeating: "done", count: 9) + ["noUseAfterInvalidation", "noUseAfterInvalidation"]),
        (
            .activate,
            ["done → active"] + Array(repeating: "activatedOnce", count: 8)
                + ["noUseAfterInvalidation", "noUseAfterInvalidation"]
        ),
        (
            .suspend,
            [
                "onlyActiveOnesAreSuspended", "hold → suspended", "none", "none", "none → suspended",
                "none → suspended", "none → suspended", "none", "none", "noUseAfterInvalidation",
                "noUseAfterInvalidation",
            ]
        ),
        (
            .resume,
            [
                "resumeBalancesSuspend", "resumeBalancesSuspend", "release → active", "none", "resumeBalancesSuspend",
                "resumeBalancesSuspend", "resumeBalancesSuspend", "none → disabled", "resumeBalancesSuspend",
                "noUseAfterInvalidation", "noUseAfterInvalidation",
            ]
        ),
        (
            .reenable,
            [
                "onlyDisabledOnesAreReenabled", "onlyDisabledOnesAreReenabled", "onlyDisabledOnesAreReenabled",
                "onlyDisabledOnesAreReenabled", "release → active", "onlyDisabledOnesAreReenabled",
                "onlyDisabledOnesAreReenabled", "none", "onlyDisabledOnesAreReenabled", "noUseAfterInvalidation",
                "noUseAfterInvalidation",
            ]
        ),
        (
            .invalidate,
            ["abandon → invalidating", "cancel → invalidating"]
                + Array(repeating: "cancelAndRelease → invalidating", count: 7)
                + ["noUseAfterInvalidation", "noUseAfterInvalidation"]
        ),
        (
            .released,
            ["abandon → invalidating"] + Array(repeating: "invalidatedBeforeRelease", count: 8) + ["none", "none"]
        ),
        (
            .eventArrived,
            ["drop", "deliver", "keep", "keep", "keep", "keep", "keep", "keep", "keep", "drop", "drop"]
        ),
        (
            .sourceCancelled,
            Array(repeating: "impossible", count: 9) + ["done → invalidated", "impossible"]
        ),
        (
            .backlogGrew,
            [
                "impossible", "hold", "none", "none", "none", "none", "none", "none", "none", "impossible",
                "impossible",
            ]
        ),
        (
            .backlogEmptied,
            ["impossible", "none", "none", "none", "none", "none", "release", "none", "none", "none", "none"]
        ),
        (
            .rateLimitReached,
            [
                "impossible", "hold → rate limited", "none", "none", "none", "none", "none → rate limited", "none",
                "none → rate limited", "impossible", "impossible",
            ]
        ),
        (
            .rateLimitEnded,
            [
                "impossible", "none", "none", "none", "none", "release → active", "none", "none", "none", "none",
                "none",
            ]
        ),
        (
            .handlerFailed,
            [
                "impossible", "hold → disabled", "none", "none", "none", "none → disabled", "none → disabled", "none",
                "none → disabled", "none", "none",
            ]
        ),
        (
            .consumerFellBehind,
            [
                "impossible", "hold → suspended", "none", "none", "none", "none", "none → suspended", "none", "none",
                "impossible", "impossible",
            ]
        ),
        (
            .consumerCaughtUp,
            ["impossible"] + Array(repeating: "none", count: 7) + ["release → active", "none", "none"]
        ),
    ]

    @Test("The table has every event and every state")
    func isComplete() {
        #expect(Self.table.map(\.0) == Event.allCases)
        #expect(Self.table.allSatisfy { $0.1.count == Situation.allCases.count })
    }

    @Test("Each event returns its action and leads to its state", arguments: table)
    func answers(event: Event, row: [String]) throws {
        for (situation, expected) in zip(Situation.allCases, row) where expected != "impossible" {
            var machine = try situation.reach()
            let before = machine.summary
            var answer: String
            do {
                answer = try event.send(to: &machine)
            } catch let rule as LifecycleRule {
                answer = "\(rule)"
                #expect(machine.summary == before, "a broken rule changes nothing")
            }
            if machine.summary != before { answer += " → \(machine.summary.rawValue)" }
            #expect(answer == expected, "\(event) in \(situation)")
        }
    }

    @Test(
        "An event that is impossible in a state traps with a message",
        arguments: table.flatMap { event, row in
            zip(Situation.allCases, row).filter { $0.1 == "impossible" }.map { (event, $0.0) }
        })
    func impossible(event: Event, situation: Situation) async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [event, situation] in
            var machine = try situation.reach()
            _ = try event.send(to: &machine)
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.contains("the event \(event) cannot come in the state"))
    }

    @Test("Reasons to hold the source may begin and end in any order")
    func holdsAreBalanced() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            var machine = Lifecycle()
            try machine.activate()
            var isHeld = false
            func carryOut(_ action: Lifecycle.SourceAction) {
                switch action {
                case .none: break
                case .hold:
                    #expect(!isHeld)
                    isHeld = true
                case .release:
                    #expect(isHeld)
                    isHeld = false
                }
            }
            for _ in 0..<30 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0: carryOut(try machine.suspend())
                case 1: carryOut((try? machine.resume()) ?? .none)
                case 2: carryOut(machine.handlerFailed())
                case 3: carryOut((try? machine.reenable()) ?? .none)
                case 4: carryOut(machine.rateLimitReached())
                case 5: carryOut(machine.rateLimitEnded())
                case 6: carryOut(machine.backlogGrew())
                case 7: carryOut(machine.consumerFellBehind())
                case 8: carryOut(machine.consumerCaughtUp())
                default: carryOut(machine.backlogEmptied())
                }
                if machine.isOpen, machine.eventArrived() == .deliver { #expect(!isHeld) }
            }
            #expect((try machine.invalidate() == .cancelAndRelease) == isHeld)
        }
    }
}
