package import FileValues
package import LinuxKernel
package import PhotoModel

/// Why a proven arrival does not go alone, and for what it waits.
package struct SetExpectations: Hashable, Sendable {
    /// Files that lie beside it and seem to belong to it, relative to the inbox.
    package var inSight: Set<BytePath> = []
    /// What is missing although nothing of it is in sight.
    package var roles: SetRoles = []
    /// Others that seem to belong to it are in hand.
    package var company = false

    package init(inSight: Set<BytePath> = [], roles: SetRoles = [], company: Bool = false) {
        self.inSight = inSight
        self.roles = roles
        self.company = company
    }

    /// Whether nothing suggests a partner.
    package var isEmpty: Bool { inSight.isEmpty && roles.isEmpty && !company }
}

/// A proven arrival that goes to its set.
package struct SetCandidate: Hashable, Sendable {
    package var traits: SetTraits
    package var hopes: SetExpectations
    /// Seconds to wait for others after this one's proof.
    package var wait: Double

    package init(traits: SetTraits, hopes: SetExpectations, wait: Double) {
        self.traits = traits
        self.hopes = hopes
        self.wait = wait
    }
}

/// The sets that are being gathered, in all inboxes: a value without clock or I/O.
///
/// A set is ready when all that was hoped for is there, or when its wait is over, ``SetCandidate/wait`` after the last
/// member's proof; and nothing of it is still in work. Its whole waiting is bounded by ``longestWait``: who comes later is
/// put beside it.
package struct SetAssembly: Sendable {
    /// Seconds. An upload that takes longer holds its set up no longer than this.
    package static let longestWait = 60.0

    private struct Member {
        let traits: SetTraits
        let hopes: SetExpectations
        let until: Moment
    }

    private struct Gathering {
        var members: [ArrivalKey: Member] = [:]
        var since: Moment
    }

    private enum Handle: Hashable {
        case name(String, SetKey)
        case content(String, String)
    }

    private var sets: [Int: Gathering] = [:]
    private var setOf: [ArrivalKey: Int] = [:]
    private var index: [Handle: Set<Int>] = [:]
    private var lastNumber = 0
    /// Sets of which something changed since they were last asked whether they are ready.
    private var touched: Set<Int> = []
    /// Sets that were asked to wait no longer.
    private var hurried: Set<Int> = []

    package init() {}

    /// How many sets are being gathered.
    package var count: Int { sets.count }

    /// Adds a member; the number of its set, and the end of its wait. Sets that it ties together become one.
    package mutating func add(_ key: ArrivalKey, _ candidate: SetCandidate, now: Moment) -> (set: Int, until: Moment) {
        remove(key)
        let until = now.later(by: candidate.wait)
        let handles = Self.handles(key.inbox, candidate.traits)
        let near = Set(handles.flatMap { index[$0] ?? [] }).sorted()
        let own = near.filter { number in
            sets[number]?.members.values.contains { SetRules.belong($0.traits, candidate.traits) } ?? false
        }
        let number: Int
        if let first = own.first {
            number = first
            for other in own.dropFirst() { merge(other, into: first) }
        } else {
            lastNumber += 1
            number = lastNumber
            sets[number] = Gathering(since: now)
        }
        sets[number]?.members[key] = Member(traits: candidate.traits, hopes: candidate.hopes, until: until)
        setOf[key] = number
        for handle in handles { index[handle, default: []].insert(number) }
        touched.insert(number)
        return (number, until)
    }

    /// No set waits with it any more: it changed, it is gone, or its work begins.
    package mutating func remove(_ key: ArrivalKey) {
        guard let number = setOf.removeValue(forKey: key), let member = sets[number]?.members.removeValue(forKey: key)
        else { return }
        let left = sets[number]?.members ?? [:]
        let stillThere = Set(left.flatMap { Self.handles($0.key.inbox, $0.value.traits) })
        for handle in Self.handles(key.inbox, member.traits) where !stillThere.contains(handle) {
            index[handle]?.remove(number)
            if index[handle]?.isEmpty == true { index[handle] = nil }
        }
        if left.isEmpty {
            sets[number] = nil
            touched.remove(number)
            hurried.remove(number)
        } else {
            touched.insert(number)
        }
    }

    /// Something of the sets under these keys is not in work any more, or is anew.
    package mutating func touch(inbox: String, _ keys: [SetKey]) {
        for key in keys { touched.formUnion(index[.name(inbox, key)] ?? []) }
    }

    /// Checks all whose time may have come again; if `all`, none waits any longer.
    package mutating func wake(now: Moment, all: Bool) {
        touched.formUnion(sets.filter { all || deadline(of: $0.value).monotonic <= now.monotonic }.keys)
        if all { hurried.formUnion(sets.keys) }
    }

    /// The members of one set of `inbox` that is ready, first come first; nil if there is none now.
    ///
    /// `isInWork` says whether something with one of these keys is being worked on.
    package mutating func nextReady(
        inbox: String, now: Moment, isInWork: ([SetKey]) -> Bool
    ) -> [ArrivalKey]? {
        for number in touched.sorted() {
            guard let set = sets[number] else {
                touched.remove(number)
                continue
            }
            guard set.members.first?.key.inbox == inbox else { continue }
            touched.remove(number)
            guard isReady(number, set, now: now, isInWork: isInWork) else { continue }
            let keys = set.members.keys.sorted { $0.path < $1.path }
            for key in keys { remove(key) }
            return keys
        }
        return nil
    }

    /// When the next set is to be asked again, as far as time decides.
    package func nextMoment(after now: Moment) -> Moment? {
        sets.values.map { set in
            let deadline = deadline(of: set)
            return deadline.monotonic > now.monotonic ? deadline : set.since.later(by: Self.longestWait)
        }.filter { $0.monotonic > now.monotonic }.min { $0.monotonic < $1.monotonic }
    }

    /// What the set of this arrival waits for, for people.
    package func words(for key: ArrivalKey) -> String {
        guard let number = setOf[key], let set = sets[number] else { return "waits for its set" }
        let (paths, roles) = missing(in: set)
        let names = paths.map(\.name.escaped).sorted().prefix(3)
        let others = set.members.count - 1
        let with = others == 0 ? "" : " (\(others) more \(others == 1 ? "is" : "are") here)"
        if !names.isEmpty { return "waits for \(names.joined(separator: ", ")), which lies beside it\(with)" }
        if roles == .photos { return "waits for its photo\(with)" }
        if !roles.isEmpty { return "waits for \(roles.words) of its set\(with)" }
        return "waits for the rest of its set\(with)"
    }

    // MARK: -

    private func isReady(
        _ number: Int, _ set: Gathering, now: Moment, isInWork: ([SetKey]) -> Bool
    ) -> Bool {
        if now.monotonic >= set.since.later(by: Self.longestWait).monotonic { return true }
        if isInWork(set.members.values.flatMap(\.traits.keys)) { return false }
        if now.monotonic >= deadline(of: set).monotonic || hurried.contains(number) { return true }
        let (paths, roles) = missing(in: set)
        return paths.isEmpty && roles.isEmpty
    }

    /// What was hoped for and is not there.
    private func missing(in set: Gathering) -> (paths: Set<BytePath>, roles: SetRoles) {
        let paths = Set(set.members.keys.map(\.path))
        var roles: SetRoles = []
        for member in set.members.values { roles.insert(SetRoles(member.traits.role)) }
        var missing: (paths: Set<BytePath>, roles: SetRoles) = ([], [])
        for member in set.members.values {
            missing.paths.formUnion(member.hopes.inSight.subtracting(paths))
            // A sidecar hopes for any photo: one will do.
            if member.hopes.roles == .photos {
                if roles.isDisjoint(with: .photos) { missing.roles = .photos }
            } else {
                missing.roles.formUnion(member.hopes.roles.subtracting(roles))
            }
        }
        return missing
    }

    private func deadline(of set: Gathering) -> Moment {
        set.members.values.map(\.until).max { $0.monotonic < $1.monotonic } ?? set.since
    }

    private mutating func merge(_ other: Int, into number: Int) {
        guard let gone = sets.removeValue(forKey: other) else { return }
        touched.remove(other)
        for (key, member) in gone.members {
            sets[number]?.members[key] = member
            setOf[key] = number
            for handle in Self.handles(key.inbox, member.traits) {
                index[handle]?.remove(other)
                index[handle, default: []].insert(number)
            }
        }
        if let since = sets[number]?.since, gone.since.monotonic < since.monotonic { sets[number]?.since = gone.since }
    }

    private static func handles(_ inbox: String, _ traits: SetTraits) -> [Handle] {
        traits.keys.map { .name(inbox, $0) } + (traits.contentIdentifier.map { [.content(inbox, $0)] } ?? [])
    }
}
