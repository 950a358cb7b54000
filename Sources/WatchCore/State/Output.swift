/// The reports and requests of a turn.
package struct Output {
    package var notices: [WatchNotice] = []
    package var work: [(root: Int, epoch: UInt32, request: WorkRequest)] = []
    package var reconciled: [(root: Int, outcome: Reconciliation)] = []
    /// Records of watches that are not of trees.
    package var foreign: [EventRecord] = []

    /// Moves all of it out.
    mutating func removeAll() -> Output {
        var all = Output()
        swap(&all, &self)
        return all
    }
}
