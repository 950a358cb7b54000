package import Catalogue
package import ControlProtocol
import DirectoryWatch
package import FileValues
import Filing
package import Ingest
package import LinuxKernel
import Logging
package import Reporting
package import Settings
import SystemMonitor
import Systemd

/// The daemon's one problem board: signs come in from every queue, rows go out to the dump, and each beginning and end
/// is told in the journal once.
///
/// Any thread. Nothing is looked at from here; everybody brings what they saw.
package final class ProblemDesk: Sendable {
    struct Desk: Sendable {
        var board = ProblemBoard()
        var kept: [String: Int] = [:]
        var hookFailures: [String: Int] = [:]
        var freeBytes: [BytePath: UInt64] = [:]
        /// Bytes that the photo needed for which the library had no room.
        var needed: UInt64?
        /// How many filed photos are not in the library as they were filed.
        var damaged = 0
        /// How far the library was read again; nil if it never was.
        var verified: VerificationState?
        /// What is told as failing and may heal by itself.
        var failing: Storage = []
        /// Problems that are on the board but not old enough to be shown, or not told yet.
        var told: Set<String> = []
        /// Whether directories of the configuration meet by mounts, and how many looks at that are under way.
        var isNested = false
        var nestingLooks = 0
        var settings: Settings?

        /// What PI-402 tells of the library's room.
        func room(at path: BytePath) -> String {
            let needed = needed.map { "\(HumanText.bytes($0)) needed for a photo" }
            let free = freeBytes[path].map { "\(HumanText.bytes($0)) free" }
            let words = [needed, free].compactMap(\.self).joined(separator: ", ")
            return words.isEmpty ? "no space left" : words
        }
    }

    let desk = Locked(Desk())
    /// Whom it is told that what is shown has changed. A value of a type of its own: see LockedTests.noClosures.
    private struct Watcher { let changed: @Sendable () -> Void }
    private let watcher = Locked<Watcher?>(nil)
    /// Arrivals without an outcome, as last counted.
    package let waiting = Locked(0)
    package let log: InboxLog

    package init(log: InboxLog) { self.log = log }

    /// `changed` is called, on any thread, whenever a problem begins or ends to be shown.
    package func whenShown(_ changed: @escaping @Sendable () -> Void) {
        watcher.withLock { $0 = Watcher(changed: changed) }
    }

    /// A configuration came into force: what is said of inboxes that are gone with the old one is over.
    package func adopt(_ settings: Settings) {
        change { desk, _ in
            let names = Set(settings.inboxes.map(\.name))
            for inbox in desk.settings?.inboxes ?? [] where !names.contains(inbox.name) {
                desk.board.clearAll(subject: inbox.name)
            }
            desk.settings = settings
        }
        set(.noInboxes, settings.inboxes.isEmpty ? [.path: .text("the configuration")] : nil)
    }

    /// Raises the problem with these parameters, or clears it with none.
    package func set(_ code: ProblemCode, subject: String = "", _ parameters: [ProblemParameter: ProblemValue]?) {
        change { desk, now in
            if let parameters {
                desk.board.raise(code, subject: subject, parameters, at: now)
            } else {
                desk.board.clear(code, subject: subject)
            }
        }
    }

    /// Shows at most one of `codes`: the one that has a row. Where another of them was shown until now, it is shown
    /// without its usual delay, so that nothing looks normal in between.
    func setOne(of codes: [ProblemCode], _ rows: [ProblemCode: [ProblemParameter: ProblemValue]]) {
        change { desk, now in
            let isShown = desk.board.all.contains {
                codes.contains($0.code) && $0.subject.isEmpty && now - $0.since >= $0.code.row.showAfter
            }
            for code in codes {
                guard let row = rows[code] else {
                    desk.board.clear(code)
                    continue
                }
                desk.board.raise(code, row, at: isShown ? now - code.row.showAfter : now)
            }
        }
    }

    /// Changes the board, then tells what has begun to be shown and what is no longer.
    func change(_ body: (inout Desk, _ now: Int64) -> Void) {
        let now = Moment.now.wall.seconds
        let (begun, ended) = desk.withLock { desk -> ([Problem], [String]) in
            body(&desk, now)
            let shown = desk.board.visible(at: now)
            let keys = Set(shown.map(Self.key))
            let begun = shown.filter { !desk.told.contains(Self.key($0)) }
            let ended = desk.told.subtracting(keys).sorted()
            desk.told = keys
            return (begun, ended)
        }
        for problem in begun { log.raised(problem) }
        for key in ended { log.cleared(key) }
        if !begun.isEmpty || !ended.isEmpty { watcher.withLock { $0 }?.changed() }
    }

    /// What is old enough is told now; called at each tick of the watchdog.
    package func review() { change { _, _ in } }

    /// The rows for the state dump, while so many photos wait.
    package func rows(now: Moment, waiting: Int? = nil) -> [DaemonState.Problem] {
        var board = desk.withLock { $0.board }
        if let waiting { board.count(waiting: waiting) }
        let seconds = now.wall.seconds
        let clock = LocalClock(at: seconds)
        let all: [(problem: Problem, cause: ProblemCode?)] =
            board.visible(at: seconds).map { ($0, nil) } + board.hidden(at: seconds).map { ($0.problem, $0.cause) }
        return all.map { DaemonState.Problem($0.problem, hiddenBy: $0.cause, clock: clock, of: log.address) }
    }

    /// What is told as failing, and is to be tried where no photo shows whether it still does.
    package var failing: Storage { desk.withLock { $0.failing } }

    /// How many filed photos are known to be damaged or missing.
    package var damagedCount: Int { desk.withLock { $0.damaged } }

    /// How far the library was read again; nil if it never was.
    package var verified: VerificationState? { desk.withLock { $0.verified } }

    /// Whether nothing may be taken out of any inbox: directories meet that must not, or mounts have changed and nobody
    /// has looked yet.
    package var mayBeNested: Bool { desk.withLock { $0.isNested || $0.nestingLooks > 0 } }

    package func free(_ bytes: UInt64, at path: BytePath) {
        desk.withLock { desk in
            desk.freeBytes[path] = bytes
            // Told as it is now, and not as it was when the first photo had no room.
            guard path == desk.settings?.library?.path,
                let told = desk.board.all.first(where: { $0.code == .libraryFull })
            else { return }
            let room = ProblemValue.text(desk.room(at: path))
            desk.board.raise(.libraryFull, told.parameters.merging([.reason: room]) { $1 }, at: told.since)
        }
    }

    package func freeBytes(of path: BytePath) -> Int? { desk.withLock { $0.freeBytes[path].map { Int(clamping: $0) } } }

    private static func key(_ problem: Problem) -> String {
        problem.subject.isEmpty ? problem.code.rawValue : "\(problem.code.rawValue) \(problem.subject)"
    }
}
