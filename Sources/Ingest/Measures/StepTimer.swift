package import Filing
import LinuxKernel

/// Measures the steps of one piece of work: each lasts until the next one begins, or until the end. Confined to the
/// queue of the work.
final class StepTimer {
    private let measures: FilingMeasures?
    private var current: (step: FilingStep, since: Moment)?

    /// Nothing is measured without `measures`.
    init(_ measures: FilingMeasures?) { self.measures = measures }

    func enter(_ step: FilingStep) {
        guard measures != nil else { return }
        end()
        current = (step, .now)
    }

    func end() {
        if let current { measures?.add(current.step, seconds: Moment.now.seconds(since: current.since)) }
        current = nil
    }
}

extension FilingStep {
    /// Its label in metrics: `sync_copy`.
    package var label: String {
        rawValue.reduce(into: "") { $0 += $1.isUppercase ? "_" + $1.lowercased() : String($1) }
    }
}
