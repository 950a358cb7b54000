package import FileValues

/// The ways to the roots: what leads their paths elsewhere, or brings them back, is looked at at once.
extension TreeCore {
    /// Asks for a root's path to be followed and watched. Before it is opened or checked: watch, then look.
    package mutating func trace(_ root: Int) {
        guard !roots[root].isTracing else {
            roots[root].wantsTrace = true
            return
        }
        roots[root].isTracing = true
        ancestors.begin(root)
        request(root, .trace)
    }

    /// Something was told that may lead a root's path elsewhere, or to it again.
    package mutating func doubtWay(_ root: Int) {
        trace(root)
        if roots[root].isLive { checkRoot(root) } else { adopt(root) }
    }

    /// The same of all roots: records were lost, or the mount table changed.
    package mutating func doubtAllWays() { for root in roots.indices { doubtWay(root) } }

    package mutating func takeTraced(_ root: Int, _ way: RootWay) {
        roots[root].isTracing = false
        let (isStale, released) = ancestors.end(root, way)
        for watch in released where owner(of: watch) == nil && !watches.isRetired(watch) {
            retire(watch, root: root)
        }
        if isStale || roots[root].wantsTrace {
            roots[root].wantsTrace = false
            roots[root].tracesInARow += 1
            // A way that is told of again and again is left to the next tick.
            if roots[root].tracesInARow < Self.mostTracesInARow { return doubtWay(root) }
        }
        roots[root].tracesInARow = 0
    }

    private static let mostTracesInARow = 8

    /// A record that may be of a watch on a way, be it a tree's as well or not.
    /// Returns whether it is one.
    package mutating func takeOfWays(_ watch: Int32, _ mask: InotifyMask, _ name: UnsafeRawBufferPointer) -> Bool {
        guard ancestors.concerns(watch) else { return false }
        let isOfWay = ancestors.uses(watch)
        for root in ancestors.take(watch: watch, mask: mask, name: BytePath(name)) { doubtWay(root) }
        return isOfWay
    }

    /// Whether a way that was followed has to be followed again at the next tick.
    package func isWayUncertain(_ root: Int) -> Bool {
        guard let way = ancestors.way(to: root) else { return true }
        return !way.isSettled || !way.isWhole
    }
}
