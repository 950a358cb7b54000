/// One name, or several separated by dots, before `=` or in a header.
struct TOMLKey {
    var parents: [String] = []
    var name = ""
    let position: TextPosition
    /// As it is written.
    var source = ""
}

/// A node of the document that is being read: the definition of one name by the statements so far.
final class TOMLDefinition {
    private enum Kind {
        /// Complete: no statement can add to it.
        case value
        /// Defined by its own header.
        case table
        /// Implied by headers of tables in it; its own header may follow.
        case impliedTable
        /// Created by dotted keys; only dotted keys can add to it.
        case dottedTable
        case tableArray
    }

    private let name: String
    private let position: TextPosition
    private let node: TOMLNode
    private var kind: Kind
    /// The line of its definition, which may be after its first mention.
    private var line: Int
    /// Members of a table or, without names, of an array of tables; in file order.
    private var members: [TOMLDefinition] = []
    /// By the bytes of their names, since in TOML, unlike in `String`, equivalent spellings of a character are
    /// different keys.
    private var membersByName: [[UInt8]: TOMLDefinition] = [:]

    /// An empty root table.
    convenience init() { self.init("", .table, TOMLKey(position: .first)) }

    private init(_ name: String, _ kind: Kind, _ key: TOMLKey, node: TOMLNode? = nil) {
        self.name = name
        self.kind = kind
        self.position = key.position
        self.node = node ?? TOMLNode(content: .table([]), position: key.position, source: key.source)
        line = key.position.line
    }

    /// The members of this table.
    var entries: [TOMLEntry] {
        members.map { TOMLEntry(key: $0.name, position: $0.position, node: $0.wholeNode) }
    }

    private var wholeNode: TOMLNode {
        var node = self.node
        switch kind {
        case .value: break
        case .table, .impliedTable, .dottedTable: node.content = .table(entries)
        case .tableArray: node.content = .array(members.map(\.wholeNode))
        }
        return node
    }

    /// Defines `key` in this table as `value`. Throws if it is already defined.
    func define(_ key: TOMLKey, as value: TOMLNode) throws(TOMLSyntaxError) {
        var table = self
        var passed: [TOMLDefinition] = []
        for name in key.parents + [key.name] {
            guard let known = table[name] else { break }
            guard passed.count < key.parents.count, known.kind == .impliedTable || known.kind == .dottedTable else {
                throw known.conflict(with: key, depth: passed.count, kind: "key")
            }
            passed.append(known)
            table = known
        }
        for known in passed { known.kind = .dottedTable }
        for name in key.parents[passed.count...] { table = table.add(TOMLDefinition(name, .dottedTable, key)) }
        _ = table.add(TOMLDefinition(key.name, .value, key, node: value))
    }

    /// Returns the table of the header `[key]` or, for an array of tables, `[[key]]` in this document.
    func open(_ key: TOMLKey, isArray: Bool) throws(TOMLSyntaxError) -> TOMLDefinition {
        var table = self
        for (depth, name) in key.parents.enumerated() {
            let known = table[name] ?? table.add(TOMLDefinition(name, .impliedTable, key))
            if known.kind == .value { throw known.conflict(with: key, depth: depth, kind: "table") }
            table = known.kind == .tableArray ? known.members.last ?? known : known
        }
        guard let known = table[key.name] else {
            let new = table.add(TOMLDefinition(key.name, isArray ? .tableArray : .table, key))
            return isArray ? new.add(TOMLDefinition("", .table, key)) : new
        }
        guard known.kind == (isArray ? .tableArray : .impliedTable) else {
            throw known.conflict(with: key, depth: key.parents.count, kind: "table")
        }
        if isArray { return known.add(TOMLDefinition("", .table, key)) }
        known.kind = .table
        known.line = key.position.line
        return known
    }

    private subscript(name: String) -> TOMLDefinition? { membersByName[Array(name.utf8)] }

    private func add(_ member: TOMLDefinition) -> TOMLDefinition {
        members.append(member)
        membersByName[Array(member.name.utf8)] = member
        return member
    }

    /// Returns why `key`, whose component `depth` names this definition, cannot be defined.
    private func conflict(with key: TOMLKey, depth: Int, kind: String) -> TOMLSyntaxError {
        let name = quoted((key.parents.prefix(depth) + [self.name]).joined(separator: "."))
        var message = "the \(kind) \(name) is defined twice; first on line \(line)"
        if depth < key.parents.count {
            message = "\(name) has a header, on line \(line); write the key below it"
            if self.kind == .value {
                let isInline = node.source.hasPrefix("{")
                message = "\(name) is defined on line \(line) as \(isInline ? "an inline table" : node.kindName)"
                message += "; nothing can be added to it"
            }
        }
        return TOMLSyntaxError(position: key.position, message: message)
    }
}
