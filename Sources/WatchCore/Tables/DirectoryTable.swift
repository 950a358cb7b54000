package import FileValues

/// A directory in the table. The generation tells a reused place from the directory that had it before.
package struct NodeID: Hashable, Sendable {
    package let index: Int32
    package let generation: UInt32

    /// Stands for a directory that was dropped.
    package static let none = NodeID(index: -1, generation: 0)
}

/// All known directories of all roots as a forest: each knows its parent and its name, none its path.
///
/// 48 bytes a directory besides its name, its place in the index and its watch. A value without I/O.
package struct DirectoryTable {
    /// How a directory is observed.
    package enum Coverage: UInt8 {
        /// Not yet listed; a survey is under way.
        case pending
        /// Not watched, for a moment: its watch is gone and a look at it is due.
        case unwatched
        /// The kernel tells what happens in it.
        case watched
        /// There was no watch for it: it is listed again and again.
        case polled
        /// It cannot be listed.
        case unreadable
    }

    /// Of four-byte parts alone, so that none is lost between two.
    package struct Node {
        private var inodeHalves: (low: UInt32, high: UInt32) = (0, 0)
        /// With its inode: of which directory that is the number.
        package var born = BirthMark.unknown
        package fileprivate(set) var parent: Int32 = -1
        package fileprivate(set) var firstChild: Int32 = -1
        package fileprivate(set) var next: Int32 = -1
        package fileprivate(set) var previous: Int32 = -1
        package fileprivate(set) var generation: UInt32
        package fileprivate(set) var name: NameID
        /// The watch descriptor; −1 for none.
        package var watch: Int32 = -1
        /// Where the list of what is known in it begins in the ``FileTable``; −1 for none.
        package var firstFile: Int32 = -1
        /// Which root it belongs to.
        package let root: UInt16
        package var coverage: Coverage = .pending
        private var flags: Flags = .used

        private struct Flags: OptionSet {
            let rawValue: UInt8
            static let used = Flags(rawValue: 1)
            static let recalled = Flags(rawValue: 2)
        }

        fileprivate init(generation: UInt32, name: NameID, root: UInt16) {
            self.generation = generation
            self.name = name
            self.root = root
        }

        /// 0 until it was opened for the first time.
        package var inode: UInt64 {
            get { UInt64(inodeHalves.high) << 32 | UInt64(inodeHalves.low) }
            set {
                inodeHalves = (UInt32(truncatingIfNeeded: newValue), UInt32(truncatingIfNeeded: newValue >> 32))
            }
        }

        /// It was told in an earlier life, and was not seen yet in this one.
        package var isRecalled: Bool {
            get { flags.contains(.recalled) }
            set { if newValue { flags.insert(.recalled) } else { flags.remove(.recalled) } }
        }

        package fileprivate(set) var isUsed: Bool {
            get { flags.contains(.used) }
            set { if newValue { flags.insert(.used) } else { flags.remove(.used) } }
        }
    }

    /// The names of directories and of all other entries.
    package var names = NameTable()
    private var nodes: [Node] = []
    private var free: [Int32] = []
    private var index = EntryIndex()

    /// How many directories there are.
    package var count: Int { nodes.count - free.count }

    package func isValid(_ id: NodeID) -> Bool {
        id.index >= 0 && nodes[Int(id.index)].isUsed && nodes[Int(id.index)].generation == id.generation
    }

    package subscript(_ id: NodeID) -> Node {
        _read {
            precondition(isValid(id), "a directory that was dropped")
            yield nodes[Int(id.index)]
        }
        _modify {
            precondition(isValid(id), "a directory that was dropped")
            yield &nodes[Int(id.index)]
        }
    }

    package func parent(of id: NodeID) -> NodeID? { self.id(at: self[id].parent) }

    package func name(of id: NodeID) -> NameID { self[id].name }

    package func child(of parent: NodeID, named name: NameID) -> NodeID? {
        let found = index.find(hash: EntryIndex.hash(parent.index, name)) { candidate in
            nodes[Int(candidate)].parent == parent.index && nodes[Int(candidate)].name == name
        }
        return found.flatMap { id(at: $0) }
    }

    package func children(of id: NodeID) -> [NodeID] {
        var found: [NodeID] = []
        var next = self[id].firstChild
        while let child = self.id(at: next) {
            found.append(child)
            next = self[child].next
        }
        return found
    }

    package func hasChildren(_ id: NodeID) -> Bool { self[id].firstChild >= 0 }

    /// The directory and all below it, each before what is in it.
    package func subtree(of top: NodeID) -> [NodeID] {
        var found = [top]
        var position = 0
        while position < found.count {
            found.append(contentsOf: children(of: found[position]))
            position += 1
        }
        return found
    }

    /// The topmost directory above `id`: its root's top, or the top of a detached subtree.
    package func top(of id: NodeID) -> NodeID {
        var current = id
        while let parent = parent(of: current) { current = parent }
        return current
    }

    /// Whether `id` is `ancestor` or lies below it.
    package func isInside(_ id: NodeID, _ ancestor: NodeID) -> Bool {
        var current: NodeID? = id
        while let here = current {
            if here == ancestor { return true }
            current = parent(of: here)
        }
        return false
    }

    /// The path from the topmost directory above it, whose own name is left out; with the name of an entry in it, if one
    /// is given.
    package func path(of id: NodeID, _ entry: NameID? = nil) -> BytePath {
        if let entry, nodes[Int(id.index)].parent < 0 { return names.name(entry) }
        var length = entry.map { names.length($0) + 1 } ?? 0
        var place = id.index
        while nodes[Int(place)].parent >= 0 {
            length += names.length(nodes[Int(place)].name) + 1
            place = nodes[Int(place)].parent
        }
        if length == 0 { return "" }
        // Not by the initialiser that leaves memory uninitialised, which looks up metadata at a cost of hundreds of zeros.
        var bytes: [UInt8] = []
        bytes.append(contentsOf: repeatElement(0, count: length - 1))
        bytes.withUnsafeMutableBufferPointer { buffer in
            // From its end to its beginning, a slash before each name but the first.
            var end = length - 1
            func put(_ name: NameID) {
                let bytes = names[name]
                end -= bytes.count
                _ = UnsafeMutableBufferPointer(rebasing: buffer[end..<(end + bytes.count)]).update(
                    fromContentsOf: bytes)
                if end > 0 {
                    end -= 1
                    buffer[end] = UInt8(ascii: "/")
                }
            }
            if let entry { put(entry) }
            var place = id.index
            while nodes[Int(place)].parent >= 0 {
                put(nodes[Int(place)].name)
                place = nodes[Int(place)].parent
            }
        }
        return BytePath(withoutNUL: bytes)
    }

    /// A new directory; without a parent it is a top.
    package mutating func insert(root: UInt16, parent: NodeID?, name: NameID) -> NodeID {
        let place: Int32
        if let reused = free.popLast() {
            let generation = nodes[Int(reused)].generation &+ 1
            nodes[Int(reused)] = Node(generation: generation, name: name, root: root)
            place = reused
        } else {
            place = Int32(nodes.count)
            nodes.append(Node(generation: 0, name: name, root: root))
        }
        let id = NodeID(index: place, generation: nodes[Int(place)].generation)
        if let parent { link(id, below: parent) }
        return id
    }

    /// Takes a directory with all that is below it out of its parent.
    package mutating func detach(_ id: NodeID) {
        let node = self[id]
        guard node.parent >= 0 else { return }
        index.remove(hash: hash(of: id), id.index)
        if node.previous >= 0 {
            nodes[Int(node.previous)].next = node.next
        } else {
            nodes[Int(node.parent)].firstChild = node.next
        }
        if node.next >= 0 { nodes[Int(node.next)].previous = node.previous }
        nodes[Int(id.index)].parent = -1
        nodes[Int(id.index)].next = -1
        nodes[Int(id.index)].previous = -1
    }

    /// Puts a detached directory under a name that is free.
    package mutating func attach(_ id: NodeID, to parent: NodeID, name: NameID) {
        precondition(self[id].parent < 0 && !isInside(parent, id), "a directory in two places or in itself")
        nodes[Int(id.index)].name = name
        link(id, below: parent)
    }

    /// Frees a directory that has no children any more, and no files.
    package mutating func remove(_ id: NodeID) {
        precondition(self[id].firstChild < 0 && self[id].firstFile < 0, "a directory with something in it")
        detach(id)
        nodes[Int(id.index)].isUsed = false
        free.append(id.index)
    }

    private mutating func link(_ id: NodeID, below parent: NodeID) {
        let first = self[parent].firstChild
        nodes[Int(id.index)].parent = parent.index
        nodes[Int(id.index)].next = first
        if first >= 0 { nodes[Int(first)].previous = id.index }
        nodes[Int(parent.index)].firstChild = id.index
        if index.hasRoom(for: id.index) { index.insert(hash: hash(of: id), id.index) } else { rebuildIndex() }
    }

    private mutating func rebuildIndex() {
        index = EntryIndex(capacity: count, places: nodes.count)
        for place in nodes.indices where nodes[place].isUsed && nodes[place].parent >= 0 {
            index.insert(hash: EntryIndex.hash(nodes[place].parent, nodes[place].name), Int32(place))
        }
    }

    private func hash(of id: NodeID) -> Int { EntryIndex.hash(self[id].parent, self[id].name) }

    /// Calls `body` with the name of every directory.
    package func forEachName(_ body: (NameID) -> Void) {
        for node in nodes where node.isUsed { body(node.name) }
    }

    /// The directory at a place; nil for −1.
    package func id(at place: Int32) -> NodeID? {
        place < 0 ? nil : NodeID(index: place, generation: nodes[Int(place)].generation)
    }
}
