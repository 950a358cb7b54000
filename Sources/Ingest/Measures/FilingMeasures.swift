import FileValues
package import Filing
import LinuxKernel
package import Reporting

/// Measures of what was filed since the start, for the metrics. Any thread.
package final class FilingMeasures: Sendable {
    /// One inbox's, or all of them together.
    package struct Measures: Sendable {
        package var delay: [String: MetricHistogram] = [:]
        package var stages: [FilingStep: MetricHistogram] = [:]
        package var size = MetricHistogram(.photoSize)
        package var bytes: [String: UInt64] = [:]
        /// Files that were released, discarded or taken back.
        package var moved = 0
    }

    private let measures = Locked(Measures())

    package init() {}

    /// An arrival had its outcome.
    package func add(_ ended: EndedArrival) {
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

    /// A request moved so many files.
    package func moved(_ files: Int) { measures.withLock { $0.moved += files } }

    package var all: Measures { measures.withLock { $0 } }
}
