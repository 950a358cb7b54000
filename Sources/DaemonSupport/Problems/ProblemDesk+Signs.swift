package import Catalogue
package import DirectoryWatch
package import FileValues
package import Ingest
package import LibraryCare
package import LinuxKernel
import Logging
package import QueueActors
import Reporting
import Settings
package import SystemMonitor
package import Systemd

/// Which signs are which rows of the problem table.
extension ProblemDesk {
    /// A sign from work on files.
    package func symptom(_ symptom: Symptom) {
        switch symptom {
        case .library(let failure): library(failure)
        case .catalogue(let failure): catalogue(failure)
        case .sourceKept(let inbox, let directory, let reason):
            change { desk, now in
                desk.kept[inbox, default: 0] += 1
                desk.board.raise(
                    .sourceKept, subject: inbox,
                    [
                        .count: .count(desk.kept[inbox] ?? 1), .inbox: .text(inbox), .reason: .text(reason),
                        .path: .path(desk.path(of: inbox).appending(directory)),
                    ], at: now)
            }
        case .damaged(let path, let reason):
            log.damage(path, reason: reason)
        case .inboxUnreadable(let inbox, let reason):
            set(
                .inboxMissing, subject: inbox,
                reason.map { _ in [.inbox: .text(inbox), .path: .path(desk.withLock { $0.path(of: inbox) })] })
            // It can be opened again.
            if reason == nil { set(.inboxTaken, subject: inbox, nil) }
        case .inboxTaken(let inbox, let reason):
            let path = desk.withLock { $0.path(of: inbox) }
            set(.inboxTaken, subject: inbox, [.inbox: .text(inbox), .path: .path(path), .reason: .text(reason)])
        }
    }

    private func library(_ failure: LibraryFailure?) {
        let path = desk.withLock { $0.settings?.library?.path ?? "" }
        let waiting = waitingCount()
        let common: [ProblemParameter: ProblemValue] = [.path: .path(path), .count: .count(waiting)]
        var rows: [ProblemCode: [ProblemParameter: ProblemValue]] = [:]
        switch failure {
        case nil: break
        case .full(let needed, let free):
            let room = desk.withLock { desk in
                if let free { desk.freeBytes[path] = free }
                // A trial, which needs next to nothing, takes nothing back.
                if let needed { desk.needed = needed }
                return desk.room(at: path)
            }
            rows[.libraryFull] = common.merging([.reason: .text(room)]) { $1 }
        case .readOnly: rows[.libraryReadOnly] = common.merging([.reason: .text("it is read-only")]) { $1 }
        case .inputOutput: rows[.libraryFailing] = common.merging([.reason: .text("input/output error")]) { $1 }
        case .missing: rows[.libraryMissing] = common
        case .taken(let reason): rows[.placeTaken] = common.merging([.reason: .text(reason)]) { $1 }
        case .replaced(let reason): rows[.libraryReplaced] = common.merging([.reason: .text(reason)]) { $1 }
        case .unsuitable(let reason): rows[.libraryUnsuitable] = common.merging([.reason: .text(reason)]) { $1 }
        case .other(let reason): rows[.libraryReadOnly] = common.merging([.reason: .text(reason)]) { $1 }
        }
        desk.withLock { desk in
            desk.failing.set(.library, failure != nil)
            if failure == nil { desk.needed = nil }
        }
        setOne(
            of: [
                .libraryFull, .libraryReadOnly, .libraryFailing, .libraryMissing, .libraryReplaced, .placeTaken,
                .libraryUnsuitable,
            ], rows)
    }

    /// Whether the library stands at its path (nil), as was seen without writing there.
    package func librarySeen(_ failure: LibraryFailure?) {
        if let failure { return library(failure) }
        for code in [ProblemCode.libraryMissing, .libraryReplaced, .placeTaken] { set(code, nil) }
    }

    /// What is recorded in another library, or nowhere.
    package func counted(_ census: LibraryGuard.Census, at library: BytePath) {
        set(.photosElsewhere, census.elsewhere.map { [.path: .path($0.library), .count: .count($0.photos)] })
        set(.photosUnrecorded, census.unrecorded.map { [.path: .path(library), .name: .path($0)] })
    }

    /// A place beside the library is on its file system (nil), or away.
    package func place(_ path: BytePath, away reason: String?) {
        set(.placeAway, subject: path.escaped, reason.map { [.path: .path(path), .reason: .text($0)] })
    }

    private func catalogue(_ error: CatalogueError?) {
        var rows: [ProblemCode: [ProblemParameter: ProblemValue]] = [:]
        if let error {
            let path = desk.withLock { $0.settings?.catalogue ?? "" }
            let common: [ProblemParameter: ProblemValue] = [.path: .path(path), .count: .count(waitingCount())]
            switch error.code {
            case .replaced: rows[.catalogueReplaced] = common.merging([.reason: .text(error.message)]) { $1 }
            case .diskFull: rows[.catalogueFull] = common
            // Transient, or of one photo alone: it says nothing of the rest.
            case .busy, .alreadyRecorded, .beingFiled, .pathTaken, .noSuchIntent: return
            default: rows[.catalogueDamaged] = common.merging([.reason: .text("\(error)")]) { $1 }
            }
        }
        desk.withLock { $0.failing.set(.catalogue, error?.mayHeal ?? false) }
        setOne(of: [.catalogueFull, .catalogueDamaged, .catalogueReplaced], rows)
    }

    /// So many photos of the library are known to be missing or damaged; the first of them, and what is wrong with it.
    package func damaged(_ count: Int, _ path: BytePath?, _ reason: String?) {
        desk.withLock { $0.damaged = count }
        guard count > 0, let path, let reason else { return set(.libraryDamaged, nil) }
        set(.libraryDamaged, [.count: .count(count), .name: .path(path), .reason: .text(reason)])
    }

    /// How far the library was read again.
    package func verified(_ state: VerificationState?) { desk.withLock { $0.verified = state } }

    /// A damaged catalogue was found at the start and a new one begun.
    package func catalogueSetAside(_ path: String, reason: String) {
        log.catalogueSetAside(path, reason: reason)
    }

    /// The catalogue at this path is being made anew; nil when it is whole.
    package func rebuilding(catalogue path: String?) {
        set(.catalogueRebuilding, path.map { [.path: .path(BytePath($0)), .count: .count(waitingCount())] })
    }

    /// What the watch has seen of its roots and directories.
    package func noticed(_ notices: [WatchNotice]) {
        for notice in notices {
            switch notice.kind {
            case .rootGone(let loss):
                let path = desk.withLock { $0.path(of: notice.root) }
                let parameters: [ProblemParameter: ProblemValue] = [.inbox: .text(notice.root), .path: .path(path)]
                if case .absent(let error) = loss {
                    log.logger.notice(
                        "inbox \(notice.root) went away: \(path): \(error.code); nothing counts as deleted")
                    set(.inboxMissing, subject: notice.root, parameters)
                } else {
                    log.logger.notice("inbox \(notice.root) went away: \(path) is another directory now")
                    set(.inboxGone, subject: notice.root, parameters)
                }
            case .rootBack:
                log.logger.notice("inbox \(notice.root) is watched again; what differs in it is looked at")
                set(.inboxMissing, subject: notice.root, nil)
                set(.inboxGone, subject: notice.root, nil)
            case .treeGone:
                let path = desk.withLock { $0.path(of: notice.root) }.appending(notice.path)
                log.logger.notice("\(path) was unmounted or covered; nothing in it counts as deleted")
            case .treeBack:
                let path = desk.withLock { $0.path(of: notice.root) }.appending(notice.path)
                log.logger.notice("\(path) is back; what differs in it is looked at")
            // How it is watched, and what cannot be read, is told by the snapshot.
            case .unreadable, .directoryAppeared, .directoryVanished, .finished, .created, .changed, .vanished,
                .renamed, .attributesChanged, .notRegular, .overflow, .healed:
                break
            }
        }
    }

    /// Which subsystems owe an answer for too long, of all those of these names.
    package func silent(_ stuck: [Subsystem.Snapshot], of names: [String], now: Moment) {
        let byName = Dictionary(stuck.map { ($0.name, $0) }) { first, _ in first }
        for name in names {
            let stuck = byName[name]
            var (code, subject) = (ProblemCode.queueStuck, name)
            var parameters: [ProblemParameter: ProblemValue] = [
                .name: .text(name), .age: .seconds(Int64(stuck?.silence(now: now) ?? 0)),
                .reason: .text(stuck?.step ?? "unknown"),
            ]
            if let inbox = Subsystem.inbox(ofScan: name) {
                (code, subject) = (.inboxStalled, inbox)
                parameters[.inbox] = .text(inbox)
                parameters[.path] = .path(desk.withLock { $0.path(of: inbox) })
            } else if name == Subsystem.library {
                (code, subject) = (.libraryStalled, "")
                parameters[.path] = .path(desk.withLock { $0.settings?.library?.path ?? "" })
                parameters[.count] = .count(waitingCount())
            }
            // Raising anew with another age each tick would tell nothing new.
            let isKnown = desk.withLock { $0.board.all.contains { $0.code == code && $0.subject == subject } }
            if (stuck != nil) != isKnown { set(code, subject: subject, stuck.map { _ in parameters }) }
        }
    }

    /// A hook ended badly, or well again (nil).
    package func hookFailed(_ name: String, reason: String?) {
        change { desk, now in
            guard let reason else {
                desk.hookFailures[name] = nil
                desk.board.clear(.hookFailing, subject: name)
                return
            }
            desk.hookFailures[name, default: 0] += 1
            desk.board.raise(
                .hookFailing, subject: name,
                [.name: .text(name), .count: .count(desk.hookFailures[name] ?? 1), .reason: .text(reason)], at: now)
        }
    }

    /// A monitor's handler threw.
    package func monitorDisabled(_ monitor: MonitorDescription, error: any Error) {
        log.handlerFailed(monitor, error: error)
        set(
            .monitorDisabled, subject: monitor.label,
            [.name: .text("\(monitor.kind) \"\(monitor.label)\""), .reason: .text("\(error)")])
    }

    /// How the log fares.
    package func logSink(_ snapshot: LogSinkSnapshot) {
        set(
            .journalDropped,
            snapshot.sendingSince != nil && snapshot.dropped > 0
                ? [.count: .count(Int(clamping: snapshot.dropped))] : nil)
    }

    /// The last reload was refused, or taken (nil).
    package func configuration(refused mistakes: Int?, path: BytePath) {
        set(.configurationRefused, mistakes.map { [.count: .count($0), .path: .path(path)] })
    }

    /// Arrivals that were deferred for long, and library trouble's waiting count.
    package func arrivals(_ book: ArrivalBook, now: Moment) {
        waiting.withLock { $0 = book.arrivals.count }
        var long: [String: [Arrival]] = [:]
        for arrival in book.arrivals.values {
            guard case .deferred = arrival.stage, now.seconds(since: arrival.firstSeen) > Self.longDeferral else {
                continue
            }
            long[arrival.key.inbox, default: []].append(arrival)
        }
        for inbox in book.inboxes {
            let oldest = long[inbox]?.min { $0.firstSeen.monotonic < $1.firstSeen.monotonic }
            set(
                .photosDeferred, subject: inbox,
                oldest.map { arrival in
                    [
                        .count: .count(long[inbox]?.count ?? 1),
                        // In whole minutes, so that the row changes seldom.
                        .age: .seconds(Int64(now.seconds(since: arrival.firstSeen) / 60) * 60),
                        .path: .text("\(arrival.key)"),
                        .next: .moment(arrival.waitsUntil?.wall.seconds ?? now.wall.seconds),
                    ]
                })
        }
    }

    /// Files in quarantine, and the last of them.
    package func quarantine(holds count: Int, last: BytePath?) {
        set(.photosQuarantined, count == 0 ? nil : [.count: .count(count), .path: .path(last ?? "")])
    }

    /// Somebody begins to look whether directories meet; nothing more is taken until ``nested(_:)``.
    package func looksForNesting() { desk.withLock { $0.nestingLooks += 1 } }

    /// Directories that meet by mounts, a sentence each; while there are any, nothing is filed.
    package func nested(_ sentences: [String]) {
        desk.withLock { desk in
            desk.isNested = !sentences.isEmpty
            desk.nestingLooks -= 1
        }
        set(.placesNested, sentences.first.map { [.reason: .text($0), .count: .count(waitingCount())] })
    }

    private static let longDeferral = 60.0

    private func waitingCount() -> Int { waiting.withLock { $0 } }
}

extension ProblemDesk.Desk {
    func path(of inbox: String) -> BytePath { settings?.inboxes.first { $0.name == inbox }?.path ?? "" }
}

extension Storage {
    fileprivate mutating func set(_ element: Storage, _ isFailing: Bool) {
        if isFailing { insert(element) } else { remove(element) }
    }
}

extension CatalogueError {
    /// Whether writing to it may show that it is over: not so where some pages are damaged, and others are not.
    fileprivate var mayHeal: Bool { ![.corrupt, .newerSchema, .olderSchema, .missing].contains(code) }
}

// Subsystems whose silence is reported as an inbox's or the library's own.
extension Subsystem {
    /// How often each is asked, and signs of the watch are read, where no service manager says so.
    package static let reviewInterval = Duration.seconds(5)

    /// The one that looks whether the library stands.
    package static let library = "library"

    /// The one that looks at an inbox. (Its files are taken by another one, which waits for the library's disk, too.)
    package static func scan(of inbox: String) -> String { scanPrefix + inbox }
    /// The inverse; nil for other subsystems.
    package static func inbox(ofScan name: String) -> String? {
        name.hasPrefix(scanPrefix) ? String(name.dropFirst(scanPrefix.count)) : nil
    }
    private static let scanPrefix = "scan of "
}
