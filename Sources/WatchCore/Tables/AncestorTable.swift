package import FileValues

/// Which watches stand on the ways to the roots, and which roots' paths may lead elsewhere when one of them tells
/// something. A value without I/O.
///
/// The kernel has one watch an inode, so a watch may serve several roots' ways, and be a tree's as well, where a root's
/// path leads through another root. The table therefore says which watches no way needs any more, and leaves it to the
/// caller to remove those that no tree has.
package struct AncestorTable {
    private var ways: [Int: RootWay] = [:]
    private var users: [Int32: Set<Int>] = [:]
    /// Roots whose paths are being followed: what they find may be older than what is told meanwhile.
    private var tracing: Set<Int> = []
    /// Watches that told something meanwhile.
    private var toldMeanwhile: Set<Int32> = []
    /// So much was told meanwhile that it is not worth keeping.
    private var isUncertain = false

    /// Whether any path ends too early.
    private var isAwaiting = false

    /// More of them are not kept.
    package static let meanwhileLimit = 4096

    /// Whether a record of this watch, about the watched inode itself, has to be taken.
    package func concerns(_ watch: Int32) -> Bool { !tracing.isEmpty || users[watch] != nil }

    /// Whether records of names in directories have to be taken, too: seldom, as long as some path ends too early.
    package var listensToNames: Bool { !tracing.isEmpty || isAwaiting }

    /// Whether a way leads through what this watch is on.
    package func uses(_ watch: Int32) -> Bool { users[watch] != nil }

    /// How many watches the ways have.
    package var count: Int { users.count }

    /// The way of a root, as far as it is known.
    package func way(to root: Int) -> RootWay? { ways[root] }

    /// A root's path is about to be followed.
    package mutating func begin(_ root: Int) { tracing.insert(root) }

    /// The watches on a root's way, as they were found, take the place of those that were there. Returns whether the path
    /// has to be followed once more, because something was told of it meanwhile, and the watches that no way needs.
    package mutating func end(_ root: Int, _ way: RootWay) -> (isStale: Bool, released: [Int32]) {
        tracing.remove(root)
        let before = ways.updateValue(way, forKey: root)
        for watch in before?.watches ?? [] { leave(watch, root) }
        for watch in way.watches { users[watch, default: []].insert(root) }
        isAwaiting = ways.values.contains { $0.awaited != nil }
        let isStale = isUncertain || !way.watches.isDisjoint(with: toldMeanwhile)
        if tracing.isEmpty {
            toldMeanwhile = []
            isUncertain = false
        }
        var released = (before?.watches ?? []).union(way.abandoned).filter { users[$0] == nil }
        // What was awaited has come: a busy directory would go on telling of every name in it. Its watch is given up,
        // and its end makes those who still pass through set a narrow one.
        if let awaited = before?.awaited?.watch, users[awaited] != nil, !concernsAnyAwaited(awaited) {
            released.insert(awaited)
        }
        return (isStale, released.sorted())
    }

    /// Takes a record that is about the watched inode itself, or a name in it. Returns the roots whose paths may lead
    /// elsewhere now.
    package mutating func take(watch: Int32, mask: InotifyMask, name: BytePath) -> [Int] {
        if !tracing.isEmpty {
            toldMeanwhile.insert(watch)
            if toldMeanwhile.count > Self.meanwhileLimit {
                toldMeanwhile = []
                isUncertain = true
            }
        }
        guard let roots = users[watch] else { return [] }
        if mask.contains(.ignored) {
            users[watch] = nil
            for root in roots {
                ways[root]?.watches.remove(watch)
                if ways[root]?.awaited?.watch == watch { ways[root]?.awaited = nil }
            }
            return roots.sorted()
        }
        if name.isEmpty { return roots.sorted() }
        if mask.isDisjoint(with: [.created, .movedTo]) { return [] }
        return roots.filter { ways[$0]?.awaited == RootWay.Awaited(watch: watch, name: name) }.sorted()
    }

    private func concernsAnyAwaited(_ watch: Int32) -> Bool {
        users[watch]?.contains { ways[$0]?.awaited?.watch == watch } ?? false
    }

    private mutating func leave(_ watch: Int32, _ root: Int) {
        users[watch]?.remove(root)
        if users[watch]?.isEmpty ?? false { users[watch] = nil }
    }
}
