/// All states that a scenario can reach, breadth first.
struct Exploration {
    private(set) var states = 0
    private(set) var quiescent = 0
    /// The first violation, and the shortest way to it.
    private(set) var violation: String?
    private(set) var way: [String] = []

    init(_ scenario: Scenario, limit: Int = 2_000_000) {
        let start = scenario.start
        var known: Set<World> = [start]
        var order = [start]
        var origin: [(from: Int32, step: StaticString)] = [(-1, "start")]
        var steps = Steps(scenario)
        var index = 0
        while index < order.count, violation == nil, index < limit {
            let world = order[index]
            steps.take(from: world)
            for next in steps.next where known.insert(next.world).inserted {
                order.append(next.world)
                origin.append((Int32(index), next.step))
            }
            violation = steps.violation ?? Invariants.broken(in: world, scenario)
            if !steps.isBusy {
                quiescent += 1
                violation = violation ?? Invariants.brokenAtRest(in: world, scenario)
            }
            index += 1
        }
        states = index
        guard violation != nil else {
            if index < order.count { violation = "not all states were explored" }
            return
        }
        var at = Int32(index - 1)
        while at >= 0 {
            way.append("\(origin[Int(at)].step)")
            at = origin[Int(at)].from
        }
        way.reverse()
    }
}

/// What must hold: FLEET I1 to I6.
enum Invariants {
    static func broken(in world: World, _ scenario: Scenario) -> String? {
        let catalogue = world.catalogue
        for content in scenario.contents {
            let place = catalogue.photo(content)
            var exists = world.isReturned(content)
            for place in 1...scenario.places where world.file(place) == content &+ 1 { exists = true }
            for sources in scenario.sources {
                for source in sources where world.hasSource(source) && scenario.content(source) == content {
                    exists = true
                }
            }
            if !exists { return "I1: no copy of content \(content) exists" }
            if place == 0 { continue }
            for other in scenario.contents where other > content && catalogue.photo(other) == place {
                return "I3: two photos at place \(place)"
            }
            if world.file(place) != content &+ 1, !world.hasFailed, scenario.missing[content] != place,
                !catalogue.isUndoing(content)
            {
                return "I5: content \(content) is recorded, and its file is not there"
            }
        }
        return nil
    }

    static func brokenAtRest(in world: World, _ scenario: Scenario) -> String? {
        let catalogue = world.catalogue
        for source in scenario.sources.joined() {
            if world.hasSource(source) { return "I6: source \(source) stands" }
            if catalogue.step(source) != .none { return "I6: an intent of source \(source) is open" }
            if catalogue.duplicate(source) != 0 { return "I6: source \(source) is being set aside" }
        }
        for content in scenario.contents {
            let place = catalogue.photo(content)
            if place == 0 ? !world.isReturned(content) : world.file(place) != content &+ 1 {
                return "I6: content \(content) is not recorded where it stands"
            }
            if place == 0, world.undo != .done { return "I6: content \(content) was taken back by nobody" }
        }
        // A crash may forget a copy whose intent the catalogue has forgotten. After an undo a source may have two intents, for
        // which a world has no room.
        if world.hasFailed, scenario.crashes > 0 || scenario.undoes { return nil }
        for place in 1...scenario.places
        where world.file(place) != 0 && catalogue.photo(world.file(place) &- 1) != place {
            return "I6: a stray at place \(place)"
        }
        for contents in scenario.hosts where contents.count > 1 {
            let sets = contents.filter { catalogue.photo($0) != 0 }.map { catalogue.set($0) }
            if sets.count > 1, sets.contains(0) || Set(sets).count > 1 { return "I6: a set is torn" }
        }
        return nil
    }
}
