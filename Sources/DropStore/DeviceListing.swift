package import FileValues
import Glibc
package import LinuxKernel
import SystemPackage

/// Why a listing is not changed.
package enum ListingRefusal: Error, Hashable, Sendable {
    case notFound
    case noParent
    case isFolder
    case exists
    /// It is, or has, what is to be moved.
    case isInside
    /// What is below it would have too long a path.
    case tooLong
    /// It has as many rows as it may.
    case full
    case failed(SystemCallError)
}

/// What a device has put, as long as the device exists: its photos have left the inbox long before. A file of lines in the store's
/// directory. Any thread; calls wait for the disk.
///
/// A row of a photo is announced, durably, before the photo gets its name, and put afterwards: what a crash leaves announced is put
/// if its upload has its name.
package final class DeviceListing: Sendable {
    private struct State {
        var table = ListingTable()
        /// Announced rows, by their numbers.
        var announced: [UInt64: ListingEntry] = [:]
        /// Whether it was reported that rows are forgotten.
        var isReported = false
        /// What is done, and could not be written.
        var owed: [ListingEntry] = []
    }

    /// The most rows, and of these folders. Where it is full, the files that were sent first are forgotten.
    private let limit: (rows: Int, folders: Int)
    /// The most bytes of all names, and of the paths of folders.
    private static let bytes = 16 << 20
    /// Lines beyond twice the rows before it is written anew.
    private static let slack = 1_024

    private let name: BytePath
    private let file: LineFile<ListingLine>
    private let state: Locked<State>
    /// The store's directory, again: it lives as long as this.
    private let hidden: OwnedDescriptor
    private let isHeld: @Sendable (UploadID) -> Bool
    private let log: @Sendable (String) -> Void
    /// One long folder is sorted at a time. Of a value without a size, Thread Sanitizer reports false races.
    private static let sorting = Locked(false)

    /// `isHeld` says whether an upload is still without a name, `isPlaced` whether it has one.
    init(
        _ name: BytePath, in hidden: consuming OwnedDescriptor, limit: (rows: Int, folders: Int),
        log: @escaping @Sendable (String) -> Void, isHeld: @escaping @Sendable (UploadID) -> Bool,
        isPlaced: (UploadID) -> Bool
    ) throws(SystemCallError) {
        (self.name, self.limit) = (name, limit)
        file = try LineFile(name, in: hidden)
        var table = ListingTable()
        var announced: [UInt64: (id: UploadID, path: BytePath, row: ListingRow)] = [:]
        let content = try file.read { line in
            table.apply(line.entry)
            switch line.entry {
            case .announced(let id, let path, let row): announced[row.number] = (id, path, row)
            case .put(_, let row): announced[row.number] = nil
            case .removed, .moved: break
            }
        }
        if content.damaged > 0 {
            let copy = name.addingSuffix(".damaged")
            try? hidden.unlink(copy)
            let isKept = (try? hidden.link(name, as: copy)) != nil
            log(
                "\(content.damaged) lines of \(DropStore.directory)/\(name) cannot be read and are left out"
                    + (isKept ? "; \(copy) has them" : ""))
        }
        var isChanged = content.isTorn || content.damaged > 0 || !announced.isEmpty
        for each in announced.values.sorted(by: { $0.row.number < $1.row.number })
        where isPlaced(each.id) && each.row.number > table[each.path]?.number ?? 0 {
            table.apply(.put(each.path, each.row))
        }
        for (folder, rows) in table.folders {
            for (name, row) in rows {
                guard case .held(let id) = row.kind, !isHeld(id) else { continue }
                table.apply(.removed(folder.appending(name)))
                isChanged = true
            }
        }
        if isChanged { try file.replace(table.entries.map { ListingLine($0) }, in: hidden) }
        state = Locked(State(table: table))
        (self.isHeld, self.log) = (isHeld, log)
        self.hidden = hidden
    }

    var isBroken: Bool { file.isBroken }

    // MARK: - What is there

    /// What has this path; nil for the root, too, which is a folder.
    package func row(at path: BytePath) -> ListingRow? {
        state.withLock { $0.table[path] }.flatMap { isCurrent($0) ? $0 : nil }
    }

    package func isFolder(_ path: BytePath) -> Bool { state.withLock { $0.table.isFolder(path) } }

    /// How many rows a folder has, at most.
    package func count(in folder: BytePath) -> Int { state.withLock { $0.table.folders[folder]?.count ?? 0 } }

    /// What is in a folder, by its names.
    package func rows(in folder: BytePath) -> [(name: BytePath, row: ListingRow)] {
        Self.sorting.withLock { _ in
            let rows = state.withLock { $0.table.folders[folder] } ?? [:]
            var found: [(name: BytePath, row: ListingRow)] = []
            found.reserveCapacity(rows.count)
            for (name, row) in rows where isCurrent(row) { found.append((name, row)) }
            found.sort { $0.name < $1.name }
            return found
        }
    }

    /// A held file may have been ended by the store.
    private func isCurrent(_ row: ListingRow) -> Bool { if case .held(let id) = row.kind { isHeld(id) } else { true } }

    // MARK: - Changes

    package func makeFolder(_ path: BytePath, modified: Int64) throws(ListingRefusal) {
        _ = try change { state throws(ListingRefusal) in
            guard !path.isEmpty, state.table[path].map(isCurrent) != true else { throw .exists }
            guard state.table.isFolder(path.parent) else { throw .noParent }
            guard state.table.folders.count <= limit.folders else { throw .full }
            return [.put(path, ListingRow(.folder, modified: modified, number: Self.number(state.table)))]
        }
    }

    /// Throws if a file cannot have this path.
    package func check(_ path: BytePath) throws(ListingRefusal) {
        try state.withLock { state throws(ListingRefusal) in try Self.check(path, state) }
    }

    private static func check(_ path: BytePath, _ state: State) throws(ListingRefusal) {
        guard !state.table.isFolder(path) else { throw .isFolder }
        guard state.table.isFolder(path.parent) else { throw .noParent }
    }

    /// Lists a file, with `overwrites` in place of what has its path. Returns the uploads that no row has any more.
    package func put(
        _ path: BytePath, _ kind: ListingRow.Kind, size: UInt64 = 0, modified: Int64, overwrites: Bool = true
    ) throws(ListingRefusal) -> [UploadID] {
        try change { state throws(ListingRefusal) in
            guard overwrites || state.table[path].map(isCurrent) != true else { throw .exists }
            try Self.check(path, state)
            return [.put(path, ListingRow(kind, size: size, modified: modified, number: Self.number(state.table)))]
        }
    }

    /// Says that a file is listed once its upload has its name; with `replacesFolder`, in place of a folder, too.
    package func announce(
        _ id: UploadID, _ path: BytePath, size: UInt64, modified: Int64, replacesFolder: Bool = false
    ) throws(ListingRefusal) -> ListingRow {
        var row = ListingRow(.sent, size: size, modified: modified, number: 0)
        _ = try change { state throws(ListingRefusal) in
            guard replacesFolder || !state.table.isFolder(path) else { throw .isFolder }
            guard state.table.isFolder(path.parent), !path.isEmpty else { throw .noParent }
            row = ListingRow(.sent, size: size, modified: modified, number: Self.number(state.table))
            state.announced[row.number] = .announced(id, path, row)
            return [.announced(id, path, row)]
        }
        return row
    }

    /// Lists an announced file whose upload has its name, in place of what has its path, and of the row by which it was held. Returns
    /// the uploads that no row has any more. The announcement is durable, so nothing waits for the disk.
    package func list(
        _ row: ListingRow, at path: BytePath, movedFrom other: (path: BytePath, id: UploadID)? = nil
    ) -> [UploadID] {
        state.withLock { state in
            var entries = [ListingEntry.put(path, row)]
            // Another file may have been put there meanwhile.
            if let other, state.table[other.path]?.kind == .held(other.id) { entries.append(.removed(other.path)) }
            let held = state.table.held(path)
            do throws(SystemCallError) {
                try file.append((state.owed + entries).map { ListingLine($0) })
                state.owed = []
            } catch {
                // Before the next line: that may be about the same path.
                state.owed += entries
            }
            for entry in entries { state.table.apply(entry) }
            state.announced[row.number] = nil
            return held
        }
    }

    /// An announced file got no name.
    package func withdraw(_ row: ListingRow) { state.withLock { $0.announced[row.number] = nil } }

    /// Removes a row with all below it: nothing else. Returns the uploads that no row has any more.
    package func remove(_ path: BytePath) throws(ListingRefusal) -> [UploadID] {
        try change { state throws(ListingRefusal) in
            guard let row = state.table[path], isCurrent(row) else { throw .notFound }
            return [.removed(path)]
        }
    }

    /// Gives a row, with all below it, another path: nothing else. With `overwrites`, in place of what has that path. Returns the
    /// uploads that no row has any more.
    package func move(_ path: BytePath, to other: BytePath, overwrites: Bool) throws(ListingRefusal) -> [UploadID] {
        try change { state throws(ListingRefusal) in
            guard let row = state.table[path], isCurrent(row) else { throw .notFound }
            try checkMove(path, to: other, overwrites: overwrites, state)
            return [.moved(path, to: other)]
        }
    }

    /// Throws if a row cannot be moved so. Returns whether it replaces another.
    package func checkMove(_ path: BytePath, to other: BytePath, overwrites: Bool) throws(ListingRefusal) -> Bool {
        try state.withLock { state throws(ListingRefusal) in
            try checkMove(path, to: other, overwrites: overwrites, state)
            return state.table[other].map(isCurrent) == true
        }
    }

    private func checkMove(
        _ path: BytePath, to other: BytePath, overwrites: Bool, _ state: State
    ) throws(ListingRefusal) {
        guard !path.isEmpty, !other.isEmpty, !other.isInside(path), !path.isInside(other) else { throw .isInside }
        guard state.table.isFolder(other.parent) else { throw .noParent }
        guard overwrites || state.table[other].map(isCurrent) != true else { throw .exists }
        guard state.table.longest(path) - path.bytes.count + other.bytes.count <= DropName.limit else { throw .tooLong }
    }

    private static func number(_ table: ListingTable) -> UInt64 {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return max(table.last + 1, UInt64(max(0, now.tv_sec)) * 1_000_000 + UInt64(now.tv_nsec) / 1_000)
    }

    /// Writes what `body` says, does it, and waits until it is durable. Returns the uploads that no row has any more.
    private func change(
        _ body: (inout State) throws(ListingRefusal) -> [ListingEntry]
    ) throws(ListingRefusal) -> [UploadID] {
        let held = try state.withLock { state throws(ListingRefusal) in
            var entries = try body(&state)
            if state.table.count >= limit.rows || state.table.bytes >= Self.bytes, entries.contains(where: \.addsRow) {
                let old = state.table.oldest(max(1, limit.rows / 100))
                guard !old.isEmpty else { throw .full }
                if !state.isReported {
                    log("\(name) has as many rows as it may: what was sent first is forgotten, and may be sent again")
                }
                state.isReported = true
                entries = old.map { .removed($0) } + entries
            }
            var held: [UploadID] = []
            do throws(SystemCallError) {
                try file.append((state.owed + entries).map { ListingLine($0) })
                state.owed = []
                for entry in entries {
                    switch entry {
                    case .put(let path, _), .removed(let path), .moved(_, let path): held += state.table.held(path)
                    case .announced: break
                    }
                    state.table.apply(entry)
                }
                if file.lines > 2 * state.table.count + Self.slack {
                    let all = state.table.entries + state.announced.values
                    try file.replace(all.map { ListingLine($0) }, in: hidden)
                }
            } catch { throw .failed(error) }
            return held
        }
        do throws(SystemCallError) { try file.sync() } catch { throw .failed(error) }
        return held
    }
}

extension ListingEntry {
    fileprivate var addsRow: Bool {
        switch self {
        case .put, .announced: true
        case .removed, .moved: false
        }
    }
}

/// The listings that are in memory: those used last, and those in use. By the names of their files.
struct Listings {
    private struct Loaded {
        weak var listing: DeviceListing?
    }

    /// How many of those that nobody uses.
    private static let most = 3

    private var loaded: [BytePath: Loaded] = [:]
    private var recent: [(name: BytePath, listing: DeviceListing)] = []

    var isBroken: Bool { loaded.values.contains { $0.listing?.isBroken == true } }

    mutating func listing(
        _ name: BytePath, _ load: () throws(SystemCallError) -> DeviceListing
    ) throws(SystemCallError) -> DeviceListing {
        let listing: DeviceListing
        if let known = loaded[name]?.listing { listing = known } else { listing = try load() }
        loaded = loaded.filter { $0.value.listing != nil }
        loaded[name] = Loaded(listing: listing)
        recent.removeAll { $0.name == name }
        recent.append((name, listing))
        if recent.count > Self.most { recent.removeFirst() }
        return listing
    }
}

extension DropStore {
    /// What a device has put, read when it is first asked for. One that was added with this name later has another birth, and a listing
    /// of its own.
    package func listing(of name: String, _ person: String, born birth: UInt64) throws(DropError) -> DeviceListing {
        try listings.withLock { listings throws(DropError) in
            try dropping { () throws(SystemCallError) in
                // No name has a plus.
                let (prefix, suffix) = ("\(person)+\(name)+", ".listing")
                let file = BytePath("\(prefix)\(birth)\(suffix)")
                return try listings.listing(file) { () throws(SystemCallError) in
                    for entry in try hidden.entries() where entry.name.bytes.starts(with: prefix.utf8) {
                        let rest = String(decoding: entry.name.bytes.dropFirst(prefix.utf8.count), as: UTF8.self)
                        // A request of the device before may still be under way.
                        if let other = UInt64(rest.prefix { $0 != "." }), other < birth {
                            try hidden.unlink(entry.name)
                        }
                    }
                    return try DeviceListing(
                        file, in: try hidden.openDirectoryBeneath(""), limit: options.listed, log: options.log,
                        isHeld: { [weak self] id in
                            // Also one whose new name was said, and that did not get it.
                            switch (try? self?.record(id))?.phase {
                            case .receiving, .whole: true
                            default: false
                            }
                        },
                        isPlaced: { id in finish(announced: id) })
                }
            }
        }
    }

    /// Whether an announced upload has its name in the inbox. One that was held, and was ended by a crash when its name was said,
    /// gets it now: all its bytes are there.
    private func finish(announced id: UploadID) -> Bool {
        guard var known = try? record(id) else { return false }
        if known.phase == .receiving, known.offset > 0, known.offset == known.length ?? known.offset,
            !known.new.name.isHeld
        {
            known = (try? complete(id)) ?? known
        }
        if case .placed = known.phase { return true }
        return false
    }
}
