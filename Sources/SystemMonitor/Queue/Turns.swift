/// Acts on a queue when its turn comes.
protocol TurnTaker: AnyObject, Sendable {
    func takeTurn()
}

/// Whose turn is next among the monitors of one queue. Only the queue touches it.
///
/// libdispatch calls the handlers of ready sources in the order in which they became ready. Where the active monitors
/// of a queue differ in priority, each only notes that it has something to do, and one block at a time, put at the
/// queue's end, lets the most urgent one act. Whatever became ready meanwhile is before that block on the queue, and so
/// has noted itself. Where they do not differ, nothing of this happens.
struct Turns {
    private struct Waiting {
        let taker: any TurnTaker
        let priority: Int
        let order: UInt64
    }

    private var waiting: [Waiting] = []
    private var lastOrder: UInt64 = 0
    private var isPumpQueued = false
    /// Active monitors by priority.
    private var population: [Int: Int] = [:]

    /// Whether active monitors differ in priority.
    private(set) var isMixed = false

    mutating func activated(priority: Int) {
        population[priority, default: 0] += 1
        isMixed = population.count > 1
    }

    mutating func deactivated(priority: Int) {
        let left = population[priority, default: 0] - 1
        population[priority] = left > 0 ? left : nil
        isMixed = population.count > 1
    }

    /// Notes `taker`; returns whether a block is to be put on the queue.
    mutating func note(_ taker: any TurnTaker, priority: Int) -> Bool {
        if !waiting.contains(where: { $0.taker === taker }) {
            lastOrder += 1
            waiting.append(Waiting(taker: taker, priority: priority, order: lastOrder))
        }
        defer { isPumpQueued = true }
        return !isPumpQueued
    }

    /// Takes the most urgent one out: the smallest priority, the earliest among equals.
    mutating func next() -> (any TurnTaker)? {
        isPumpQueued = false
        guard
            let index = waiting.indices.min(by: {
                (waiting[$0].priority, waiting[$0].order) < (waiting[$1].priority, waiting[$1].order)
            })
        else { return nil }
        return waiting.remove(at: index).taker
    }

    /// Whether another block is to be put on the queue after a turn.
    mutating func wantsAnother() -> Bool {
        guard !waiting.isEmpty, !isPumpQueued else { return false }
        isPumpQueued = true
        return true
    }
}

extension MonitorQueue {
    func note(_ taker: any TurnTaker, priority: Int) {
        if turns.confined({ $0.note(taker, priority: priority) }) { async { self.takeTurn() } }
    }

    private func takeTurn() {
        turns.confined { $0.next() }?.takeTurn()
        if turns.confined({ $0.wantsAnother() }) { async { self.takeTurn() } }
    }
}
