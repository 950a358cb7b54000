/// A monitor whose work runs in turns on its queue.
protocol TurnTaker: AnyObject, Sendable {
    func takeTurn()
}

/// Orders the turns of one queue's monitors by priority. For use on the queue only.
///
/// libdispatch calls the handlers of ready sources in the order in which they became ready. If the active monitors of a
/// queue differ in priority, each handler only notes its monitor as ready, and one block at a time, at the queue's end,
/// runs the most urgent one. The handlers of sources that became ready meanwhile precede that block on the queue, so
/// they have noted theirs. Without different priorities, this is not used.
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

    /// Notes `taker` as ready. Returns whether a block must be added to the queue.
    mutating func note(_ taker: any TurnTaker, priority: Int) -> Bool {
        if !waiting.contains(where: { $0.taker === taker }) {
            lastOrder += 1
            waiting.append(Waiting(taker: taker, priority: priority, order: lastOrder))
        }
        defer { isPumpQueued = true }
        return !isPumpQueued
    }

    /// Removes and returns the most urgent monitor: the smallest priority, the earliest among equals.
    mutating func next() -> (any TurnTaker)? {
        isPumpQueued = false
        guard
            let index = waiting.indices.min(by: {
                (waiting[$0].priority, waiting[$0].order) < (waiting[$1].priority, waiting[$1].order)
            })
        else { return nil }
        return waiting.remove(at: index).taker
    }

    /// Whether another block must be added to the queue after a turn.
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
