import FileValues

/// The paths to the roots: whatever may lead one elsewhere, or to its root again, is checked at once.
enum RootPathHandling {
    /// Applies a record that may be of a watch on a root's path, and a tree's as well. Returns whether it is of no tree.
    static func apply(
        _ watch: Int32, _ mask: InotifyMask, _ name: UnsafeRawBufferPointer, in state: inout TreeState
    ) -> Bool {
        // Seldom: a record of a watched inode itself, or of names while some path ends too early.
        guard name.isEmpty || state.paths.needsNames, state.paths.needsRecords(of: watch) else { return false }
        let isOfPath = state.paths.uses(watch)
        for root in state.paths.apply(watch: watch, mask: mask, name: BytePath(name)) { recheck(root, in: &state) }
        return isOfPath && !state.watches.isRetired(watch)
    }

    /// Requests that a root's path is traced and watched. This comes before the root is opened or checked, so that no
    /// change in between is missed.
    static func trace(_ root: Int, in state: inout TreeState) {
        if state.paths.beginTrace(of: root) { state.request(root, .trace) }
    }

    /// Checks whether a root's path leads to it.
    static func recheck(_ root: Int, in state: inout TreeState) {
        trace(root, in: &state)
        state.open(root)
    }

    /// Checks all paths: records were lost, or the mount table changed.
    static func recheckAll(in state: inout TreeState) {
        for root in state.roots.indices { recheck(root, in: &state) }
    }

    /// The result of tracing a root's path.
    static func applyTraced(_ path: RootPath, of root: Int, in state: inout TreeState) {
        let (isStale, released) = state.paths.endTrace(of: root, path)
        for watch in released where state.owner(of: watch) == nil && !state.watches.isRetired(watch) {
            WatchHandling.retire(watch, root: root, in: &state)
        }
        if isStale { recheck(root, in: &state) }
    }

    /// Traces a path again that was incomplete or unstable the last time.
    static func traceIfUncertain(_ root: Int, in state: inout TreeState) {
        if let path = state.paths.path(of: root), path.isStable, path.isComplete { return }
        trace(root, in: &state)
    }
}
