import FileValues

/// All known files of all roots, each by its directory and name: 64 bytes a file besides its name.
///
/// The files of one directory form a list whose head is in the ``DirectoryTable``. A value without I/O.
struct FileTable {
    private struct Entry {
        var file: KnownFile
        /// −1 while the position is free.
        var directory: Int32
        var name: NameID
        var next: Int32
        var previous: Int32
    }

    private var entries: [Entry] = []
    private var free: [Int32] = []
    private var index = EntryIndex()

    subscript(_ directory: NodeID, _ name: NameID) -> KnownFile? {
        find(directory.index, name).map { entries[Int($0)].file }
    }

    /// Sets a file; returns the one that had the name before. `head` is its directory's.
    mutating func set(_ file: KnownFile, _ directory: NodeID, _ name: NameID, head: inout Int32) -> KnownFile? {
        if let position = find(directory.index, name) {
            defer { entries[Int(position)].file = file }
            return entries[Int(position)].file
        }
        insert(file, directory, name, head: &head)
        return nil
    }

    /// Adds a file under a name that has none.
    mutating func insert(_ file: KnownFile, _ directory: NodeID, _ name: NameID, head: inout Int32) {
        let entry = Entry(file: file, directory: directory.index, name: name, next: head, previous: -1)
        let position: Int32
        if let reused = free.popLast() {
            position = reused
            entries[Int(position)] = entry
        } else {
            position = Int32(entries.count)
            entries.append(entry)
        }
        if head >= 0 { entries[Int(head)].previous = position }
        head = position
        if index.hasRoom(for: position) {
            index.insert(hash: EntryIndex.hash(directory.index, name), position)
        } else {
            rebuildIndex()
        }
    }

    /// Removes a file; returns it.
    mutating func remove(_ directory: NodeID, _ name: NameID, head: inout Int32) -> KnownFile? {
        guard let position = find(directory.index, name) else { return nil }
        let entry = entries[Int(position)]
        index.remove(hash: EntryIndex.hash(directory.index, name), position)
        if entry.previous >= 0 { entries[Int(entry.previous)].next = entry.next } else { head = entry.next }
        if entry.next >= 0 { entries[Int(entry.next)].previous = entry.previous }
        entries[Int(position)].directory = -1
        free.append(position)
        return entry.file
    }

    /// The files of the directory with this head, the latest first.
    func files(from head: Int32) -> [(name: NameID, file: KnownFile)] {
        var found: [(name: NameID, file: KnownFile)] = []
        var position = head
        while position >= 0 {
            let entry = entries[Int(position)]
            found.append((entry.name, entry.file))
            position = entry.next
        }
        return found
    }

    /// Calls `body` with the name of every file.
    func forEachName(_ body: (NameID) -> Void) {
        for entry in entries where entry.directory >= 0 { body(entry.name) }
    }

    private func find(_ directory: Int32, _ name: NameID) -> Int32? {
        index.find(hash: EntryIndex.hash(directory, name)) { position in
            entries[Int(position)].directory == directory && entries[Int(position)].name == name
        }
    }

    private mutating func rebuildIndex() {
        index = EntryIndex(capacity: entries.count - free.count, positions: entries.count)
        for position in entries.indices where entries[position].directory >= 0 {
            index.insert(hash: EntryIndex.hash(entries[position].directory, entries[position].name), Int32(position))
        }
    }
}
