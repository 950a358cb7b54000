import DirectoryWatch
import FileValues
import Glibc
import LinuxKernel
import PhotoModel
import SystemMonitor

/// Reports the notices of DirectoryWatch: finished files, and other requested kinds.
final class NoticeSource: EventSource {
    /// Which notices are reported. A value.
    struct Selection: Sendable {
        var kinds: NoticeKinds
        /// Also files that existed at the start.
        var includesExisting = false
        /// Also files with unfinished names.
        var includesUnfinished = false

        /// The kind as which a notice is reported; nil if it is not.
        func kind(of notice: WatchNotice) -> NoticeKind? {
            switch notice.kind {
            case .finished: return kinds.contains(.finished) && isFinishedName(notice.path) ? .finished : nil
            case .renamed(let old):
                // It was not reported under its unfinished name.
                if kinds.contains(.renamed), isFinishedName(old) || !kinds.contains(.finished) { return .renamed }
                // Without "renamed", a renamed file is reported as finished.
                return kinds.contains(.finished) && isFinishedName(notice.path) ? .finished : nil
            default:
                guard let kind = NoticeKind(notice.kind), kinds.contains(kind) else { return nil }
                return kind
            }
        }

        private func isFinishedName(_ path: BytePath) -> Bool {
            includesUnfinished || !NameRules.isUnfinished(path)
        }
    }

    private let session: WatchSession
    private let watch: DirectoryWatch
    private let selection: Selection
    private let filter: PathFilter
    /// The directory before relative paths, with a slash at its end; by root, whose identifier is its index.
    private let prefixes: [[UInt8]]
    private let isReconciled: QueueBound<Bool>
    private let hasRemarkedOnLimit: QueueBound<Bool>
    private let started = FileTime.now(isCoarse: true)
    private let known: KnownFiles?

    init(
        session: WatchSession, roots: [BytePath], selection: Selection, filter: PathFilter, known: KnownFiles?
    ) throws(SystemCallError) {
        self.known = known
        self.session = session
        self.selection = selection
        self.filter = filter
        prefixes = roots.map(\.printedAsDirectory.bytes)
        // Saves two changes of threads; but a server that hangs must not keep a watch from ending.
        let sharesQueue = roots.count == 1 && Self.isLocal(roots[0])
        let watched = roots.enumerated().map { index, root in
            WatchRoot(
                id: String(index), path: root,
                queue: sharesQueue ? session.queue : MonitorQueue(label: "photoinbox.files.\(index)"),
                exclude: filter.isEmpty ? nil : filter.rule(for: root))
        }
        // DirectoryWatch would poll if the kernel had no instance left; watch requires events.
        try InotifyInstance().end()
        watch = try DirectoryWatch(
            label: "watch", queue: session.queue, roots: watched, memory: known?.memory ?? WatchMemory(),
            reportsChanges: selection.kinds.contains(.changed))
        isReconciled = QueueBound(false, queue: session.queue)
        hasRemarkedOnLimit = QueueBound(false, queue: session.queue)
    }

    private static func isLocal(_ root: BytePath) -> Bool {
        (try? FileSystem(of: openDirectory(root)))?.changesElsewhere == false
    }

    func start(onReady: @escaping @Sendable (Int) -> Void) {
        if let defect = known?.defect { session.remark(defect) }
        watch.setHandler { [self] notices in receive(notices) }
        watch.activate(onReconciled: { [self] reports in
            isReconciled.onQueue { $0 = true }
            remarkOnLimit()
            onReady(reports.reduce(0) { $0 + $1.directories })
        })
    }

    func stop(completion: @escaping @Sendable () -> Void) {
        watch.invalidate { [self] in
            if let defect = known?.save(watch) { session.remark(defect, isIncomplete: true) }
            completion()
        }
    }

    private func receive(_ notices: [WatchNotice]) {
        let now = FileTime.now
        var remarks: [(text: String, isIncomplete: Bool)] = []
        var done = notices.count
        session.report { report in
            // The buffer for paths, used again for each.
            var path: [UInt8] = []
            swap(&path, &report.path)
            defer { swap(&path, &report.path) }
            for (place, notice) in notices.enumerated() {
                if !report.isOpen { done = min(done, place) }
                if let remark = remark(on: notice) { remarks.append(remark) }
                if case .rootGone = notice.kind { report.goneRoots.insert(notice.root) }
                if case .rootBack = notice.kind { report.goneRoots.remove(notice.root) }
                if report.isOpen { write(notice, at: now, &path, &report) }
            }
        } whenWritten: {
            known?.reported(notices.prefix(done), by: watch, on: session.queue)
        }
        for (text, isIncomplete) in remarks { session.remark(text, isIncomplete: isIncomplete) }
        if notices.contains(where: { $0.kind == .directoryAppeared }) { remarkOnLimit() }
    }

    /// Remarks once that there are directories for which the kernel has no watch: they are polled, and files that are made
    /// and deleted between two listings are missed.
    private func remarkOnLimit() {
        guard isReconciled.onQueue({ $0 }), !hasRemarkedOnLimit.onQueue({ $0 }), let need = watch.snapshot().need,
            need.resource == .watches
        else { return }
        hasRemarkedOnLimit.onQueue { $0 = true }
        session.remark(WatchRemarks.limit(missing: need.missing), isIncomplete: true)
    }

    private func write(_ notice: WatchNotice, at now: FileTime, _ path: inout [UInt8], _ report: inout WatchReport) {
        guard let kind = selection.kind(of: notice) else { return }
        if Self.wasThere(notice, before: started), !selection.includesExisting, known?.knows(notice.root) != true,
            !isReconciled.onQueue({ $0 })
        {
            return
        }
        let prefix = prefix(of: notice.root)
        path.removeAll(keepingCapacity: true)
        path += prefix
        path += notice.path.bytes
        if !filter.isEmpty, filter.hides(BytePath(path), root: prefix.count) { return }
        var old: [UInt8]?
        if case .renamed(let from) = notice.kind { old = prefix + from.bytes }
        report.add { format, bytes in
            format.append(kind, of: notice, path: path, from: old, at: now, to: &bytes)
        }
    }

    private func prefix(of root: String) -> [UInt8] {
        prefixes.count == 1 ? prefixes[0] : Int(root).map { prefixes[$0] } ?? []
    }

    /// Whether the first listing found an entry that has not changed since the start.
    private static func wasThere(_ notice: WatchNotice, before start: FileTime) -> Bool {
        switch notice.kind {
        case .finished(.found): notice.identity.map { $0.changed < start } ?? true
        case .directoryAppeared, .notRegular: notice.mask.isEmpty
        default: false
        }
    }

    /// Its path in remarks: without a slash at the end.
    private func displayed(_ notice: WatchNotice) -> BytePath {
        let path = BytePath(prefix(of: notice.root) + notice.path.bytes)
        return path.bytes.count > 1 && path.bytes.last == UInt8(ascii: "/") ? BytePath(path.bytes.dropLast()) : path
    }

    private func remark(on notice: WatchNotice) -> (text: String, isIncomplete: Bool)? {
        switch notice.kind {
        case .unreadable, .rootGone, .rootBack, .treeGone, .treeBack, .overflow, .healed: break
        default: return nil
        }
        let path = displayed(notice)
        switch notice.kind {
        case .unreadable(let error):
            return ("cannot list \(path) (\(error.code)); its files are not reported", true)
        case .rootGone: return ("\(path) is gone; it is watched again once it is back", false)
        case .rootBack: return ("\(path) is back; differences are reported", false)
        case .treeGone: return ("\(path) was unmounted or covered; nothing in it counts as deleted", false)
        case .treeBack: return ("\(path) is back; differences are reported", false)
        case .overflow: return ("events were lost; comparing the directories", false)
        case .healed: return ("comparison complete; missed changes were reported", false)
        default: return nil
        }
    }
}
