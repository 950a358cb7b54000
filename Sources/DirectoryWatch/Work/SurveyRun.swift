import FileValues
import LinuxKernel

/// A survey being carried out, in slices, so that looks at single files need not wait for a large tree: by one thread, or
/// by two that share what is to be surveyed. Confined to its root's queue.
final class SurveyRun {
    let request: SurveyRequest
    let epoch: UInt32
    let deliver: RootWorker.Deliver
    private let lane: SurveyLane
    /// That of the second thread, as soon as there was something for it to do.
    private var second: Locked<SurveyLane>?

    /// So many directories must wait for a lane before another one is given some of them.
    private static let large = 64

    init(_ request: SurveyRequest, epoch: UInt32, lister: DirectoryLister, deliver: @escaping RootWorker.Deliver) {
        self.request = request
        self.epoch = epoch
        self.deliver = deliver
        lane = SurveyLane(request, lister: lister)
    }

    /// The path being surveyed.
    var path: BytePath { lane.path }

    /// Whether so much is waiting that a thread for it is worth its making.
    var isLarge: Bool { lane.waiting >= Self.large }

    /// Goes on until the deadline (CLOCK_MONOTONIC, nanoseconds), at least one directory far, and delivers what it
    /// found. Returns whether it is complete. `place` is the calling thread's own, where it has one.
    func advance(
        in root: borrowing OwnedDescriptor, by place: ThreadDirectory?, with helper: SurveyHelper?,
        until deadline: UInt64
    ) -> Bool {
        if helper != nil { share() }
        advanceLanes(in: root, by: place, with: helper, until: deadline)
        var parts = [lane.takeFindings()]
        var isComplete = lane.isDone
        if let second {
            let (findings, isDone) = second.withLock { ($0.takeFindings(), $0.isDone) }
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
            helper.advance(second, in: SharedDescriptor(again), until: deadline) {
                lane.advance(in: root, by: place, until: deadline)
            }
        } else {
            // One after the other, at least.
            lane.advance(in: root, by: place, until: deadline)
            second.withLock { $0.advance(in: root, by: place, until: deadline) }
        }
    }

    /// Gives a lane that has nothing to do a part of what waits for the other. Between two slices alone, so that all that
    /// leads to it was delivered before.
    private func share() {
        guard let second else {
            if isLarge, let share = lane.share() {
                let (place, backend) = (lane.leaveEverySecondPlace(), lane.lister.backend)
                let lister = DirectoryLister(
                    backend: backend, exclude: nil, leases: lane.lister.leases, probe: lane.lister.probe)
                self.second = Locked(SurveyLane(request, share, from: place, lister: lister))
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
