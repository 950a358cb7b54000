import PhotoModel
import Testing

@Suite("Rendition plans")
struct RenditionPlanTests {
    @Test("A rendition waits for those that it requires")
    func order() {
        var plan = RenditionPlan(wanted: RenditionKind.allCases)
        #expect(plan.ready == [.thumbnail, .preview])
        plan.began(.thumbnail)
        plan.began(.preview)
        #expect(plan.ready.isEmpty && !plan.isFinished)
        plan.made(.thumbnail)
        #expect(plan.ready == [.hash])
        plan.made(.preview)
        #expect(plan.ready == [.hash, .tiltShift, .googly])
        #expect(plan.progress == (2, 5))
        for kind in [RenditionKind.hash, .tiltShift, .googly] {
            plan.began(kind)
            plan.made(kind)
        }
        #expect(plan.isFinished && plan.progress == (5, 5))
    }

    @Test("A failed rendition blocks only those that require it")
    func failure() {
        var plan = RenditionPlan(wanted: RenditionKind.allCases)
        plan.began(.preview)
        plan.failed(.preview, reason: "no room")
        #expect(plan.states[.tiltShift] == .blocked(by: .preview) && plan.states[.googly] == .blocked(by: .preview))
        #expect(plan.reason(against: .tiltShift) == "there is no preview")
        #expect(plan.ready == [.thumbnail])
        plan.began(.thumbnail)
        plan.made(.thumbnail)
        plan.began(.hash)
        plan.made(.hash)
        #expect(plan.isFinished && plan.states[.hash] == .made)
    }

    @Test("Required renditions are made, too")
    func required() {
        var plan = RenditionPlan(wanted: [.hash])
        #expect(plan.ready == [.thumbnail])
        #expect(plan.states[.preview] == nil)
        plan = RenditionPlan(wanted: [.hash], present: [.hash])
        #expect(plan.isFinished && plan.states[.thumbnail] == nil)
        plan = RenditionPlan(wanted: [.hash], present: [.thumbnail])
        #expect(plan.ready == [.hash])
    }

    @Test("Renditions that failed before are not retried")
    func failedBefore() {
        let plan = RenditionPlan(wanted: RenditionKind.allCases, failed: [.thumbnail: "broken", .preview: "broken"])
        #expect(plan.isFinished)
        #expect(plan.states[.hash] == .blocked(by: .thumbnail) && plan.reason(against: .preview) == "broken")
        let one = RenditionPlan(wanted: [.googly], failed: [.googly: "no face"])
        #expect(one.isFinished && one.states[.preview] == nil)
    }

    @Test("Cancelling keeps those that are made")
    func cancelling() {
        var plan = RenditionPlan(wanted: RenditionKind.allCases, present: [.thumbnail])
        plan.began(.preview)
        plan.cancel(.preview)
        // Its end is still reported.
        plan.made(.preview)
        #expect(plan.states[.preview] == .cancelled && plan.states[.googly] == .blocked(by: .preview))
        #expect(plan.ready == [.hash])
        plan.cancelAll()
        #expect(plan.isFinished && plan.states[.thumbnail] == .made && plan.states[.hash] == .cancelled)
    }

    /// With renditions made, failed or cancelled in any order.
    @Test("Every order finishes, and none starts too early")
    func everyOrder() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2_000 {
            let wanted = RenditionKind.allCases.filter { _ in Bool.random(using: &random) }
            var plan = RenditionPlan(wanted: wanted)
            var steps = 0
            while !plan.isFinished {
                steps += 1
                #expect(steps < 40)
                let running = plan.states.filter { $0.value == .running }.map(\.key)
                if let kind = plan.ready.randomElement(using: &random), running.isEmpty || Bool.random(using: &random) {
                    #expect(kind.needs.allSatisfy { plan.states[$0] == .made })
                    plan.began(kind)
                } else if let kind = running.randomElement(using: &random) {
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0: plan.failed(kind, reason: "chance")
                    case 1: plan.cancel(kind)
                    default: plan.made(kind)
                    }
                }
            }
            for (kind, state) in plan.states {
                if case .blocked(let other) = state { #expect(kind.needs.contains(other)) }
                if state == .made { #expect(kind.needs.allSatisfy { plan.states[$0] == .made }) }
            }
            #expect(wanted.allSatisfy { plan.states[$0] != nil })
        }
    }

    @Test("Starting a rendition that is not ready traps")
    func notReady() async {
        await #expect(processExitsWith: .failure) {
            var plan = RenditionPlan(wanted: [.hash])
            plan.began(.hash)
        }
    }
}
