import FileValues

/// A directory in the table. The generation distinguishes it from a directory that had its position before.
package struct NodeID: Hashable, Sendable {
    let index: Int32
    let generation: UInt32

    /// Stands for a directory that was removed.
    static let none = NodeID(index: -1, generation: 0)
}

/// All known directories of all roots as a forest: each knows its parent and its name, none its path.
///
/// 48 bytes a directory besides its name, its position in the index and its watch. A value without I/O.
struct DirectoryTable {
    /// How a directory is observed.
    enum Coverage: UInt8 {
        /// Not yet listed; a survey is under way.
        case pending
        /// Not watched, for a moment: its watch is gone and a lookup of it is due.
        case unwatched
        /// The kernel reports the events in it.
        case watched
        /// There was no watch for it: it is listed again and again.
        case polled
        /// It cannot be listed.
        case unreadable
    }

    /// Of parts of four bytes, so that none are lost to alignment.
    struct Node {
        private var inodeHalves: (low: UInt32, high: UInt32) = (0, 0)
        /// Distinguishes directories that have the same inode one after the other.
        var born = BirthMark.unknown
        fileprivate var links = Links()
        fileprivate(set) var generation: UInt32
        fileprivate(set) var name: NameID
        /// The watch descriptor; −1 for none.
        var watch: Int32 = -1
        /// The head of the list of its files in the ``FileTable``; −1 for none.
        var firstFile: Int32 = -1
        /// Its root.
        let root: UInt16
        var coverage: Coverage = .pending
        private var flags: Flags = .used

        /// The positions of its parent, its first child and its siblings; −1 for none.
        fileprivate struct Links {
            var (parent, firstChild, next, previous): (Int32, Int32, Int32, Int32) = (-1, -1, -1, -1)
        }

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

        /// 0 until it is opened for the first time.
        var inode: UInt64 {
            get { UInt64(inodeHalves.high) << 32 | UInt64(inodeHalves.low) }
            set {
                inodeHalves = (UInt32(truncatingIfNeeded: newValue), UInt32(truncatingIfNeeded: newValue >> 32))
            }
        }

        /// Whether it was reported, before a restart or since.
        var wasReported: Bool { inode != 0 || isRecalled }

        /// It was reported before a restart, and was not observed since.
        var isRecalled: Bool {
            get { flags.contains(.recalled) }
            set { if newValue { flags.insert(.recalled) } else { flags.remove(.recalled) } }
        }

        fileprivate(set) var isUsed: Bool {
            get { flags.contains(.used) }
            set { if newValue { flags.insert(.used) } else { flags.remove(.used) } }
        }
    }

    /// The names of directories and of all other entries.
    var names = NameTable()
    private var nodes: [Node] = []
    private var free: [Int32] = []
    private var index = EntryIndex()

    /// How many directories there are.
    var count: Int { nodes.count - free.count }

    @inline(__always)
    func isValid(_ id: NodeID) -> Bool {
        id.index >= 0 && nodes[Int(id.index)].isUsed && nodes[Int(id.index)].generation == id.generation
    }

    subscript(_ id: NodeID) -> Node {
        @inline(__always) get {
            precondition(isValid(id), "a directory that was removed")
            return nodes[Int(id.index)]
        }
        @inline(__always) set {
            precondition(isValid(id), "a directory that was removed")
            nodes[Int(id.index)] = newValue
        }
    }

    @inline(__always)
    func parent(of id: NodeID) -> NodeID? { self.id(at: self[id].links.parent) }

    @inline(__always)
    func name(of id: NodeID) -> NameID { self[id].name }

    @inline(__always)
    func child(of parent: NodeID, named name: NameID) -> NodeID? {
        let found = index.find(hash: EntryIndex.hash(parent.index, name)) { candidate in
            nodes[Int(candidate)].links.parent == parent.index && nodes[Int(candidate)].name == name
        }
        return found.flatMap { id(at: $0) }
    }

    func children(of id: NodeID) -> [NodeID] {
        var found: [NodeID] = []
        var next = self[id].links.firstChild
        while let child = self.id(at: next) {
            found.append(child)
            next = self[child].links.next
        }
        return found
    }

    @inline(__always)
    func hasChildren(_ id: NodeID) -> Bool { self[id].links.firstChild >= 0 }

    /// The directory and all below it, each before what is in it.
    func subtree(of top: NodeID) -> [NodeID] {
        var found = [top]
        var position = 0
        while position < found.count {
            found.append(contentsOf: children(of: found[position]))
            position += 1
        }
        return found
    }

    /// The topmost directory above `id`: its root's top, or the top of a detached subtree.
    func top(of id: NodeID) -> NodeID {
        var current = id
        while let parent = parent(of: current) { current = parent }
        return current
    }

    /// Whether `id` is `ancestor` or lies below it.
    func isInside(_ id: NodeID, _ ancestor: NodeID) -> Bool {
        var current: NodeID? = id
        while let here = current {
            if here == ancestor { return true }
            current = parent(of: here)
        }
        return false
    }

    /// The path from the topmost directory above it, whose own name is left out; with the name of an entry in it, if one
    /// is given.
    func path(of id: NodeID, _ entry: NameID? = nil) -> BytePath {
        if let entry, nodes[Int(id.index)].links.parent < 0 { return names.name(entry) }
        var length = entry.map { names.length($0) + 1 } ?? 0
        var position = id.index
        while nodes[Int(position)].links.parent >= 0 {
            length += names.length(nodes[Int(position)].name) + 1
            position = nodes[Int(position)].links.parent
        }
        if length == 0 { return "" }
        // Zeros cost less than the initialiser that leaves memory uninitialised, which looks up metadata.
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
            var position = id.index
            while nodes[Int(position)].links.parent >= 0 {
                put(nodes[Int(position)].name)
                position = nodes[Int(position)].links.parent
            }
        }
        return BytePath(withoutNUL: bytes)
    }

    /// A new directory; without a parent it is a top.
    mutating func insert(root: UInt16, parent: NodeID?, name: NameID) -> NodeID {
        let position: Int32
        if let reused = free.popLast() {
            let generation = nodes[Int(reused)].generation &+ 1
            nodes[Int(reused)] = Node(generation: generation, name: name, root: root)
            position = reused
        } else {
            position = Int32(nodes.count)
            nodes.append(Node(generation: 0, name: name, root: root))
        }
        let id = NodeID(index: position, generation: nodes[Int(position)].generation)
        if let parent { link(id, below: parent) }
        return id
    }

    /// Detaches a directory with all that is below it from its parent.
    mutating func detach(_ id: NodeID) {
        let node = self[id]
        guard node.links.parent >= 0 else { return }
        index.remove(hash: hash(of: id), id.index)
        if node.links.previous >= 0 {
            nodes[Int(node.links.previous)].links.next = node.links.next
        } else {
            nodes[Int(node.links.parent)].links.firstChild = node.links.next
        }
        if node.links.next >= 0 { nodes[Int(node.links.next)].links.previous = node.links.previous }
        nodes[Int(id.index)].links.parent = -1
        nodes[Int(id.index)].links.next = -1
        nodes[Int(id.index)].links.previous = -1
    }

    /// Attaches a detached directory under a name that is free.
    mutating func attach(_ id: NodeID, to parent: NodeID, name: NameID) {
        precondition(self[id].links.parent < 0 && !isInside(parent, id), "a directory in two places or in itself")
        nodes[Int(id.index)].name = name
        link(id, below: parent)
    }

    /// Removes a directory that has no children any more, and no files.
    mutating func remove(_ id: NodeID) {
        precondition(self[id].links.firstChild < 0 && self[id].firstFile < 0, "a directory with something in it")
        detach(id)
        nodes[Int(id.index)].isUsed = false
        free.append(id.index)
    }

    private mutating func link(_ id: NodeID, below parent: NodeID) {
        let first = self[parent].links.firstChild
        nodes[Int(id.index)].links.parent = parent.index
        nodes[Int(id.index)].links.next = first
        if first >= 0 { nodes[Int(first)].links.previous = id.index }
        nodes[Int(parent.index)].links.firstChild = id.index
        if index.hasRoom(for: id.index) { index.insert(hash: hash(of: id), id.index) } else { rebuildIndex() }
    }

    private mutating func rebuildIndex() {
        index = EntryIndex(capacity: count, positions: nodes.count)
        for position in nodes.indices where nodes[position].isUsed && nodes[position].links.parent >= 0 {
            index.insert(hash: EntryIndex.hash(nodes[position].links.parent, nodes[position].name), Int32(position))
        }
    }

    private func hash(of id: NodeID) -> Int { EntryIndex.hash(self[id].links.parent, self[id].name) }

    /// Calls `body` with the name of every directory.
    func forEachName(_ body: (NameID) -> Void) {
        for node in nodes where node.isUsed { body(node.name) }
    }

    /// The directory at a position; nil for −1.
    @inline(__always)
    func id(at position: Int32) -> NodeID? {
        position < 0 ? nil : NodeID(index: position, generation: nodes[Int(position)].generation)
    }
}
