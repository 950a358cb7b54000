import TestSupport

/// One operation of programs in real directories, or on the watch over them; the numbers select what to do
/// it to, whatever is there, so that a sequence stays meaningful when parts of it are left out.
struct RealStep: Hashable, Sendable, CustomStringConvertible {
    enum Kind: String, CaseIterable, Sendable {
        // One file.
        case create, write, node, open, append, close, remove, forget
        // One name of anything.
        case rename, exchange, moveOut, moveIn, link, symbolicLink, fifo
        // What no event reports.
        case chmod, truncate
        // Directories.
        case makeDirectory, makeDeep, removeTree, plant, melee
        // The watch: its queue and its roots' queues held, the kernel's queue overflowed, the user's watches used up.
        case hold, holdRoot, release, overflow, reconcile, watchLimit
        // Time for the watch to get somewhere, or to the end of everything.
        case breathe, awaitQuiet
    }

    let kind: Kind
    let a: Int
    let b: Int

    init(_ kind: Kind, _ a: Int, _ b: Int) {
        self.kind = kind
        self.a = a
        self.b = b
    }

    /// As it is written in a test.
    var description: String { "RealStep(.\(kind), \(a), \(b))" }

    /// How often each is drawn.
    private static func weight(_ kind: Kind) -> Int {
        switch kind {
        case .create, .write, .makeDirectory, .remove, .rename, .moveOut, .moveIn: 6
        case .exchange, .makeDeep, .removeTree, .awaitQuiet: 4
        case .open, .append, .close, .link, .symbolicLink, .fifo, .breathe, .plant, .hold, .release: 3
        case .chmod, .truncate, .node, .holdRoot, .melee, .forget, .reconcile: 2
        case .overflow, .watchLimit: 0
        }
    }

    private static let lots = Kind.allCases.flatMap { kind in Array(repeating: kind, count: weight(kind)) }

    /// The sequence of a seed. Every eighth of them overflows the kernel's queue, once: that takes 8,200 renames.
    static func sequence(seed: Int, limitsWatches: Bool = false) -> [RealStep] {
        var numbers = SeededGenerator(seed: UInt64(truncatingIfNeeded: seed))
        func number(_ numbers: inout SeededGenerator) -> Int { Int.random(in: 0..<10_000, using: &numbers) }
        var steps = (0..<Int.random(in: 10...70, using: &numbers)).map { _ in
            RealStep(lots.randomElement(using: &numbers) ?? .create, number(&numbers), number(&numbers))
        }
        if seed % 8 == 7 {
            let place = Int.random(in: 0...steps.count, using: &numbers)
            steps.insert(RealStep(.overflow, number(&numbers), number(&numbers)), at: place)
        }
        if limitsWatches {
            for _ in 0..<4 {
                let place = Int.random(in: 0...steps.count, using: &numbers)
                steps.insert(RealStep(.watchLimit, number(&numbers), number(&numbers)), at: place)
            }
        }
        return steps
    }
}
