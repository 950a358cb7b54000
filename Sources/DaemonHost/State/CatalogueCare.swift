import Catalogue
import DaemonSupport
import FileValues
import Ingest
import LibraryCare
import LinuxKernel
import Logging
import PhotoModel
import QueueActors
import Reporting
import Settings
import SystemMonitor

/// The daemon's catalogue: opened under the lock of the state directory, checked while photos are filed, and written anew
/// if its file is lost.
final class CatalogueCare: Sendable {
    let catalogue: Catalogue
    private let lock: StateLock
    private let log: DaemonLog
    private let problems: StorageProblems
    private let checks = MonitorQueue(label: "photo-inbox.check")
    private let isRestoring = Locked(false)
    private let restart = Locked<Restart?>(nil)

    private struct Restart: Sendable {
        let run: @Sendable () async -> Void
    }

    var file: CatalogueFile { catalogue.file }

    init(_ settings: Settings, under lock: StateLock, log: DaemonLog, problems: StorageProblems) throws {
        let file = try lock.openCatalogue(at: settings.catalogue)
        if let path = settings.catalogue.file { try allowGroupToRead(path) }
        catalogue = Catalogue(
            file,
            subsystem: Subsystem(
                name: "catalogue", queue: MonitorQueue(label: "photo-inbox.catalogue"), isVital: true))
        self.lock = lock
        self.log = log
        self.problems = problems
    }

    /// A large catalogue is checked while photos are filed. One that is damaged can only be set aside by a start, so this
    /// calls `restart`, which ends the daemon: a service manager starts it again.
    func checkIfDue(restart: @escaping @Sendable () async -> Void) {
        self.restart.withLock { $0 = Restart(run: restart) }
        noteBegunAgain()
        guard file.isUnchecked else { return }
        checks.async { [self] in
            do throws(CatalogueError) { try file.check() } catch {
                problems.symptom(.catalogue(failure: error))
                guard error.code == .corrupt else { return }
                guard file.isMarkedDamaged else {
                    // Without the mark the next start would find the damage late again, and so on.
                    return log.logger.error("\(error); no file can be made beside it, continuing")
                }
                log.logger.error("\(error); ending, since the next start sets it aside and makes another one")
                TaskQueue.start(restart)
            }
        }
    }

    private func noteBegunAgain() {
        let count = file.takeBegunAgain()
        guard count > 0 else { return }
        let words = HumanText.count(count, "filing, move or request is", "filings, moves and requests are")
        log.logger.notice("the catalogue had gone back to an earlier state: \(words) finished again")
    }

    /// Has the catalogue written anew if its file was removed or replaced; from any thread, waits for nothing.
    func restoreSoon() {
        guard isRestoring.withLock({ $0.set() }) else { return }
        TaskQueue.start {
            await self.restore()
            self.isRestoring.withLock { $0 = false }
        }
    }

    private func restore() async {
        noteBegunAgain()
        guard let loss = try? await catalogue.perform("looking at its file", { $0.loss() }) else { return }
        problems.symptom(.catalogue(failure: loss))
        guard file.place.file != nil else {
            guard let restart = restart.withLock({ $0 }) else { return }
            log.logger.error("catalogue: \(loss.message); ending, since the next start records again what it lacks")
            TaskQueue.start(restart.run)
            return
        }
        do throws(CatalogueError) {
            let aside = try await catalogue.perform("writing it anew") { try $0.restore(at: Moment.now.wall) }
            let found = aside.map { "; what lay there is \(escapeForDisplay($0.utf8)) now" } ?? ""
            log.logger.warning(
                "catalogue: \(loss.message); it was still open and is written to \(file.path) again\(found)")
            problems.symptom(.catalogue(failure: nil))
        } catch { problems.symptom(.catalogue(failure: error)) }
    }

    /// Returns when all of it is on the disk, and the file is closed.
    func close() async {
        await restore()
        await catalogue.flush()
        file.close()
    }
}
