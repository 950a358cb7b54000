import Dispatch
import Fetching
import FileValues
import Filing
import Glibc
import HTTPValues
import LinuxKernel
import SystemPackage

/// The inbox of a batch. Files are created and discarded on the batch's queue; work that waits for the disk is done on its
/// own queue: syncing, naming, removing the hidden directory.
final class FetchStore: Sendable {
    private struct Whole: Sendable {
        let member: Int
        let partial: PartialDownload
        let name: BytePath
        let address: WebAddress
        let done: @Sendable (FetchEnd) -> Void
    }

    private struct State {
        var run: BytePath?
        /// Keeps the run's directory from being removed while it is empty.
        var hold: HeldDescriptor?
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

    /// Keeps a stored file from appearing in the inbox, if it has not yet.
    func withhold(_ member: Int) { state.withLock { _ = $0.withheld.insert(member) } }

    /// Makes a complete file durable and names it; `done` is called on any thread. Files that are added while others are
    /// written share their syncs.
    func put(
        _ member: Int, _ partial: PartialDownload, as name: BytePath, from address: WebAddress,
        done: @escaping @Sendable (FetchEnd) -> Void
    ) {
        state.withLock {
            $0.waiting.append(Whole(member: member, partial: partial, name: name, address: address, done: done))
        }
        files.async { [self] in
            let all = state.withLock { $0.waiting.takeAll() }
            if !all.isEmpty { place(all) }
        }
    }

    private func place(_ all: [Whole]) {
        // Write-back of all starts before the first sync.
        for one in all { one.partial.file.descriptor.startWriting() }
        var synced: [Whole] = []
        for one in all {
            do throws(SystemCallError) {
                try inbox.setAttributes(of: one.partial.file.descriptor, isDirectory: false)
                // As browsers and curl --xattr do; the daemon records it with the photo. Not every file system supports it.
                one.partial.file.descriptor.setAttribute(originAttribute, Array(one.address.text.utf8))
                try one.partial.file.descriptor.sync()
                synced.append(one)
            } catch { one.done(FetchEnd(.failed, "the inbox: \(error)")) }
        }
        var named: [(one: Whole, place: BytePath)] = []
        do throws(SystemCallError) {
            // The run's directory is created only for files.
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
            try directory.syncDirectory()
            for (one, place) in named { one.done(FetchEnd(.arrived, place.escaped, bytes: one.partial.length)) }
        } catch {
            // Named files keep their names: they are durable, and the daemon may have filed them by now.
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

    /// Removes the hidden directory; `done` is called on any thread with the directory of the files that arrived.
    func close(done: @escaping @Sendable (String?) -> Void) {
        files.async { [self] in
            state.withLock { $0.hold = nil }
            inbox.close()
            done(state.withLock { $0.run?.escaped })
        }
    }
}
