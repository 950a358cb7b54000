import FileValues

/// A directory in the table. The generation tells a reused place from the directory that had it before.
struct NodeID: Hashable, Sendable {
    let index: Int32
    let generation: UInt32

    /// Stands for a directory that was dropped.
    static let none = NodeID(index: -1, generation: 0)
}

/// All known directories of all roots as a forest: each knows its parent and its name, none its path.
///
/// About 100 bytes a directory with its name, its place in the child index and its watch. Names lie in one arena. A
/// value without I/O.
struct DirectoryTable {
    /// How a directory is observed.
    enum Coverage: UInt8 {
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

    struct Node {
        fileprivate(set) var parent: Int32
        fileprivate(set) var firstChild: Int32 = -1
        fileprivate(set) var next: Int32 = -1
        fileprivate(set) var previous: Int32 = -1
        fileprivate(set) var generation: UInt32
        fileprivate var name: NameArena.Reference
        /// Which root it belongs to.
        let root: UInt16
        var coverage: Coverage = .pending
        fileprivate(set) var isUsed = true
        /// The watch descriptor; −1 for none.
        var watch: Int32 = -1
        /// 0 until it was opened for the first time.
        var inode: UInt64 = 0
        /// What is known in it, directories left out.
        var files: [BytePath: KnownFile] = [:]
    }

    private var nodes: [Node] = []
    private var free: [Int32] = []
    private var arena = NameArena()
    private var index = ChildIndex()

    /// How many directories there are.
    var count: Int { nodes.count - free.count }

    func isValid(_ id: NodeID) -> Bool {
        id.index >= 0 && nodes[Int(id.index)].isUsed && nodes[Int(id.index)].generation == id.generation
    }

    subscript(_ id: NodeID) -> Node {
        get {
            precondition(isValid(id), "a directory that was dropped")
            return nodes[Int(id.index)]
        }
        _modify {
            precondition(isValid(id), "a directory that was dropped")
            yield &nodes[Int(id.index)]
        }
    }

    func parent(of id: NodeID) -> NodeID? { self.id(at: self[id].parent) }

    func name(of id: NodeID) -> BytePath { arena.name(self[id].name) }

    func child(of parent: NodeID, named name: BytePath) -> NodeID? {
        let hash = ChildIndex.hash(parent: parent.index, name: name)
        let found = index.find(hash: hash) { candidate in
            let node = nodes[Int(candidate)]
            return node.parent == parent.index && arena.equals(node.name, name)
        }
        return found.flatMap { id(at: $0) }
    }

    func children(of id: NodeID) -> [NodeID] {
        var found: [NodeID] = []
        var next = self[id].firstChild
        while let child = self.id(at: next) {
            found.append(child)
            next = self[child].next
        }
        return found
    }

    func hasChildren(_ id: NodeID) -> Bool { self[id].firstChild >= 0 }

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

    /// The path from the topmost directory above it, whose own name is left out.
    func path(of id: NodeID) -> BytePath {
        var names: [BytePath] = []
        var current = id
        while let parent = parent(of: current) {
            names.append(name(of: current))
            current = parent
        }
        if names.count == 1 { return names[0] }
        return BytePath(Array(names.reversed().map(\.bytes).joined(separator: [UInt8(ascii: "/")])))
    }

    /// A new directory; without a parent it is a top.
    mutating func insert(root: UInt16, parent: NodeID?, name: BytePath) -> NodeID {
        let place: Int32
        if let reused = free.popLast() {
            let generation = nodes[Int(reused)].generation &+ 1
            nodes[Int(reused)] = Node(parent: -1, generation: generation, name: arena.add(name), root: root)
            place = reused
        } else {
            place = Int32(nodes.count)
            nodes.append(Node(parent: -1, generation: 0, name: arena.add(name), root: root))
        }
        let id = NodeID(index: place, generation: nodes[Int(place)].generation)
        if let parent { link(id, below: parent) }
        return id
    }

    /// Takes a directory with all that is below it out of its parent.
    mutating func detach(_ id: NodeID) {
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
    mutating func attach(_ id: NodeID, to parent: NodeID, name: BytePath) {
        precondition(self[id].parent < 0 && !isInside(parent, id), "a directory in two places or in itself")
        arena.remove(nodes[Int(id.index)].name)
        nodes[Int(id.index)].name = arena.add(name)
        link(id, below: parent)
    }

    /// Frees a directory that has no children any more.
    mutating func remove(_ id: NodeID) {
        precondition(self[id].firstChild < 0, "a directory with directories in it")
        detach(id)
        arena.remove(nodes[Int(id.index)].name)
        nodes[Int(id.index)].isUsed = false
        nodes[Int(id.index)].files = [:]
        free.append(id.index)
        if arena.isWasteful { compactNames() }
    }

    private mutating func link(_ id: NodeID, below parent: NodeID) {
        let first = self[parent].firstChild
        nodes[Int(id.index)].parent = parent.index
        nodes[Int(id.index)].next = first
        if first >= 0 { nodes[Int(first)].previous = id.index }
        nodes[Int(parent.index)].firstChild = id.index
        if index.isFull { rebuildIndex() } else { index.insert(hash: hash(of: id), id.index) }
    }

    private mutating func rebuildIndex() {
        let linked = nodes.indices.filter { nodes[$0].isUsed && nodes[$0].parent >= 0 }.map { Int32($0) }
        index = ChildIndex(capacity: linked.count)
        for place in linked { if let id = id(at: place) { index.insert(hash: hash(of: id), place) } }
    }

    private mutating func compactNames() {
        var packed = NameArena()
        for place in nodes.indices where nodes[place].isUsed {
            nodes[place].name = packed.add(arena.name(nodes[place].name))
        }
        arena = packed
    }

    private func hash(of id: NodeID) -> Int { ChildIndex.hash(parent: self[id].parent, name: name(of: id)) }

    private func id(at place: Int32) -> NodeID? {
        place < 0 ? nil : NodeID(index: place, generation: nodes[Int(place)].generation)
    }
}
