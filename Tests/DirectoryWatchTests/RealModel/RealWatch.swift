import Dispatch
import FileValues
import Glibc
import LinuxKernel
import SystemMonitor
import TestSupport

@testable import DirectoryWatch
@testable import WatchCore

/// A live watch over the directories `a` and `b` of a scratch directory, with a directory `o` beside them that is not
/// watched, for one plain thread that waits for it. Any queue of it can be held, as a busy machine would.
final class RealWatch {
    static let roots = ["a", "b"]

    let scratch: ScratchDirectory
    let top: BytePath
    private let queue = MonitorQueue(label: "test.watch")
    private let rootQueues: [MonitorQueue]
    private let watch: DirectoryWatch
    private let inbound = Inbound()
    private var holds: [Hold] = []
    private var cookies = 0

    /// Notices that were not removed yet, and the threads that wait for more.
    private final class Inbound: Sendable {
        let notices = Locked<[WatchNotice]>([])
        let cookies = Locked<[WatchNotice]>([])
        let came = DispatchSemaphore(value: 0)

        func add(_ batch: [WatchNotice]) {
            notices.withLock { $0 += batch }
            let seen = batch.filter { NoticeJudge.isCookie($0.path) }
            if seen.isEmpty { return }
            cookies.withLock { $0 += seen }
            came.signal()
        }
    }

    /// A queue that can do nothing until it is let go.
    private struct Hold {
        let place: Int?
        let end: DispatchSemaphore
    }

    /// Left out by the rule: temporary files by their name's end, directories of one name.
    static func isExcluded(_ path: BytePath, _ kind: FileKind) -> Bool {
        kind == .directory ? path.name == "@eaDir" : path.lowercasedExtension == Array("tmp".utf8)
    }

    /// Makes the directories (`far` is where links lead), starts, and returns when they were compared for the first time.
    init(below parent: String?, sharesQueue: Bool) throws {
        rootQueues = Self.roots.enumerated().map { [queue] place, name in
            sharesQueue && place == 0 ? queue : MonitorQueue(label: "test.root.\(name)")
        }
        handleSIGIO()
        scratch = try ScratchDirectory(below: parent)
        let top = scratch.bytePath
        self.top = top
        for name in Self.roots + ["o", "far"] { RealTree.makeDirectory(top.appending(BytePath(name))) }
        watch = try DirectoryWatch(
            label: "test", queue: queue,
            roots: zip(Self.roots, rootQueues).map { name, queue in
                var root = WatchRoot(
                    id: name, path: top.appending(BytePath(name)), queue: queue,
                    exclude: { path, kind in RealWatch.isExcluded(path, kind) })
                root.handlesSIGIO = true
                return root
            }, tick: nil)
        let isStarted = DispatchSemaphore(value: 0)
        queue.sync {
            watch.setHandler { [inbound] in inbound.add($0) }
            watch.activate(onReconciled: { _ in isStarted.signal() })
        }
        isStarted.wait()
    }

    /// Notices since the last call, in order.
    func removeNotices() -> [WatchNotice] {
        inbound.notices.withLock { all in
            defer { all = [] }
            return all
        }
    }

    /// Holds the watch's queue (nil) or a root's.
    func hold(_ place: Int?) {
        let place = place.flatMap { rootQueues[$0] === queue ? nil : $0 }
        guard !holds.contains(where: { $0.place == place }) else { return }
        let (isHeld, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        (place.map { rootQueues[$0] } ?? queue).async {
            isHeld.signal()
            end.wait()
        }
        isHeld.wait()
        holds.append(Hold(place: place, end: end))
    }

    func release() {
        for hold in holds { hold.end.signal() }
        holds = []
    }

    /// Whether nothing may be asked of the watch now.
    var isHeld: Bool { holds.contains { $0.place == nil } }

    func checkNow() { queue.sync { watch.checkNow() } }

    func forget(root: String, _ path: BytePath) { queue.sync { watch.forget(root: root, path: path) } }

    /// The published state, once the turn that reported the last notices has ended.
    var snapshot: WatchSnapshot {
        queue.sync {}
        return watch.snapshot()
    }

    /// Begins a comparison and does not wait for it.
    func reconcileLater() { queue.async { [watch] in watch.reconcile() } }

    /// Compares, and waits for the reports; nil if they do not come.
    func reconcile() -> [ReconcileReport]? {
        let answer = Locked<[ReconcileReport]?>(nil)
        let came = DispatchSemaphore(value: 0)
        queue.async { [watch] in
            watch.reconcile { reports in
                answer.withLock { $0 = reports }
                came.signal()
            }
        }
        return came.wait(timeout: .now() + Self.patience) == .success ? answer.withLock { $0 } : nil
    }

    /// What is waited for at most, where something is sure to come.
    private static let patience = 20 * slowness

    /// Makes a file in each root, waits until it is reported, moves it out, and waits until that is reported. A name that left is
    /// given up only when the other half of its rename is overdue, so all halves before it are through as well.
    func passCookies() -> Bool {
        cookies += 1
        let name = BytePath("cookie-\(cookies)")
        for root in Self.roots { RealTree.makeFile(top.appending(BytePath(root)).appending(name)) }
        guard waitForCookies({ if case .finished = $0.kind { $0.path == name } else { false } }) else { return false }
        let outside = top.appending("o").appending(name)
        for root in Self.roots { RealTree.rename(top.appending(BytePath(root)).appending(name), outside) }
        defer { RealTree.removeAll(outside) }
        return waitForCookies { $0.kind == .vanished && $0.path == name }
    }

    /// Waits until every root has reported such a cookie.
    private func waitForCookies(_ isWanted: (WatchNotice) -> Bool) -> Bool {
        let deadline = DispatchTime.now() + Self.patience
        while true {
            let reported = Set(inbound.cookies.withLock { $0 }.filter(isWanted).map(\.root))
            if reported.count == Self.roots.count {
                inbound.cookies.withLock { $0 = [] }
                return true
            }
            if inbound.came.wait(timeout: deadline) == .timedOut { return false }
        }
    }

    /// Ends it, and waits until its workers have ended their requests.
    func end() {
        release()
        let hasEnded = DispatchSemaphore(value: 0)
        queue.async { [watch] in watch.invalidate { hasEnded.signal() } }
        hasEnded.wait()
        for queue in rootQueues { queue.sync {} }
    }
}
