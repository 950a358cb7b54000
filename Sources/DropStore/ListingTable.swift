import FileValues
import Filing

/// A file or folder that a device has put.
package struct ListingRow: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case folder
        /// Without a byte: a placeholder.
        case empty
        /// It had its name in the inbox, and may have left since.
        case sent
        /// All of it is durable, without a name in the inbox.
        case held(UploadID)
        /// Of what desktops leave beside photos: nothing of it is kept.
        case litter
    }

    package let kind: Kind
    package let size: UInt64
    /// Seconds since 1970.
    package let modified: Int64
    /// Greater than that of every row before.
    package let number: UInt64

    package init(_ kind: Kind, size: UInt64 = 0, modified: Int64, number: UInt64) {
        (self.kind, self.size, self.modified, self.number) = (kind, size, modified, number)
    }
}

/// What a line of a listing says. Paths are as the device names them.
enum ListingEntry: Hashable, Sendable {
    case put(BytePath, ListingRow)
    /// This row is put as soon as this upload has its name in the inbox.
    case announced(UploadID, BytePath, ListingRow)
    /// With all below it.
    case removed(BytePath)
    case moved(BytePath, to: BytePath)
}

struct ListingLine: CheckedLine, Hashable {
    let entry: ListingEntry

    init(_ entry: ListingEntry) { self.entry = entry }

    var fields: [String] {
        switch entry {
        case .put(let path, let row): ["put", path.escaped] + Self.fields(row)
        case .announced(let id, let path, let row): ["announced", path.escaped] + Self.fields(row) + ["\(id)"]
        case .removed(let path): ["removed", path.escaped]
        case .moved(let path, let other): ["moved", path.escaped, other.escaped]
        }
    }

    init?(fields: [String]) {
        guard fields.count > 1, let path = Self.path(fields[1]) else { return nil }
        switch (fields[0], fields.count) {
        case ("put", 6...7):
            guard let row = Self.row(fields[2...]) else { return nil }
            self.init(.put(path, row))
        case ("announced", 7):
            guard let row = Self.row(fields[2..<6]), let id = UploadID(fields[6]) else { return nil }
            self.init(.announced(id, path, row))
        case ("removed", 2): self.init(.removed(path))
        case ("moved", 3):
            guard let other = Self.path(fields[2]), !other.isInside(path) else { return nil }
            self.init(.moved(path, to: other))
        default: return nil
        }
    }

    private static func path(_ field: String) -> BytePath? {
        BytePath(escaped: field).flatMap { $0.isSafeBeneath ? $0 : nil }
    }

    private static func fields(_ row: ListingRow) -> [String] {
        var (kind, id): (String, [String]) = ("", [])
        switch row.kind {
        case .folder: kind = "folder"
        case .empty: kind = "empty"
        case .sent: kind = "sent"
        case .litter: kind = "litter"
        case .held(let upload): (kind, id) = ("held", ["\(upload)"])
        }
        return ["\(row.size)", "\(row.modified)", "\(row.number)", kind] + id
    }

    private static func row(_ fields: ArraySlice<String>) -> ListingRow? {
        let fields = Array(fields)
        guard let size = UInt64(fields[0]), let modified = Int64(fields[1]), let number = Int64(fields[2]),
            number >= 0
        else {
            return nil
        }
        let kind: ListingRow.Kind
        switch (fields[3], fields.count) {
        case ("folder", 4): kind = .folder
        case ("empty", 4): kind = .empty
        case ("sent", 4): kind = .sent
        case ("litter", 4): kind = .litter
        case ("held", 5):
            guard let id = UploadID(fields[4]) else { return nil }
            kind = .held(id)
        default: return nil
        }
        return ListingRow(kind, size: size, modified: modified, number: UInt64(number))
    }
}

/// What a listing's lines mean, in order. A value without I/O.
struct ListingTable {
    /// The rows of each folder by their names; the root is the empty path.
    private(set) var folders: [BytePath: [BytePath: ListingRow]] = ["": [:]]
    /// Without the root.
    private(set) var count = 0
    /// Of all names, and of the paths of folders.
    private(set) var bytes = 0
    private(set) var last: UInt64 = 0

    subscript(path: BytePath) -> ListingRow? { folders[path.parent]?[path.name] }

    func isFolder(_ path: BytePath) -> Bool { folders[path] != nil }

    /// What does not fit, as after damage, is nothing.
    mutating func apply(_ entry: ListingEntry) {
        switch entry {
        case .put(let path, let row): put(row, path)
        case .announced(_, _, let row): last = max(last, row.number)
        case .removed(let path): remove(path)
        case .moved(let path, let other): move(path, to: other)
        }
    }

    private mutating func put(_ row: ListingRow, _ path: BytePath) {
        last = max(last, row.number)
        // Its folder may have been moved or removed meanwhile, or its line be damaged.
        if self[path.parent] == nil, !path.parent.isEmpty {
            put(ListingRow(.folder, modified: row.modified, number: row.number), path.parent)
        }
        guard isFolder(path.parent), !isFolder(path) || row.kind != .folder else { return }
        remove(path)
        folders[path.parent]?[path.name] = row
        (count, bytes) = (count + 1, bytes + path.name.bytes.count)
        if row.kind == .folder { add([:], path) }
    }

    private mutating func add(_ rows: [BytePath: ListingRow], _ folder: BytePath) {
        folders[folder] = rows
        bytes += folder.bytes.count
    }

    /// The rows of a folder that is a row no more.
    private mutating func take(_ folder: BytePath) -> [BytePath: ListingRow] {
        bytes -= folder.bytes.count
        return folders.removeValue(forKey: folder) ?? [:]
    }

    private mutating func remove(_ path: BytePath) {
        guard folders[path.parent]?.removeValue(forKey: path.name) != nil else { return }
        (count, bytes) = (count - 1, bytes - path.name.bytes.count)
        for folder in below(path) {
            let rows = take(folder)
            (count, bytes) = (count - rows.count, bytes - rows.keys.reduce(0) { $0 + $1.bytes.count })
        }
    }

    private mutating func move(_ path: BytePath, to other: BytePath) {
        guard !path.isInside(other), !other.isInside(path), isFolder(other.parent), let row = self[path] else { return }
        remove(other)
        folders[path.parent]?[path.name] = nil
        folders[other.parent]?[other.name] = row
        bytes += other.name.bytes.count - path.name.bytes.count
        for folder in below(path) {
            add(take(folder), BytePath(other.bytes + folder.bytes.dropFirst(path.bytes.count)))
        }
    }

    /// The bytes of the longest path of a folder in this one, or its own.
    func longest(_ path: BytePath) -> Int { below(path).map(\.bytes.count).max() ?? path.bytes.count }

    /// This folder and those in it.
    private func below(_ path: BytePath) -> [BytePath] {
        guard isFolder(path) else { return [] }
        let prefix = path.bytes + [UInt8(ascii: "/")]
        return folders.keys.filter { $0 == path || $0.bytes.starts(with: prefix) }
    }

    /// The uploads that are held by a path, or by what is below it.
    func held(_ path: BytePath) -> [UploadID] {
        let rows = below(path).flatMap { folders[$0].map { Array($0.values) } ?? [] } + [self[path]].compactMap(\.self)
        return rows.compactMap { if case .held(let id) = $0.kind { id } else { nil } }
    }

    /// The paths of the rows that are longest ago: placeholders and what desktops leave before files that were sent.
    func oldest(_ most: Int) -> [BytePath] {
        let files = folders.flatMap { folder, rows in
            rows.compactMap { name, row -> (path: BytePath, order: (Int, UInt64))? in
                switch row.kind {
                case .empty, .litter: (folder.appending(name), (0, row.number))
                case .sent: (folder.appending(name), (1, row.number))
                case .folder, .held: nil
                }
            }
        }
        return files.sorted { $0.order < $1.order }.prefix(most).map(\.path)
    }

    /// All of it, each folder before what is in it.
    var entries: [ListingEntry] {
        folders.keys.sorted().flatMap { folder in
            (folders[folder] ?? [:]).map { ListingEntry.put(folder.appending($0.key), $0.value) }
        }
    }
}
