import Dispatch
import Fetching
import FileValues
import Filing
import Glibc
import LinuxKernel
import SystemPackage

/// The inbox of a batch. Files are made and discarded by the batch's queue; what waits for the disk is done on a queue of
/// its own: syncing, naming, taking the hidden directory away.
final class FetchStore: Sendable {
    /// A download that has come whole.
    private struct Whole: Sendable {
        let member: Int
        let partial: PartialDownload
        let name: BytePath
        let address: WebAddress
        let done: @Sendable (FetchEnd) -> Void
    }

    private struct State {
        var run: BytePath?
        /// Keeps the run's directory from being taken away as an empty one.
        var hold: SharedFile?
        var waiting: [Whole] = []
        var withheld: Set<Int> = []
    }

    private let inbox: ImportInbox
    private let date: String
    private let state = Locked(State())
    private let files = DispatchQueue(label: "photo-inbox.fetch.files")

    /// The inbox at `path`; `date` names the directory of a run in it: 2026-11-22.
    init(_ path: BytePath, minFree: UInt64, date: String) throws(SystemCallError) {
        inbox = try ImportInbox(path, minFree: minFree)
        self.date = date
    }

    func makePartial() throws(SystemCallError) -> PartialDownload {
        let (name, file) = try inbox.makeCopy()
        return PartialDownload(name: name, file: file)
    }

    func discard(_ partial: PartialDownload) { inbox.discard(partial.name) }

    func room() throws(SystemCallError) -> UInt64 { try inbox.room() }

    /// A file that is being put into the inbox is not to appear there, if that is not too late.
    func withhold(_ member: Int) { state.withLock { _ = $0.withheld.insert(member) } }

    /// Makes a whole file durable and gives it its name; `done` is called on some thread. Those that come while others are
    /// under way share their syncs.
    func put(
        _ member: Int, _ partial: PartialDownload, as name: BytePath, from address: WebAddress,
        done: @escaping @Sendable (FetchEnd) -> Void
    ) {
        state.withLock {
            $0.waiting.append(Whole(member: member, partial: partial, name: name, address: address, done: done))
        }
        files.async { [self] in
            let all = state.withLock { state in
                defer { state.waiting = [] }
                return state.waiting
            }
            if !all.isEmpty { place(all) }
        }
    }

    private func place(_ all: [Whole]) {
        // All are under way before the first is waited for.
        for one in all { one.partial.file.descriptor.startWriting() }
        var synced: [Whole] = []
        for one in all {
            do throws(SystemCallError) {
                try inbox.dress(one.partial.file.descriptor, isDirectory: false)
                // As browsers and curl --xattr leave it; the daemon keeps it with the photo. Not every file system can.
                one.partial.file.descriptor.setAttribute(originAttribute, Array(one.address.text.utf8))
                try one.partial.file.descriptor.sync()
                synced.append(one)
            } catch { one.done(FetchEnd(.failed, "the inbox: \(error)")) }
        }
        var named: [(one: Whole, place: BytePath)] = []
        do throws(SystemCallError) {
            // The run's directory is made for something that will be in it.
            let wanted = state.withLock { state in synced.filter { !state.withheld.contains($0.member) } }
            guard !wanted.isEmpty else { return withhold(synced, but: []) }
            let run = try currentRun()
            let directory = try inbox.openDirectory(run)
            withhold(synced, but: Set(wanted.map(\.member)))
            synced = wanted
            for one in wanted {
                let name = try inbox.place(one.partial.name, in: directory, as: one.name)
                named.append((one, run.appending(name)))
            }
            try directory.sync()
            for (one, place) in named { one.done(FetchEnd(.arrived, place.escaped, bytes: one.partial.length)) }
        } catch {
            // Those that have a name keep it: their bytes are durable, and the daemon may have taken them by now.
            for (one, place) in named { one.done(FetchEnd(.arrived, place.escaped, bytes: one.partial.length)) }
            for one in synced.dropFirst(named.count) { one.done(FetchEnd(.failed, "the inbox: \(error)")) }
        }
    }

    private func withhold(_ all: [Whole], but wanted: Set<Int>) {
        for one in all where !wanted.contains(one.member) { one.done(FetchEnd(.cancelled, "cancelled")) }
    }

    private func currentRun() throws(SystemCallError) -> BytePath {
        if let run = state.withLock({ $0.run }) { return run }
        let (made, hold) = try inbox.makeRun(.fetch, date: date)
        state.withLock { ($0.run, $0.hold) = (made, hold) }
        return made
    }

    /// Takes the hidden directory away; `done` is called on some thread with the directory of what has arrived.
    func close(done: @escaping @Sendable (String?) -> Void) {
        files.async { [self] in
            state.withLock { $0.hold = nil }
            inbox.close()
            done(state.withLock { $0.run?.escaped })
        }
    }
}
