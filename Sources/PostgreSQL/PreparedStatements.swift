import CPostgres

/// A statement that the server has prepared, with the types that it inferred for arguments and columns.
struct PreparedStatement {
    let name: String
    let parameters: [PostgresType]
    let columns: [String]
    let types: [PostgresType]

    /// Bytes one after the other, and the length of each; -1 is null.
    typealias Arguments = (bytes: [UInt8], lengths: [Int32])

    func encoded(_ values: [PostgresValue]) throws(PostgresError) -> Arguments {
        guard values.count == parameters.count else {
            throw PostgresError(.other, "\(values.count) arguments were given for \(parameters.count) placeholders")
        }
        // Not empty, so that an empty argument has an address.
        var bytes: [UInt8] = [0]
        var lengths: [Int32] = []
        for (index, (value, type)) in zip(values, parameters).enumerated() {
            if value == .null {
                lengths.append(-1)
                continue
            }
            guard let argument = type.encoded(value), let length = Int32(exactly: argument.count) else {
                throw PostgresError(
                    .other, "argument \(index + 1) does not fit the type that PostgreSQL expects, \(type)")
            }
            bytes += argument
            lengths.append(length)
        }
        return (bytes, lengths)
    }

    func send(_ arguments: Arguments, _ wire: PostgresWire) throws(PostgresError) {
        let formats = [Int32](repeating: 1, count: arguments.lengths.count)
        let sent = arguments.bytes.withUnsafeBytes { bytes -> Int32 in
            var at = 1
            let pointers = arguments.lengths.map { length -> UnsafePointer<CChar>? in
                guard length >= 0 else { return nil }
                defer { at += Int(length) }
                return bytes.baseAddress.map { ($0 + at).assumingMemoryBound(to: CChar.self) }
            }
            return wire.withConnection {
                $0.sendQueryPrepared($1, name, Int32(pointers.count), pointers, arguments.lengths, formats, 1)
            }
        }
        try wire.check(sent)
    }
}

/// What a connection has prepared, by SQL.
final class PreparedStatements {
    private static let most = 256
    private let wire: PostgresWire
    private var known: [String: PreparedStatement] = [:]
    private var last = 0
    private var isStale = false

    init(_ wire: PostgresWire) { self.wire = wire }

    var count: Int { known.count }

    /// Prepares everything anew: a table has changed below a statement.
    func forget() { isStale = true }

    /// Whether a statement needs not be prepared.
    func contains(_ sql: String) -> Bool { !isStale && known[sql] != nil }

    /// The statements of `list`; what is new is prepared in one round trip. `mayDiscard`: the transaction has not failed,
    /// so that the server would do it.
    func prepare(_ list: [PostgresStatement], mayDiscard: Bool) throws(PostgresError) -> [PreparedStatement] {
        let wanted = Set(list.map(\.sql))
        // Subtracting the keys would hash every statement that is known.
        let unknown = wanted.filter { known[$0] == nil }
        let discards = mayDiscard && (isStale || known.count + unknown.count > Self.most && !unknown.isEmpty)
        var missing: [(source: String, sql: String)] = []
        for source in (discards ? wanted : unknown).sorted() {
            guard !source.utf8.contains(0) else { throw PostgresError(.other, "a statement contains a NUL") }
            missing.append((source, try Placeholders(source).sql))
        }
        if discards {
            known = [:]
            isStale = false
            try wire.send(command: "DEALLOCATE ALL")
        }
        if discards || !missing.isEmpty { try prepare(missing, discards) }
        var prepared: [PreparedStatement] = []
        for statement in list {
            guard let one = known[statement.sql] else {
                throw wire.closed("PostgreSQL did not describe a statement")
            }
            prepared.append(one)
        }
        return prepared
    }

    private func prepare(_ missing: [(source: String, sql: String)], _ discards: Bool) throws(PostgresError) {
        let first = last + 1
        last += missing.count
        for (index, statement) in missing.enumerated() {
            try wire.send { $0.sendPrepare($1, "s\(first + index)", statement.sql, 0, nil) }
            try wire.send { $0.sendDescribePrepared($1, "s\(first + index)") }
        }
        try wire.send { $0.pipelineSync($1) }
        var failure = discards ? try wire.answer() : nil
        for (index, statement) in missing.enumerated() {
            var described: (arguments: [UInt32], columns: [(name: String, type: UInt32)])?
            let error = try wire.answer()
            let second = try wire.answer { described = ($0.arguments, $0.columns) }
            guard failure == nil else { continue }
            failure = error ?? second
            guard failure == nil, let described else { continue }
            do throws(PostgresError) {
                known[statement.source] = try Self.statement(
                    "s\(first + index)", described.arguments, described.columns)
            } catch {
                failure = error
            }
        }
        try wire.endOfPipeline()
        if let failure { throw failure }
    }

    private static func statement(
        _ name: String, _ arguments: [UInt32], _ columns: [(name: String, type: UInt32)]
    ) throws(PostgresError) -> PreparedStatement {
        var parameters: [PostgresType] = []
        for (index, type) in arguments.enumerated() {
            guard let known = PostgresType(rawValue: type) else {
                throw PostgresError(
                    .other, "argument \(index + 1) has a type that is not known, number \(type): write a cast")
            }
            parameters.append(known)
        }
        var types: [PostgresType] = []
        for column in columns {
            guard let known = PostgresType(rawValue: column.type) else {
                throw PostgresError(
                    .other,
                    "the column \(column.name) has a type that is not known, number \(column.type): write a cast")
            }
            types.append(known)
        }
        return PreparedStatement(name: name, parameters: parameters, columns: columns.map(\.name), types: types)
    }
}
