import FileValues
import Filing
import LinuxKernel
import Reporting

/// What only metrics tell: measures of what was filed since the start. Any thread.
package final class MeasureBoard: Sendable {
    /// One inbox's, or all of them together.
    struct Measures: Sendable {
        var delay: [String: MetricHistogram] = [:]
        var stages: [FilingStep: MetricHistogram] = [:]
        var size = MetricHistogram(.photoSize)
        var bytes: [String: UInt64] = [:]
    }

    private let measures = Locked(Measures())

    package init() {}

    /// An arrival had its outcome.
    func add(_ ended: EndedArrival) {
        guard ended.outcome == .filed else { return }
        let inbox = ended.key.inbox
        measures.withLock { measures in
            measures.delay[inbox, default: MetricHistogram(.filingDelay)]
                .add(max(0, ended.ended.seconds(since: ended.firstSeen)))
            guard let bytes = ended.bytes else { return }
            measures.size.add(Double(bytes))
            measures.bytes[inbox, default: 0] += bytes
        }
    }

    /// A step of the work on a file took so long.
    func add(_ step: FilingStep, seconds: Double) {
        measures.withLock { $0.stages[step, default: MetricHistogram(.stageDuration)].add(max(0, seconds)) }
    }

    var all: Measures { measures.withLock { $0 } }
}
