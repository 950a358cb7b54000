import FileValues
import LinuxKernel

/// A survey under way, in slices, so that lookups of single files do not wait for a large tree: by one thread, or by two
/// that share the directories. Confined to its root's queue.
final class SurveyRun {
    let request: SurveyRequest
    let epoch: UInt32
    let deliver: RootWorker.Deliver
    private let lane: SurveyLane
    /// The lane of the second thread, once there were enough directories for it.
    private var second: Locked<SurveyLane>?

    /// A lane with so many waiting directories shares them.
    private static let large = 64

    init(_ request: SurveyRequest, epoch: UInt32, lister: DirectoryLister, deliver: @escaping RootWorker.Deliver) {
        self.request = request
        self.epoch = epoch
        self.deliver = deliver
        lane = SurveyLane(request, lister: lister)
    }

    /// The path being surveyed.
    var path: BytePath { lane.path }

    /// Whether so many directories are waiting that a second thread is worth its cost.
    var isLarge: Bool { lane.waiting >= Self.large }

    /// Surveys at least one directory, and more until the deadline (CLOCK_MONOTONIC, nanoseconds), and delivers the
    /// findings. Returns whether it is complete. `place` is the calling thread's own, where it has one.
    func advance(
        in root: borrowing OwnedDescriptor, by place: ThreadDirectory?, with helper: SurveyHelper?,
        until deadline: UInt64
    ) -> Bool {
        if helper != nil { share() }
        advanceLanes(in: root, by: place, with: helper, until: deadline)
        var parts = [lane.removeFindings()]
        var isComplete = lane.isDone
        if let second {
            let (findings, isDone) = second.withLock { ($0.removeFindings(), $0.isDone) }
            if !findings.isEmpty { parts.append(findings) }
            isComplete = isComplete && isDone
        }
        for (number, findings) in parts.enumerated() {
            let isLast = isComplete && number == parts.count - 1
            deliver(.surveyed(id: request.id, findings: findings, isComplete: isLast))
        }
        return isComplete
    }

    private func advanceLanes(
        in root: borrowing OwnedDescriptor, by place: ThreadDirectory?, with helper: SurveyHelper?,
        until deadline: UInt64
    ) {
        guard let second, second.withLock({ !$0.isDone }) else {
            return lane.advance(in: root, by: place, until: deadline)
        }
        if let helper, let again = try? root.openDirectoryBeneath("") {
            helper.advance(second, in: HeldDescriptor(again), until: deadline) {
                lane.advance(in: root, by: place, until: deadline)
            }
        } else {
            // One after the other, at least.
            lane.advance(in: root, by: place, until: deadline)
            second.withLock { $0.advance(in: root, by: place, until: deadline) }
        }
    }

    /// Moves a part of the waiting directories of one lane to one that has none. Only between two slices, so that the parents
    /// of these were delivered before.
    private func share() {
        guard let second else {
            if isLarge, let share = lane.share() {
                let (position, backend) = (lane.skipEverySecondPosition(), lane.lister.backend)
                let lister = DirectoryLister(
                    backend: backend, exclude: nil, leases: lane.lister.leases, probe: lane.lister.probe)
                self.second = Locked(SurveyLane(request, share, from: position, lister: lister))
            }
            return
        }
        let (waiting, isDone) = second.withLock { ($0.waiting, $0.isDone) }
        if isDone, isLarge, let share = lane.share() {
            second.withLock { $0.accept(share) }
        } else if lane.isDone, waiting >= Self.large, let share = second.withLock({ $0.share() }) {
            lane.accept(share)
        }
    }
}
