import FileValues
import LinuxKernel

/// Which file systems are checked for cards, which are imported now, and how earlier imports ended. A value: no clock,
/// no thread, no I/O.
///
/// Mount tables may come late or twice, so each is compared with the cards that are known.
struct CardTable {
    /// What is to be done, in this order.
    enum Step: Hashable {
        case start(Int, CardMount, CardPlan)
        /// Nothing more is to be read of it.
        case stop(Int)
        /// Its status is not shown any longer.
        case forget(Int, CardMount)
    }

    enum Phase: Hashable {
        case waiting, running
        /// It is being stopped, and has not ended yet.
        case stopping
        case noCard
        /// Whether all of it was brought.
        case ended(isComplete: Bool)
    }

    struct Card: Hashable {
        let mount: CardMount
        var phase = Phase.waiting
        var isMounted = true
    }

    /// More at once would only wait for the inbox's disk; fewer, and one that hangs would hold up the others.
    static let mostAtOnce = 4
    /// So many cards that are gone are still shown.
    static let mostGone = 4

    private(set) var cards: [Int: Card] = [:]
    private var lastNumber = 0
    private var plan: CardPlan?
    private var table = MountTable([])
    private var isEnding = false

    /// Whether nothing is read of any card.
    var isIdle: Bool { !cards.values.contains { $0.phase == .running || $0.phase == .stopping } }

    /// A configuration came into force. What was not brought is tried again.
    mutating func adopt(_ next: CardPlan?) -> [Step] {
        if next == plan {
            for (number, card) in cards where card.phase == .ended(isComplete: false) && card.isMounted {
                cards[number]?.phase = .waiting
            }
            return begin()
        }
        plan = next
        var steps: [Step] = []
        for (number, card) in cards.sorted(by: { $0.key < $1.key }) {
            switch card.phase {
            case .running:
                cards[number]?.phase = .stopping
                steps.append(.stop(number))
            case .stopping: break
            case .waiting, .noCard, .ended:
                cards[number] = nil
                steps.append(.forget(number, card.mount))
            }
        }
        return steps + startWaiting()
    }

    /// The mount table as it is now.
    mutating func mounted(_ now: MountTable) -> [Step] {
        table = now
        return startWaiting()
    }

    /// One has ended. Whether it was pulled out is seen in the card: it is mounted no more.
    mutating func ended(_ number: Int, _ phase: Phase) -> [Step] {
        guard let card = cards[number] else { return [] }
        // Stopped because the configuration has changed: it is checked by the new one.
        let isAnew = card.phase == .stopping && card.isMounted
        if isAnew || (!card.isMounted && phase == .noCard) {
            cards[number] = nil
            return [.forget(number, card.mount)] + startWaiting()
        }
        cards[number]?.phase = phase
        return forgetOld() + startWaiting()
    }

    /// Nothing begins from now on.
    mutating func end() -> [Step] {
        isEnding = true
        return cards.filter { $0.value.phase == .running }.keys.sorted().map { number in
            cards[number]?.phase = .stopping
            return .stop(number)
        }
    }

    private mutating func startWaiting() -> [Step] {
        guard !isEnding else { return [] }
        let mounts = table.mounts.values.filter { plan?.mayBeCard($0) ?? false }.map { CardMount($0) }
        let all = Set(table.mounts.values.map { CardMount($0) })
        var steps: [Step] = []
        for (number, card) in cards.sorted(by: { $0.key < $1.key }) where card.isMounted && !all.contains(card.mount) {
            cards[number]?.isMounted = false
            switch card.phase {
            case .running:
                cards[number]?.phase = .stopping
                steps.append(.stop(number))
            case .waiting, .noCard:
                cards[number] = nil
                steps.append(.forget(number, card.mount))
            case .stopping, .ended: break
            }
        }
        for mount in mounts.sorted(by: { $0.identifier < $1.identifier }) {
            // The same file system, mounted at two places, is one card.
            let others = cards.values.filter { $0.isMounted && $0.mount.device == mount.device }
            guard others.isEmpty else { continue }
            lastNumber += 1
            cards[lastNumber] = Card(mount: mount)
        }
        return steps + forgetOld() + begin()
    }

    /// What is mounted again has its own line, and only the last few of those that are gone are kept.
    private mutating func forgetOld() -> [Step] {
        let gone = cards.filter { !$0.value.isMounted && $0.value.phase != .stopping }
        let mounted = Set(cards.values.filter(\.isMounted).map(\.mount.place))
        let again = gone.filter { mounted.contains($0.value.mount.place) }
        let old = gone.keys.sorted().dropLast(Self.mostGone)
        return Set(again.keys).union(old).sorted().compactMap { number in
            cards.removeValue(forKey: number).map { .forget(number, $0.mount) }
        }
    }

    private mutating func begin() -> [Step] {
        guard !isEnding, let plan else { return [] }
        var steps: [Step] = []
        var busy = cards.values.count { $0.phase == .running || $0.phase == .stopping }
        for (number, card) in cards.sorted(by: { $0.key < $1.key }) where card.phase == .waiting {
            // One that was pulled may not have noticed yet; both would have the same memory.
            let isTaken = cards.values.contains { $0.phase == .stopping && $0.mount.place == card.mount.place }
            guard busy < Self.mostAtOnce, !isTaken else { continue }
            busy += 1
            cards[number]?.phase = .running
            steps.append(.start(number, card.mount, plan))
        }
        return steps
    }
}
