import FileValues

/// All known files of all roots, each by its directory and name: 64 bytes a file besides its name.
///
/// The files of one directory form a list whose head is in the ``DirectoryTable``. A value without I/O.
package struct FileTable {
    private struct Entry {
        var file: KnownFile
        /// −1 as long as the place is free.
        var directory: Int32
        var name: NameID
        var next: Int32
        var previous: Int32
    }

    private var entries: [Entry] = []
    private var free: [Int32] = []
    private var index = EntryIndex()

    package subscript(_ directory: NodeID, _ name: NameID) -> KnownFile? {
        find(directory.index, name).map { entries[Int($0)].file }
    }

    /// Notes a file; returns what was known under the name before. `head` is its directory's.
    package mutating func set(_ file: KnownFile, _ directory: NodeID, _ name: NameID, head: inout Int32) -> KnownFile? {
        if let place = find(directory.index, name) {
            defer { entries[Int(place)].file = file }
            return entries[Int(place)].file
        }
        insert(file, directory, name, head: &head)
        return nil
    }

    /// Notes a file under a name of which nothing is known.
    package mutating func insert(_ file: KnownFile, _ directory: NodeID, _ name: NameID, head: inout Int32) {
        let entry = Entry(file: file, directory: directory.index, name: name, next: head, previous: -1)
        let place: Int32
        if let reused = free.popLast() {
            place = reused
            entries[Int(place)] = entry
        } else {
            place = Int32(entries.count)
            entries.append(entry)
        }
        if head >= 0 { entries[Int(head)].previous = place }
        head = place
        if index.hasRoom(for: place) {
            index.insert(hash: EntryIndex.hash(directory.index, name), place)
        } else {
            rebuildIndex()
        }
    }

    /// Forgets a file; returns what was known.
    package mutating func remove(_ directory: NodeID, _ name: NameID, head: inout Int32) -> KnownFile? {
        guard let place = find(directory.index, name) else { return nil }
        let entry = entries[Int(place)]
        index.remove(hash: EntryIndex.hash(directory.index, name), place)
        if entry.previous >= 0 { entries[Int(entry.previous)].next = entry.next } else { head = entry.next }
        if entry.next >= 0 { entries[Int(entry.next)].previous = entry.previous }
        entries[Int(place)].directory = -1
        free.append(place)
        return entry.file
    }

    /// The files of the directory with this head, the last that came first.
    package func files(from head: Int32) -> [(name: NameID, file: KnownFile)] {
        var found: [(name: NameID, file: KnownFile)] = []
        var place = head
        while place >= 0 {
            let entry = entries[Int(place)]
            found.append((entry.name, entry.file))
            place = entry.next
        }
        return found
    }

    /// Calls `body` with the name of every file.
    package func forEachName(_ body: (NameID) -> Void) {
        for entry in entries where entry.directory >= 0 { body(entry.name) }
    }

    private func find(_ directory: Int32, _ name: NameID) -> Int32? {
        index.find(hash: EntryIndex.hash(directory, name)) { place in
            entries[Int(place)].directory == directory && entries[Int(place)].name == name
        }
    }

    private mutating func rebuildIndex() {
        index = EntryIndex(capacity: entries.count - free.count, places: entries.count)
        for place in entries.indices where entries[place].directory >= 0 {
            index.insert(hash: EntryIndex.hash(entries[place].directory, entries[place].name), Int32(place))
        }
    }
}
