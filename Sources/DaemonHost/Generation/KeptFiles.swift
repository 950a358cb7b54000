import Catalogue
import DaemonSupport
import DirectoryWatch
import FileValues
import LinuxKernel
import Logging
import QueueActors
import SystemMonitor

/// Stores over restarts which files of the inboxes stay there and need nothing more, so that the next start examines only
/// what changed: a file in the state directory, written when the daemon stops and, if there is news, now and then.
///
/// Having lost it costs no more than examining these files again, so nothing about it is ever a reason not to start.
final class KeptFiles: Sendable {
    /// By what a file was judged. Judged by another version, or with a catalogue that knows less than it did, a file is
    /// examined again.
    struct Basis: Hashable {
        let version: String
        /// The number of the catalogue's last outcome: a catalogue that was made anew, or put back from a backup, has a
        /// lower one.
        let lastOutcome: Int64

        init(version: String, lastOutcome: Int64) {
            self.version = version
            self.lastOutcome = lastOutcome
        }

        init?(note: [UInt8]) {
            let lines = String(decoding: note, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            guard lines.count == 2, let outcome = Int64(lines[1]) else { return nil }
            self.init(version: String(lines[0]), lastOutcome: outcome)
        }

        var note: [UInt8] { Array("\(version)\n\(lastOutcome)".utf8) }

        /// Why files that were kept on this basis are to be examined; nil if they need not be.
        func reasonToDiscard(now: Basis) -> String? {
            if version != now.version { return "version \(version) judged them" }
            if lastOutcome > now.lastOutcome { return "the catalogue is older than they are" }
            return nil
        }
    }

    /// Its name in the state directory.
    static let name: BytePath = "settled-files"

    let subsystem: Subsystem
    private let file: WatchMemoryFile
    private let catalogue: CatalogueFile
    private let version: String
    private let log: DaemonLog
    /// What was written last, by the watch's count of changes, and when; touched on whatever queue asks.
    private let last = Locked<(changes: UInt64, at: Moment)>((0, .now))

    /// Seconds between two writings while the daemon runs.
    private static let interval = 300.0

    init(in state: BytePath, catalogue: CatalogueFile, version: String, log: DaemonLog) {
        file = WatchMemoryFile(state.appending(Self.name))
        subsystem = Subsystem(
            name: "settled files", queue: MonitorQueue(label: "photo-inbox.settled"), isVital: false)
        self.catalogue = catalogue
        self.version = version
        self.log = log
    }

    /// What the last life has left; nothing if it is of no use, which is logged. Waits for the disk.
    func load() -> WatchMemory {
        do {
            guard let memory = try file.read() else { return WatchMemory() }
            let now = try currentBasis()
            guard let before = Basis(note: memory.note) else { throw WatchMemoryError(.malformed("its note")) }
            if let reason = before.reasonToDiscard(now: now) {
                log.logger.notice("examining all files of the inboxes again: \(reason)")
                discard()
                return WatchMemory()
            }
            for inbox in memory.rootIdentifiers {
                log.logger.debug("\(memory.count(of: inbox)) files of \(inbox) need nothing more unless they changed")
            }
            return memory
        } catch {
            log.logger.warning(
                "\(file.path.escaped): \(error); examining all files of the inboxes again, continuing")
            discard()
            return WatchMemory()
        }
    }

    /// What is void now must not seem sound later, when the catalogue has grown.
    private func discard() {
        do { try file.remove() } catch { log.logger.warning("\(file.path.escaped): \(error), continuing") }
    }

    /// A watch begins, with what was loaded or with what the last one had: its changes count from 0.
    func watchBegan() { last.withLock { $0.changes = 0 } }

    /// Writes what `watch` knows if there is news and the last time is long ago. On the watch's queue; the disk is
    /// waited for elsewhere.
    func saveIfDue(_ watch: DirectoryWatch) {
        let changes = watch.memoryChanges
        let isDue = last.withLock { last in
            let now = Moment.now
            guard changes != last.changes, now.seconds(since: last.at) >= Self.interval else { return false }
            last = (changes, now)
            return true
        }
        guard isDue else { return }
        let memory = watch.memory()
        subsystem.queue.async { self.write(memory) }
    }

    /// Writes what is known at the end, if there is news since the last time. On any queue; returns when it is durable.
    func save(_ memory: WatchMemory, changes: UInt64) async {
        let isDue = last.withLock { last in
            defer { last = (changes, .now) }
            return changes != last.changes
        }
        await withCheckedContinuation { done in
            subsystem.queue.async {
                if isDue { self.write(memory) }
                done.resume()
            }
        }
    }

    private func write(_ memory: WatchMemory) {
        subsystem.enter("writing \(file.path.escaped)")
        defer { subsystem.idle() }
        do {
            var memory = memory
            memory.note = try currentBasis().note
            try file.write(memory)
        } catch {
            log.logger.warning("\(file.path.escaped): \(error); the next start examines all files again, continuing")
        }
    }

    private func currentBasis() throws(CatalogueError) -> Basis {
        Basis(version: version, lastOutcome: try catalogue.recentOutcomes(limit: 1).first?.id ?? 0)
    }
}
