package import Filing
import LinuxKernel

/// Measures the steps of one piece of work: each lasts until the next one begins, or until the end. Confined to whoever
/// does the work.
final class StageClock {
    private let board: MeasureBoard?
    private var current: (step: FilingStep, since: Moment)?

    /// Nothing is measured without a board.
    init(_ board: MeasureBoard?) { self.board = board }

    func enter(_ step: FilingStep) {
        guard board != nil else { return }
        end()
        current = (step, .now)
    }

    func end() {
        if let current { board?.add(current.step, seconds: Moment.now.seconds(since: current.since)) }
        current = nil
    }
}

extension FilingStep {
    /// Its label in metrics: `sync_copy`.
    package var label: String {
        rawValue.reduce(into: "") { $0 += $1.isUppercase ? "_" + $1.lowercased() : String($1) }
    }
}
