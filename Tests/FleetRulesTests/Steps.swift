import FleetRules

/// What can happen next in a world: a transaction, a look at the library, a link and an unlink are one step each, so a host
/// may stand between any two for as long as the others like.
struct Steps {
    private(set) var next: [(world: World, step: StaticString)] = []
    /// Whether a host, or who does an undo, has something to do.
    private(set) var isBusy = false
    /// A step that may never be taken.
    private(set) var violation: String?

    let scenario: Scenario
    private var world = World()
    private var catalogue: Catalogue { world.catalogue }

    init(_ scenario: Scenario) { self.scenario = scenario }

    mutating func take(from world: World) {
        self.world = world
        next.removeAll(keepingCapacity: true)
        isBusy = false
        for host in scenario.hosts.indices { takeHost(host) }
        if scenario.undoes { takeUndo() }
        isBusy = !next.isEmpty
        if scenario.adoptions > 0 { takeAdopter() }
        if scenario.goesBack { takeFailover() }
        guard world.crashes < scenario.crashes else { return }
        for host in scenario.hosts.indices where world.position(host) != .examine && world.position(host) != .done {
            add("crash") { world, scenario in
                world.crashes += 1
                world.forget(host, scenario)
            }
        }
    }

    private mutating func add(_ step: StaticString, _ change: (inout World, Scenario) -> Void) {
        var changed = world
        change(&changed, scenario)
        if changed != world { next.append((changed, step)) }
    }

    private func isBroken(_ rule: Scenario.Broken) -> Bool { scenario.broken == rule }

    // MARK: - Hosts

    private mutating func takeHost(_ host: Int) {
        let source = world.member(host)
        let content = scenario.content(source < host &* 2 ? host &* 2 : source)
        switch world.position(host) {
        case .examine: examine(host)
        case .done: if !isAtRest(host) { examine(host) }
        case .name: name(host, source, content, then: .name)
        case .nameAgain: name(host, source, content, then: .lookForCopy)
        case .commit: commit(host)
        case .retire:
            // What FLEET 3.5 tried: the row says first that the copy goes.
            add("retires the intent") { world, scenario in
                for source in scenario.sources[host]
                where world.catalogue.step(source) == .begun && world.catalogue.owner(source) == host {
                    world.catalogue.setStep(source, .retired)
                }
                world.go(host, .examine)
            }
        case .look: look(host, source, content)
        case .echo, .lateEcho:
            let next: Position = world.position(host) == .lateEcho ? .close : .remove
            add("writes the echo") { world, _ in
                world.setEcho(source, world.believed(source))
                world.go(host, next, source)
            }
        case .remove: removeSource(host, source, content, then: isBroken(.echoAfterSource) ? .lateEcho : .close)
        case .close:
            add("closes the intent") { world, _ in
                if world.catalogue.step(source) == .recorded, world.catalogue.owner(source) == host {
                    world.catalogue.close(source)
                }
                world.setBelieved(source, 0)
                world.go(host, .examine)
            }
        case .lookForCopy: lookForCopy(host, source, content)
        case .readOther: readOther(host, source, content)
        case .replace: replace(host, source, content)
        case .unlink:
            add("removes its copy") { world, _ in
                if world.file(world.believed(source)) == content &+ 1 { world.removeFile(world.believed(source)) }
                world.go(host, .forgetLost, source)
            }
        case .forgetBegun: forget(host, source, .begun)
        case .forgetLost: forget(host, source, world.catalogue.step(source) == .retired ? .retired : .lost)
        case .forgetRecorded: forget(host, source, .recorded)
        case .duplicate, .recordDuplicate, .insertDuplicate, .echoDuplicate, .removeDuplicate, .closeDuplicate:
            setAside(host, source, content)
        }
    }

    private func isAtRest(_ host: Int) -> Bool {
        for source in scenario.sources[host] {
            if world.hasSource(source) || catalogue.step(source) != .none || catalogue.duplicate(source) != 0 {
                return false
            }
            if world.hasFailed, world.echo(source) != 0, catalogue.photo(scenario.content(source)) != world.echo(source)
            {
                return false
            }
        }
        return !lacksSet(host)
    }

    /// Whether the catalogue went back behind a set of echoes.
    private func lacksSet(_ host: Int) -> Bool {
        guard world.hasFailed, !isBroken(.echoHasNoSet), scenario.sources[host].allSatisfy({ world.echo($0) != 0 })
        else { return false }
        let live = scenario.hosts[host].filter { catalogue.photo($0) != 0 }
        return live.count > 1 && live.contains { catalogue.set($0) == 0 }
    }

    /// What is first to be done: what is open, then what was acknowledged and is gone, then what lies in the inbox.
    private mutating func examine(_ host: Int) {
        let sources = scenario.sources[host]
        let open = sources.filter { catalogue.step($0) != .none }
        if open.contains(where: { catalogue.owner($0) != host }) {
            return add("takes its intents back") { world, scenario in
                for source in open { world.catalogue.setOwner(source, host) }
                world.go(host, .examine)
            }
        }
        if !open.isEmpty { return recover(host, open) }
        for source in sources where catalogue.duplicate(source) != 0 {
            return add("looks at a row of a duplicate") { world, scenario in
                let photo = world.catalogue.duplicate(source)
                if world.hasSource(source), world.catalogue.number(scenario.content(source)) == photo {
                    world.setOther(source, photo)
                    world.go(host, .duplicate, source)
                } else {
                    world.catalogue.setDuplicate(source, 0)
                }
            }
        }
        let named = sources.filter { world.believed($0) != 0 }
        if !named.isEmpty { return recoverCopies(host, named) }
        if world.hasFailed {
            let lacking = sources.filter { source in
                world.echo(source) != 0 && catalogue.photo(scenario.content(source)) != world.echo(source)
            }
            if !lacking.isEmpty, assertEchoes(host, lacking) { return }
        }
        if lacksSet(host) {
            return add("asserts its set") { world, scenario in world.joinSet(of: host, scenario) }
        }
        let standing = sources.filter { world.hasSource($0) }
        if standing.isEmpty { return add("is done") { world, _ in world.go(host, .done) } }
        let new = standing.filter { source in
            let photo = catalogue.number(scenario.content(source))
            if photo == 0 || photo == world.other(source) { return true }
            return isBroken(.supersedesByPlace) && (photo ^ world.other(source)) & 7 == 0
        }
        if !new.isEmpty { return begin(host, new) }
        add("finds it recorded") { world, scenario in
            world.setOther(standing[0], world.catalogue.number(scenario.content(standing[0])))
            world.go(host, .duplicate, standing[0])
        }
    }

    private func holder(of content: Int, but host: Int) -> Int? {
        for sources in scenario.sources {
            for source in sources
            where source / 2 != host && catalogue.step(source) == .begun && scenario.content(source) == content {
                return source
            }
        }
        return nil
    }

    private func mayUse(_ use: PhotoUse, _ content: Int, _ own: Int) -> Bool {
        if catalogue.isUndoing(content), !use.mayBegin(beside: .undo), !isBroken(.undoLooksFirst) {
            return use == .supersession && isBroken(.supersedesBesideUndo)
        }
        for source in scenario.sources.joined() where source != own && scenario.content(source) == content {
            if catalogue.duplicate(source) != 0, !use.mayBegin(beside: .duplicate) { return false }
            if catalogue.step(source) == .recorded, !use.mayBegin(beside: .finishing),
                !isBroken(.undoIgnoresOpenIntents)
            {
                return false
            }
            if catalogue.step(source) == .begun, catalogue.supersedes(source) != 0,
                !use.mayBegin(beside: .supersession), use != .undo || !isBroken(.undoBesideSupersession)
            {
                return false
            }
        }
        return true
    }

    private mutating func begin(_ host: Int, _ sources: [Int]) {
        var held = false
        for source in sources {
            let content = scenario.content(source)
            if holder(of: content, but: host) != nil { held = true }
            if catalogue.photo(content) != 0, !mayUse(.supersession, content, source) { return }
        }
        // Whether a lease is over is for the catalogue's clock to say: here, always both.
        let answer: FilingRules.BeginAnswer = held ? .beingFiled(leaseIsOver: true) : .begun
        guard FilingRules.next(after: answer, isInGrace: false) != .waitForOther else { return }
        let deletes = isBroken(.takeoverDeletes)
        let reserves = !isBroken(.retiresUnreserved)
        add(held ? "takes over and begins" : "begins") { world, scenario in
            for source in sources {
                let content = scenario.content(source)
                world.takeOver(content, host, scenario, deletes: deletes)
                let supersedes = world.catalogue.number(content)
                let place = world.freePlace(from: scenario.base[content], host, scenario, reserves: reserves)
                world.catalogue.begin(source, .begun, at: place, owner: host, supersedes: supersedes)
                world.setBelieved(source, place)
                world.setOther(source, 0)
            }
            world.go(host, .name, sources[0])
        }
    }

    private mutating func name(_ host: Int, _ source: Int, _ content: Int, then position: Position) {
        let place = world.believed(source)
        let isEqual = world.file(place) == content &+ 1 && isBroken(.withdrawsEqualFile)
        let answer: FilingRules.NameAnswer = world.file(place) == 0 || isEqual ? .named : .taken
        let reserves = !isBroken(.retiresUnreserved)
        switch FilingRules.next(after: answer) {
        case .goOn:
            add("names the copy") { world, scenario in
                world.setFile(place, content)
                world.goOn(host, after: source, position, .commit, scenario)
            }
        case .tryNextName:
            add("takes the next name") { world, scenario in
                let next = world.freePlace(from: place &+ 1, host, scenario, reserves: reserves)
                if world.catalogue.step(source) == .begun, world.catalogue.owner(source) == host,
                    world.catalogue.place(source) == place, next != place
                {
                    world.catalogue.setPlace(source, next)
                    world.setBelieved(source, next)
                } else {
                    world.go(host, .examine)
                }
            }
        case .recover: add("recovers") { world, _ in world.go(host, .examine) }
        }
    }

    private mutating func commit(_ host: Int) {
        if isBroken(.retiresThenUnlinks) || isBroken(.retiresUnreserved) {
            add("gives up before the commit") { world, _ in world.go(host, .retire) }
        }
        let open = scenario.sources[host].filter { catalogue.step($0) != .none }
        var answer = FilingRules.CommitAnswer.recorded
        if open.isEmpty { answer = .noRow }
        for source in open {
            let place = catalogue.place(source)
            if catalogue.step(source) != .begun || catalogue.owner(source) != host || place != world.believed(source) {
                answer = .noRow
            }
            let photo = catalogue.number(scenario.content(source))
            if photo != 0, photo != catalogue.supersedes(source) { answer = .noRow }
            for other in scenario.contents
            where catalogue.photo(other) == place && !mayUse(.supersession, other, source) {
                answer = .noRow
            }
        }
        switch FilingRules.next(after: answer) {
        case .finish:
            add("commits") { world, scenario in
                world.record(open, scenario)
                world.go(host, .look, open[0])
            }
            add("commits, and gets no answer") { world, scenario in
                world.record(open, scenario)
                world.go(host, .examine)
            }
        case .recover:
            if isBroken(.withdrawsWhileSourceStands) || isBroken(.withdrawsEqualFile),
                let source = scenario.sources[host].first(where: { world.believed($0) != 0 && world.hasSource($0) })
            {
                return add("withdraws its copy") { world, _ in world.go(host, .unlink, source) }
            }
            add("is refused") { world, _ in world.go(host, .examine) }
        }
    }

    private mutating func look(_ host: Int, _ source: Int, _ content: Int) {
        let step = FilingRules.finish(
            copy: standing(world.believed(source), content), keepsEchoes: scenario.goesBack,
            isEchoed: world.echo(source) == world.believed(source), hasSource: world.hasSource(source))
        let isLate = isBroken(.echoAfterSource)
        add("looks at the photo") { world, _ in
            switch step {
            case .writeEcho: world.go(host, isLate ? .remove : .echo, source)
            case .removeSource: world.go(host, .remove, source)
            case .closeIntent: world.go(host, .close, source)
            case .fileAgain: world.go(host, .forgetRecorded, source)
            }
        }
    }

    private func standing(_ place: Int, _ content: Int) -> Standing {
        let file = world.file(place)
        return file == 0 ? .nothing : file == content &+ 1 ? .whole : .other
    }

    /// I2: its photo stands, at the moment when the source goes.
    private mutating func removeSource(_ host: Int, _ source: Int, _ content: Int, then position: Position) {
        let photo = catalogue.photo(content)
        if !world.hasFailed, world.hasSource(source), photo == 0 || world.file(photo) != content &+ 1 {
            violation = "I2: source \(source) goes, and its photo is not there"
        }
        add("removes the source") { world, _ in
            world.setSource(source, false)
            world.go(host, position, source)
        }
    }

    // MARK: - Recovery

    private mutating func recover(_ host: Int, _ open: [Int]) {
        if let source = open.first(where: { catalogue.step($0) == .retired }) {
            return add("goes on with what it retired") { world, _ in
                world.setBelieved(source, world.catalogue.place(source))
                world.go(host, .unlink, source)
            }
        }
        let source = IntentRules.order.compactMap { step in open.first { ruleStep($0) == step } }.first ?? open[0]
        let content = scenario.content(source)
        let place = catalogue.place(source)
        switch ruleStep(source) {
        case .recorded:
            add("goes on after its commit") { world, _ in
                world.setBelieved(source, place)
                world.go(host, .look, source)
            }
        case .begun:
            add("goes on with its intents") { world, scenario in
                for source in open where world.catalogue.step(source) == .begun {
                    world.setBelieved(source, world.catalogue.place(source))
                }
                world.go(host, .lookForCopy, source)
            }
        case .lost: recoverLost(host, source, content, place)
        }
    }

    private mutating func recoverLost(_ host: Int, _ source: Int, _ content: Int, _ place: Int) {
        switch IntentRules.next(
            recorded: recorded(content, from: place),
            begunByOther: holder(of: content, but: host) == nil ? .no : .yes(leaseIsOver: true))
        {
        case .waitForOther: break
        case .takeOver, .beginAgain:
            add("begins the lost one again") { world, scenario in
                world.takeOver(content, host, scenario, deletes: false)
                world.catalogue.setStep(source, .begun)
            }
        case .readOther:
            add("goes to read the other copy") { world, _ in
                world.setBelieved(source, place)
                world.setOther(source, world.catalogue.number(content))
                world.go(host, .readOther, source)
            }
        case .becomeRecorded:
            add("finds its copy recorded") { world, _ in world.catalogue.setStep(source, .recorded) }
        }
    }

    private func ruleStep(_ source: Int) -> IntentStep {
        switch catalogue.step(source) {
        case .begun: .begun
        case .recorded: .recorded
        case .none, .lost, .retired: .lost
        }
    }

    private func recorded(_ content: Int, from place: Int) -> RecordedPlace {
        let photo = catalogue.photo(content)
        return photo == 0 ? .nowhere : photo == place ? .here : .elsewhere
    }

    private mutating func lookForCopy(_ host: Int, _ source: Int, _ content: Int) {
        switch RecoveryRules.next(
            afterLookingForCopy: standing(world.believed(source), content), hasSource: world.hasSource(source))
        {
        case .commit:
            add("finds its copy") { world, scenario in
                world.goOn(host, after: source, .lookForCopy, .commit, scenario)
            }
        case .copyAgain: add("finds no copy") { world, _ in world.go(host, .nameAgain, source) }
        case .closeIntent:
            add("finds neither copy nor source") { world, _ in
                if world.echo(source) == world.believed(source) { world.setEcho(source, 0) }
                world.go(host, .forgetBegun, source)
            }
        }
    }

    private mutating func readOther(_ host: Int, _ source: Int, _ content: Int) {
        let other = standing(Catalogue.place(ofPhoto: world.other(source)), content)
        let isRemovable = RemovalRule.mayRemove(isOwn: true, recorded: .elsewhere, other: other)
        add("reads the other copy") { world, _ in
            let place = Catalogue.place(ofPhoto: world.other(source))
            switch RecoveryRules.next(afterReadingOther: other) {
            case .removeCopy where isRemovable:
                if world.echo(source) == world.believed(source) { world.setEcho(source, place) }
                world.go(host, .unlink, source)
            case .removeCopy: world.go(host, .examine)
            case .supersede: world.go(host, .replace, source)
            }
        }
    }

    private mutating func replace(_ host: Int, _ source: Int, _ content: Int) {
        let isFree = mayUse(.supersession, content, source) && holder(of: content, but: host) == nil
        if isBroken(.lostWaitsForMissing) { return }
        add("begins again, to supersede") { world, _ in
            if isFree, world.catalogue.step(source) == .lost, world.catalogue.owner(source) == host,
                world.catalogue.number(content) == world.other(source)
            {
                world.catalogue.setStep(source, .begun)
                world.catalogue.setSupersedes(source, world.other(source))
            }
            world.setOther(source, 0)
            world.go(host, .examine)
        }
    }

    private mutating func forget(_ host: Int, _ source: Int, _ step: Catalogue.Step) {
        add("closes the intent") { world, _ in
            if world.catalogue.step(source) == step, world.catalogue.owner(source) == host,
                world.catalogue.place(source) == world.believed(source)
            {
                world.catalogue.close(source)
            }
            world.setBelieved(source, 0)
            world.setOther(source, 0)
            world.go(host, .examine)
        }
    }

    /// It named copies, or may have, and their rows are gone: those of a set get rows again together.
    private mutating func recoverCopies(_ host: Int, _ sources: [Int]) {
        var lost: [Int] = []
        for source in sources {
            let place = world.believed(source)
            switch EchoRules.next(
                forCopyWithoutIntent: recorded(scenario.content(source), from: place),
                placeIsClaimed: world.isClaimed(place, scenario))
            {
            case .keep: break
            case .waitForOther: if !isBroken(.forgetsCopyOfClaimedPlace) { return }
            case .assertAgain, .giveUpCopy: lost.append(source)
            }
        }
        add("finds no row of its copy") { world, _ in
            for source in lost {
                world.catalogue.begin(source, .lost, at: world.believed(source), owner: host)
            }
            for source in sources { world.setBelieved(source, 0) }
            world.go(host, .examine)
        }
    }

    /// Returns false if all of them are recorded, or somebody else comes first.
    private mutating func assertEchoes(_ host: Int, _ sources: [Int]) -> Bool {
        var rows: [(source: Int, step: Catalogue.Step)] = []
        for source in sources {
            let content = scenario.content(source)
            let place = world.echo(source)
            let isBegun = scenario.sources.joined().contains {
                catalogue.step($0) == .begun && scenario.content($0) == content
            }
            switch EchoRules.next(
                recorded: recorded(content, from: place), isBegun: isBegun,
                placeIsClaimed: world.isClaimed(place, scenario))
            {
            case .keep: break
            case .waitForOther: return false
            case .assertAgain: rows.append((source, .begun))
            case .giveUpCopy: rows.append((source, .lost))
            }
        }
        add("asserts its echoes") { world, _ in
            for row in rows { world.catalogue.begin(row.source, row.step, at: world.echo(row.source), owner: host) }
            world.go(host, .examine)
        }
        return !rows.isEmpty
    }

    // MARK: - Duplicates and undo

    private mutating func setAside(_ host: Int, _ source: Int, _ content: Int) {
        let photo = world.other(source)
        let place = Catalogue.place(ofPhoto: photo)
        let keepsEchoes = scenario.goesBack
        let looksFirst = isBroken(.undoLooksFirst)
        switch world.position(host) {
        case .duplicate:
            let isWhole = standing(place, content) == .whole
            add("compares the photo") { world, _ in
                world.go(host, isWhole ? .recordDuplicate : .examine, isWhole ? source : 0)
            }
        case .recordDuplicate:
            let mayRecord =
                catalogue.number(content) == photo && mayUse(.duplicate, content, source)
            // While another use of the photo stands, it waits, and forgets what it read.
            add("records the duplicate") { world, _ in
                if mayRecord, !looksFirst { world.catalogue.setDuplicate(source, photo) }
                if !mayRecord { world.setOther(source, 0) }
                world.go(
                    host,
                    !mayRecord
                        ? .examine : looksFirst ? .insertDuplicate : keepsEchoes ? .echoDuplicate : .removeDuplicate,
                    mayRecord ? source : 0)
            }
        case .insertDuplicate:
            add("writes the duplicate's row") { world, _ in
                world.catalogue.setDuplicate(source, photo)
                world.go(host, keepsEchoes ? .echoDuplicate : .removeDuplicate, source)
            }
        case .echoDuplicate:
            add("writes the echo") { world, _ in
                world.setEcho(source, place)
                world.go(host, .removeDuplicate, source)
            }
        case .removeDuplicate: removeSource(host, source, content, then: .closeDuplicate)
        default:
            add("ends the duplicate's row") { world, _ in
                world.catalogue.setDuplicate(source, 0)
                world.setOther(source, 0)
                world.go(host, .examine)
            }
        }
    }

    private mutating func takeUndo() {
        let place = catalogue.photo(0)
        switch world.undo {
        case .notAsked:
            guard place != 0, mayUse(.undo, 0, -1) else { break }
            let looksFirst = isBroken(.undoLooksFirst)
            add("undo begins") { world, _ in
                world.undo = looksFirst ? .checked : .begun
                world.catalogue.setUndoing(0, !looksFirst)
            }
        case .checked:
            add("undo writes its row") { world, _ in
                world.undo = .begun
                world.catalogue.setUndoing(0, true)
            }
        case .begun:
            if !catalogue.isUndoing(0) {
                // The catalogue went back behind the row.
                add("undo finds no row") { world, _ in world.undo = .done }
            } else if place != 0, world.file(place) == 1 {
                add("undo moves the file") { world, _ in
                    world.removeFile(place)
                    world.setReturned(0)
                    world.undoEcho = place
                }
            } else {
                add("undo ends") { world, _ in
                    world.catalogue.setPhoto(0, 0)
                    world.catalogue.setSet(0, 0)
                    world.catalogue.setUndoing(0, false)
                    world.undo = .done
                }
            }
        case .done:
            guard world.hasFailed, world.undoEcho != 0 else { break }
            let isAsserted =
                !isBroken(.undoHasNoEcho)
                && EchoRules.assertsUndo(
                    recorded: place == world.undoEcho ? .here : .elsewhere, copy: standing(world.undoEcho, 0))
            // Its row may be back as well: then it is recovered, as after a crash.
            guard isAsserted || catalogue.isUndoing(0) else { break }
            let isMissing = standing(place, 0) != .whole
            add("undo is asserted again") { world, _ in
                if isMissing { world.catalogue.setPhoto(0, 0) }
                world.catalogue.setUndoing(0, false)
            }
        }
    }

    // MARK: - Adopters, and a catalogue that goes back

    private mutating func takeAdopter() {
        let host = world.adopted
        let sources = scenario.sources[host]
        let open = sources.filter { catalogue.step($0) != .none }
        let isHeld = !open.isEmpty && open.allSatisfy { catalogue.owner($0) == Catalogue.adopter }
        switch world.adopter {
        case .idle:
            guard world.adoptions < scenario.adoptions else { return }
            for host in scenario.hosts.indices {
                let open = scenario.sources[host].filter { catalogue.step($0) != .none }
                guard !open.isEmpty, open.allSatisfy({ catalogue.step($0) == .begun && catalogue.owner($0) == host })
                else {
                    continue
                }
                add("an adopter takes the intents") { world, _ in
                    for source in open { world.catalogue.setOwner(source, Catalogue.adopter) }
                    world.adopter = .looks
                    world.adopted = host
                    world.adoptions += 1
                }
            }
        case .looks:
            let decision = AdoptionRules.next(
                for: open.map { source in
                    AdoptionRules.Member(
                        step: ruleStep(source), copy: standing(catalogue.place(source), scenario.content(source)),
                        recorded: adoptable(source) ? .nowhere : .elsewhere)
                })
            add("an adopter looks") { world, _ in
                world.adopter = decision == .record && isHeld ? .records : .givesBack
            }
        case .records:
            let mayRecord = isHeld && open.allSatisfy { catalogue.step($0) == .begun && adoptable($0) }
            add("an adopter records") { world, scenario in
                if mayRecord { world.record(open, scenario) }
                world.giveBack(host, scenario)
                world.adopter = .idle
                world.adopted = 0
            }
        case .givesBack:
            let closes = isBroken(.adopterClosesEmpty)
            add("an adopter gives back") { world, scenario in
                if closes {
                    for source in open where world.catalogue.owner(source) == Catalogue.adopter {
                        world.catalogue.close(source)
                    }
                }
                world.giveBack(host, scenario)
                world.adopter = .idle
                world.adopted = 0
            }
        }
    }

    /// Whether no photo is in the way of recording it: neither of its content, but for the one that it supersedes, nor of its place.
    private func adoptable(_ source: Int) -> Bool {
        let content = scenario.content(source)
        let photo = catalogue.number(content)
        if photo != 0, photo != catalogue.supersedes(source) { return false }
        for other in scenario.contents where catalogue.photo(other) == catalogue.place(source) { return false }
        return true
    }

    private mutating func takeFailover() {
        switch world.failover {
        case .no:
            add("the standby has it so") { world, _ in
                world.older = world.catalogue
                world.failover = .kept
            }
        case .kept:
            guard world.older != catalogue else { break }
            add("the catalogue goes back") { world, _ in
                world.catalogue = world.older
                world.older = Catalogue()
                world.failover = .done
            }
        case .done: break
        }
    }
}

// MARK: - What steps have in common

extension World {
    fileprivate mutating func forget(_ host: Int, _ scenario: Scenario) {
        for source in scenario.sources[host] {
            setBelieved(source, 0)
            setOther(source, 0)
        }
        go(host, .examine)
    }

    /// To the next of the set that is not done, or beyond.
    fileprivate mutating func goOn(
        _ host: Int, after source: Int, _ position: Position, _ end: Position, _ scenario: Scenario
    ) {
        for other in scenario.sources[host] where other > source && catalogue.step(other) != .none {
            return go(host, position, other)
        }
        go(host, end)
    }

    fileprivate mutating func takeOver(_ content: Int, _ host: Int, _ scenario: Scenario, deletes: Bool) {
        for sources in scenario.sources {
            for source in sources
            where source / 2 != host && catalogue.step(source) == .begun && scenario.content(source) == content {
                if deletes { catalogue.close(source) } else { catalogue.setStep(source, .lost) }
            }
        }
    }

    fileprivate func isClaimed(_ place: Int, _ scenario: Scenario) -> Bool {
        for sources in scenario.sources {
            for source in sources where catalogue.step(source) != .none && catalogue.place(source) == place {
                return true
            }
        }
        return false
    }

    /// The first place from this one that no row has; the last one, if all are taken.
    fileprivate func freePlace(from first: Int, _ host: Int, _ scenario: Scenario, reserves: Bool) -> Int {
        var place = first
        while place < scenario.places {
            var isTaken = false
            for content in scenario.contents where catalogue.photo(content) == place { isTaken = true }
            for sources in scenario.sources {
                for source in sources
                where catalogue.step(source) != .none && catalogue.step(source) != .recorded
                    && catalogue.place(source) == place
                {
                    if reserves || source / 2 == host { isTaken = true }
                }
            }
            if !isTaken { return place }
            place += 1
        }
        return min(place, scenario.places)
    }

    /// The commit: photos, and the step of their intents. A photo that had the place, or is superseded, is live no more.
    fileprivate mutating func record(_ sources: [Int], _ scenario: Scenario) {
        let host = sources[0] / 2
        var number = 0
        for content in scenario.hosts[host] where catalogue.photo(content) != 0 {
            if number == 0 { number = catalogue.set(content) == 0 ? content &+ 1 : catalogue.set(content) }
            catalogue.setSet(content, number)
        }
        if number == 0, sources.count > 1 { number = scenario.content(sources[0]) &+ 1 }
        for source in sources {
            let content = scenario.content(source)
            for other in scenario.contents where other != content && catalogue.photo(other) == catalogue.place(source) {
                catalogue.setPhoto(other, 0)
            }
            catalogue.setPhoto(content, catalogue.place(source))
            if number != 0 { catalogue.setSet(content, number) }
            catalogue.setStep(source, .recorded)
            catalogue.setOwner(source, host)
            catalogue.setSupersedes(source, 0)
        }
    }

    /// What was acknowledged to a host as one set, and is alone in the catalogue, comes together there.
    fileprivate mutating func joinSet(of host: Int, _ scenario: Scenario) {
        let live = scenario.hosts[host].filter { catalogue.photo($0) != 0 }
        guard live.count > 1 else { return }
        let number = live.map { catalogue.set($0) }.first { $0 != 0 } ?? live[0] &+ 1
        for content in live where catalogue.set(content) == 0 { catalogue.setSet(content, number) }
    }

    fileprivate mutating func giveBack(_ host: Int, _ scenario: Scenario) {
        for source in scenario.sources[host] where catalogue.owner(source) == Catalogue.adopter {
            catalogue.setOwner(source, host)
        }
    }
}
