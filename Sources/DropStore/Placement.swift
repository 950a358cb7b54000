import FileValues
import Filing
import Glibc
import LinuxKernel
import PhotoModel
import SystemPackage

/// Gives whole uploads their names in the inbox. Those that come while others are placed are placed together, and share their
/// syncs.
final class Placement: Sendable {
    /// Uploads that get their names together, and what came of it.
    private final class Job: Sendable {
        let ids: [UploadID]
        let result = Locked<Result<Void, DropError>?>(nil)

        init(_ ids: [UploadID]) { self.ids = ids }
    }

    private struct Plan {
        let id: UploadID
        let job: Job
        var path: BytePath
    }

    struct Held {
        /// Directories of the inbox that are durable, and have their mode.
        var directories: Set<BytePath> = []
    }

    let attributes: InboxAttributes
    private let trial: FileSystemTrial
    /// Held while names are given.
    let lock = Locked(Held())
    private let waiting = Locked<[Job]>([])

    /// How often a name that another program took is replaced by another.
    private static let attempts = 64

    init(_ attributes: InboxAttributes, _ trial: FileSystemTrial) {
        (self.attributes, self.trial) = (attributes, trial)
    }

    /// Places uploads, as far as they are whole, into one directory if their names differ.
    func place(_ ids: [UploadID], in store: DropStore) throws(DropError) {
        let job = Job(ids)
        waiting.withLock { $0.append(job) }
        lock.withLock { held in
            // Somebody else has placed it while this thread waited.
            if job.result.withLock({ $0 != nil }) { return }
            let jobs = waiting.withLock { $0.takeAll() }
            place(jobs, &held, store)
        }
        try (job.result.withLock { $0 } ?? .success(())).get()
    }

    /// Throws if an upload cannot get its name: before its bytes are sent.
    func check(_ new: NewUpload, in store: DropStore) throws(DropError) {
        let path = BytePath(new.owner.description)
        // What the file system allows may be a name that the daemon ignores.
        switch NameRules.decide(trial.fitting(path: path.appending(new.name.path))) {
        case .take, .sidecar: break
        case .unfinished where new.name.isHeld: break
        case .unfinished(let rule), .ignored(let rule): throw .ignoredName(rule: rule)
        }
        try dropping { () throws(SystemCallError) in
            let directory: OwnedDescriptor
            do throws(SystemCallError) { directory = try store.root.openDirectoryBeneath(path) } catch {
                if error.code == .noSuchFileOrDirectory { return }
                throw error
            }
            guard try FileStatus(of: directory).device == FileStatus(of: store.root).device else {
                throw SystemCallError("renameat2", .improperLink, path: path)
            }
            let number = directory.raw
            try systemCall("faccessat", path: path) { faccessat(number, ".", W_OK | X_OK, AT_EACCESS) }
        }
    }

    private func place(_ jobs: [Job], _ held: inout Held, _ store: DropStore) {
        do throws(DropError) { try store.checkInbox() } catch {
            for job in jobs { job.result.withLock { $0 = .failure(error) } }
            return
        }
        var plans: [Plan] = []
        var taken: Set<BytePath> = []
        var found: Set<UploadID> = []
        for job in jobs {
            // Two members of a set that end at the same time both ask for it.
            let ids = job.ids.filter { isWhole($0, store) && found.insert($0).inserted }
            do throws(SystemCallError) {
                let new = try plan(ids, &taken, store)
                if new.isEmpty { continue }
                // At once: where the next one goes depends on it.
                try store.record(new.map { .placing($0.0, $0.1) })
                plans += new.map { Plan(id: $0.0, job: job, path: $0.1) }
            } catch { job.result.withLock { $0 = .failure(DropError(error)) } }
        }
        do throws(SystemCallError) {
            if !plans.isEmpty { try store.ledger.sync() }
        } catch {
            for job in jobs { job.result.withLock { $0 = .failure(DropError(error)) } }
            return
        }
        var directories: [BytePath: HeldDescriptor] = [:]
        var placed: [Plan] = []
        for var plan in plans {
            do throws(SystemCallError) {
                try rename(&plan, &directories, &held, store)
                placed.append(plan)
            } catch {
                plan.job.result.withLock { $0 = .failure(DropError(error)) }
                // It has no name, and may be tried again.
                if let digest = try? store.record(plan.id).digest { try? store.record([.whole(plan.id, digest)]) }
            }
        }
        do throws(SystemCallError) {
            for directory in directories.values { try directory.descriptor.syncDirectory() }
            if !placed.isEmpty { try store.hidden.syncDirectory() }
            try store.record(placed.map { .placed($0.id) })
        } catch {
            for plan in placed { plan.job.result.withLock { $0 = .failure(DropError(error)) } }
        }
        for job in jobs { job.result.withLock { $0 = $0 ?? .success(()) } }
    }

    private func isWhole(_ id: UploadID, _ store: DropStore) -> Bool {
        if case .whole = (try? store.record(id))?.phase { true } else { false }
    }

    /// A path for each: all in one directory of the day where all names are free, if they can be.
    private func plan(
        _ ids: [UploadID], _ taken: inout Set<BytePath>, _ store: DropStore
    ) throws(SystemCallError) -> [(UploadID, BytePath)] {
        let records = books(ids, store)
        guard Set(records.map(\.1.name.path)).count == records.count else {
            var plans: [(UploadID, BytePath)] = []
            for id in ids { plans += try plan([id], &taken, store) }
            return plans
        }
        let day = BytePath(store.options.today())
        let first = store.books.withLock { books in
            records.map { books.table.number(for: $0.1, day: store.options.today()) }.max() ?? 0
        }
        let known = taken
        func path(_ new: NewUpload, _ number: Int) -> BytePath {
            trial.fitting(
                path: BytePath(new.owner.description).appending(FileNames.candidate(day, attempt: number))
                    .appending(new.name.path))
        }
        func isFree(_ number: Int) throws(SystemCallError) -> Bool {
            for (_, new) in records {
                let path = path(new, number)
                if known.contains(path) || store.books.withLock({ $0.table.isNamed(path) }) { return false }
                guard try isPathFree(path, in: store.root) else { return false }
            }
            return true
        }
        let number = try FileNames.withFreeNumber { number throws(SystemCallError) -> Int? in
            try isFree(first + number) ? first + number : nil
        } isFree: { number throws(SystemCallError) in
            try isFree(first + number)
        }
        guard let number else { throw SystemCallError("renameat2", .fileExists, path: records.first?.1.name.path) }
        let plans = records.map { ($0.0, path($0.1, number)) }
        taken.formUnion(plans.map(\.1))
        return plans
    }

    private func books(_ ids: [UploadID], _ store: DropStore) -> [(UploadID, NewUpload)] {
        store.books.withLock { books in ids.compactMap { id in books.table[id].map { (id, $0.new) } } }
    }

    private func rename(
        _ plan: inout Plan, _ directories: inout [BytePath: HeldDescriptor], _ held: inout Held, _ store: DropStore
    ) throws(SystemCallError) {
        let record = try? store.record(plan.id)
        let part = try FileStatus(of: plan.id.part, in: store.hidden)
        guard part.kind == .regular, part.links == 1, part.identity.size > 0, part.identity.size == record?.length
        else {
            throw SystemCallError("fstatat", .invalidArgument, path: plan.id.part)
        }
        for _ in 0..<Self.attempts {
            do throws(SystemCallError) {
                let directory = try open(plan.path.parent, &directories, &held, store)
                try store.hidden.rename(plan.id.part, to: directory.descriptor, as: plan.path.name)
                return
            } catch {
                if error.code == .noSuchFileOrDirectory {
                    // Somebody has removed the directory, which was empty.
                    directories[plan.path.parent] = nil
                    held.directories.remove(plan.path.parent)
                    continue
                }
                guard error.code == .fileExists else { throw error }
            }
            var taken: Set = [plan.path]
            guard let other = try self.plan([plan.id], &taken, store).first else { break }
            plan.path = other.1
            try store.record([.placing(plan.id, plan.path)])
            try store.ledger.sync()
        }
        throw SystemCallError("renameat2", .fileExists, path: plan.path)
    }

    private func open(
        _ path: BytePath, _ directories: inout [BytePath: HeldDescriptor], _ held: inout Held, _ store: DropStore
    ) throws(SystemCallError) -> HeldDescriptor {
        if let directory = directories[path] { return directory }
        let isKnown = held.directories.contains(path)
        let directory = HeldDescriptor(
            try attributes.openDirectory(path, below: store.root, isRepairing: !isKnown))
        held.directories.insert(path)
        directories[path] = directory
        return directory
    }

    /// Removes directories that the daemon has emptied, but for the one in which today's search for a free name begins.
    func removeEmptyDirectories(of store: DropStore) {
        let today = store.options.today()
        let paths = store.books.withLock { books in
            Set(
                books.table.uploads.values.compactMap { record -> BytePath? in
                    guard case .placed(_, let path) = record.phase else { return nil }
                    return path.parent
                })
        }
        lock.withLock { held in
            for path in paths {
                var path = path
                while path.components.count > 1,
                    !path.components.contains(BytePath(today)),
                    let parent = try? store.root.openDirectoryBeneath(path.parent),
                    path.name.withCString({ unlinkat(parent.raw, $0, Int32(AT_REMOVEDIR)) }) == 0
                {
                    held.directories.remove(path)
                    path = path.parent
                }
            }
        }
    }
}
