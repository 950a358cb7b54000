import CPostgres
import Glibc

/// A connection of libpq: what is sent, and results with a deadline. Every failure of the connection closes it.
final class PostgresWire {
    let calls: UnsafeMutablePointer<cpostgres>
    let notices = PostgresNotices()
    var deadline = ContinuousClock.now
    /// A commit was sent, and its result is not there: a failure leaves its outcome unknown.
    var isCommitUnderWay = false
    private var connection: OpaquePointer?
    let largestAnswer: Int
    private var secret: String?

    var isOpen: Bool { connection != nil }

    /// Connects, which blocks: names are looked up, and each address has `connectSeconds`.
    init(_ parameters: PostgresParameters) throws(PostgresError) {
        largestAnswer = parameters.largestAnswer
        calls = .allocate(capacity: 1)
        var why = [CChar](repeating: 0, count: 512)
        guard cpostgres_load(calls, parameters.library, &why, why.count) != 0 else {
            let text = Self.text(why.withUnsafeBufferPointer { $0.baseAddress })
            throw PostgresError(
                .other, "\(text). PostgreSQL's library, version 14 or later, is needed: install the package libpq5.")
        }
        let given = try optionsGiven(parameters.connection)
        // The operator's words are expanded where `dbname` stands; what comes later overrides them.
        let pairs = [("dbname", parameters.connection)] + parameters.ours(options: given)
        connection = withStrings(pairs.map(\.0)) { names in
            withStrings(pairs.map(\.1)) { values in calls.pointee.connectdbParams(names, values, 1) }
        }
        guard let connection else { throw PostgresError(.other, "no memory for a connection to PostgreSQL") }
        guard calls.pointee.status(connection) == Int32(CPOSTGRES_CONNECTION_OK) else {
            throw closed("cannot connect to PostgreSQL: \(lastMessage)")
        }
        _ = calls.pointee.setNoticeReceiver(
            connection,
            { context, result in
                guard let context, let result else { return }
                Unmanaged<Sink>.fromOpaque(context).takeUnretainedValue().take(result)
            }, Unmanaged.passUnretained(sink).toOpaque())
        guard calls.pointee.setnonblocking(connection, 1) == 0, calls.pointee.enterPipelineMode(connection) == 1 else {
            throw closed("cannot prepare the connection to PostgreSQL: \(lastMessage)")
        }
    }

    deinit {
        if let connection { calls.pointee.finish(connection) }
        calls.deallocate()
    }

    /// The receiver of notices, which libpq calls while it reads.
    private final class Sink {
        let notices: PostgresNotices
        let calls: UnsafeMutablePointer<cpostgres>
        init(_ notices: PostgresNotices, _ calls: UnsafeMutablePointer<cpostgres>) {
            self.notices = notices
            self.calls = calls
        }
        func take(_ result: OpaquePointer) {
            func field(_ code: Int) -> String {
                PostgresWire.text(calls.pointee.resultErrorField(result, Int32(code)))
            }
            notices.add(
                severity: field(CPOSTGRES_SEVERITY), field(CPOSTGRES_MESSAGE))
        }
    }
    private lazy var sink = Sink(notices, calls)

    // MARK: Texts

    /// A text of libpq. What is no UTF-8 is replaced; no more than 4 KiB are read.
    static func text(_ pointer: UnsafePointer<CChar>?) -> String {
        guard let pointer else { return "" }
        let count = strnlen(pointer, 4_096)
        var text = String(decoding: UnsafeRawBufferPointer(start: pointer, count: count), as: UTF8.self)
        while text.last?.isNewline == true { text.removeLast() }
        return text
    }

    /// libpq's last message, without the password of the operator's words.
    private var lastMessage: String {
        guard let connection else { return "" }
        return withoutSecret(Self.text(calls.pointee.errorMessage(connection)))
    }

    private func withoutSecret(_ text: String) -> String {
        guard let secret, !secret.isEmpty else { return text }
        return text.replacing(secret, with: "…")
    }

    /// Reads the operator's words for their `options`, and for the password that no message may contain.
    private func optionsGiven(_ words: String) throws(PostgresError) -> String {
        // Not libpq's message, which quotes the words.
        guard !words.utf8.contains(0), let first = calls.pointee.conninfoParse(words, nil) else {
            throw PostgresError(
                .other,
                "the connection string for PostgreSQL cannot be read: it must be NAME=VALUE pairs with names of libpq, "
                    + "or an address postgresql://…")
        }
        defer { calls.pointee.conninfoFree(first) }
        var options = ""
        var option = first
        while let keyword = option.pointee.keyword {
            switch strcmp(keyword, "password") == 0 ? 0 : strcmp(keyword, "options") == 0 ? 1 : 2 {
            case 0: secret = option.pointee.val.map { Self.text($0) }
            case 1: options = Self.text(option.pointee.val)
            default: break
            }
            option += 1
        }
        return options
    }

    // MARK: Failures

    /// Closes the connection, and says what that means.
    func closed(_ why: String) -> PostgresError {
        if let connection { calls.pointee.finish(connection) }
        connection = nil
        guard isCommitUnderWay else { return PostgresError(.unreachable, why) }
        isCommitUnderWay = false
        return PostgresError(.unknownOutcome, "\(why); the transaction may have been committed")
    }

    private func opened() throws(PostgresError) -> OpaquePointer {
        guard let connection else { throw PostgresError(.unreachable, "the connection to PostgreSQL is closed") }
        return connection
    }

    // MARK: Sending

    /// Queues a message; nothing is transmitted before `receive`, but what does not fit a buffer.
    func send(_ message: (cpostgres, OpaquePointer) -> Int32) throws(PostgresError) {
        guard message(calls.pointee, try opened()) == 1 else {
            throw closed("cannot send to PostgreSQL: \(lastMessage)")
        }
    }

    func send(command: String) throws(PostgresError) {
        try send { $0.sendQueryParams($1, command, 0, nil, nil, nil, nil, 1) }
    }

    /// For a message that needs pointers; its result goes to `check`.
    func withConnection(_ message: (cpostgres, OpaquePointer) -> Int32) -> Int32 {
        connection.map { message(calls.pointee, $0) } ?? 0
    }

    func check(_ sent: Int32) throws(PostgresError) {
        _ = try opened()
        guard sent == 1 else { throw closed("cannot send to PostgreSQL: \(lastMessage)") }
    }

    /// Of the next statement; without effect if it has no rows.
    func receiveRowByRow() { _ = withConnection { $0.setSingleRowMode($1) } }

    var version: Int { Int(withConnection { $0.serverVersion($1) }) }

    // MARK: Receiving

    /// The next result; nil after the last one of a statement.
    func receive() throws(PostgresError) -> PostgresResult? {
        try wait { calls.pointee.isBusy($0) == 0 }
        guard let pointer = calls.pointee.getResult(try opened()) else { return nil }
        return PostgresResult(calls, pointer)
    }

    /// Receives one statement's results up to their end. Returns the server's error; throws if the connection fails.
    func answer(_ each: (borrowing PostgresResult) -> Void = { _ in }) throws(PostgresError) -> PostgresError? {
        var failure: PostgresError?
        while let result = try receive() {
            switch result.status {
            case CPOSTGRES_COMMAND_OK, CPOSTGRES_TUPLES_OK, CPOSTGRES_SINGLE_TUPLE:
                each(result)
            case CPOSTGRES_PIPELINE_ABORTED:
                failure = PostgresError(.other, "not done, as a statement before it failed")
            case CPOSTGRES_FATAL_ERROR:
                let error = self.failure(result)
                guard isOpen else { throw error }
                failure = error
            default:
                throw closed("PostgreSQL sent a result of an unexpected kind, \(result.status)")
            }
        }
        return failure
    }

    func endOfPipeline() throws(PostgresError) {
        guard let result = try receive(), result.status == CPOSTGRES_PIPELINE_SYNC else {
            throw closed("PostgreSQL did not end its answers as announced")
        }
    }

    /// An error that a result is. A fatal one closes the connection.
    func failure(_ result: borrowing PostgresResult) -> PostgresError {
        let state = result.field(CPOSTGRES_SQLSTATE)
        guard !state.isEmpty else { return closed("lost the connection to PostgreSQL: \(lastMessage)") }
        let detail = result.field(CPOSTGRES_DETAIL)
        let message = withoutSecret(
            result.field(CPOSTGRES_MESSAGE) + (detail.isEmpty ? "" : ": \(detail)"))
        guard result.field(CPOSTGRES_SEVERITY) == "ERROR" else {
            let error = closed("PostgreSQL ended the connection: \(message)")
            let kind = PostgresError.kind(of: state)
            return PostgresError(
                error.kind == .unreachable && kind != .other ? kind : error.kind, error.message, sqlState: state)
        }
        return PostgresError(sqlState: state, message: message)
    }

    /// Sends and receives until `isDone`. When the deadline passes, the connection is closed and not cancelled: a
    /// cancelled commit would be reported as one that succeeded.
    func wait(until isDone: (OpaquePointer) -> Bool) throws(PostgresError) {
        var received = 0
        while true {
            let connection = try opened()
            let unsent = calls.pointee.flush(connection)
            if unsent < 0 { throw closed("lost the connection to PostgreSQL: \(lastMessage)") }
            if isDone(connection) { return }
            var entry = pollfd(fd: calls.pointee.socket(connection), events: Int16(POLLIN), revents: 0)
            if unsent == 1 { entry.events |= Int16(POLLOUT) }
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { throw closed("PostgreSQL did not answer in time") }
            // Rounded up: otherwise the last millisecond would be spent asking.
            let milliseconds = left.components.seconds * 1_000 + left.components.attoseconds / 1_000_000_000_000_000 + 1
            let count = poll(&entry, 1, Int32(clamping: milliseconds))
            if count < 0, errno != EINTR { throw closed("cannot wait for PostgreSQL: poll(2) failed (\(errno))") }
            guard count > 0, entry.revents & ~Int16(POLLOUT) != 0 else { continue }
            received += Int(cpostgres_readable(entry.fd))
            guard received <= largestAnswer else {
                throw closed("an answer of PostgreSQL is longer than \(largestAnswer) bytes")
            }
            if calls.pointee.consumeInput(connection) == 0 {
                // An error that came before the end is a result, which says more.
                if isDone(connection) { return }
                throw closed("lost the connection to PostgreSQL: \(lastMessage)")
            }
        }
    }

    private func withStrings<R>(
        _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> R
    ) -> R {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        var pointers = copies.map { UnsafePointer($0) } + [nil]
        return pointers.withUnsafeMutableBufferPointer { buffer in
            body(UnsafePointer(buffer.baseAddress.unsafelyUnwrapped))
        }
    }
}

/// A result of libpq, freed with this.
struct PostgresResult: ~Copyable {
    private let calls: UnsafeMutablePointer<cpostgres>
    private let pointer: OpaquePointer

    init(_ calls: UnsafeMutablePointer<cpostgres>, _ pointer: OpaquePointer) {
        self.calls = calls
        self.pointer = pointer
    }

    deinit { calls.pointee.clear(pointer) }

    var status: Int { Int(calls.pointee.resultStatus(pointer)) }
    var rowCount: Int { Int(calls.pointee.ntuples(pointer)) }
    /// `COMMIT`, `INSERT 0 1`, …
    var tag: String { PostgresWire.text(calls.pointee.cmdStatus(pointer)) }
    var changed: Int { Int(PostgresWire.text(calls.pointee.cmdTuples(pointer))) ?? 0 }

    func field(_ code: Int) -> String {
        PostgresWire.text(calls.pointee.resultErrorField(pointer, Int32(code)))
    }

    /// The types of a described statement's arguments.
    var arguments: [UInt32] { (0..<calls.pointee.nparams(pointer)).map { calls.pointee.paramtype(pointer, $0) } }

    /// The names and types of the columns.
    var columns: [(name: String, type: UInt32)] {
        (0..<calls.pointee.nfields(pointer)).map {
            (PostgresWire.text(calls.pointee.fname(pointer, $0)), calls.pointee.ftype(pointer, $0))
        }
    }

    func row(_ index: Int, names: [String], types: [PostgresType]) throws(PostgresError) -> PostgresRow {
        let row = Int32(index)
        guard Int(calls.pointee.nfields(pointer)) == types.count else {
            throw PostgresError(.corrupt, "PostgreSQL returned another number of columns than it announced")
        }
        var values: [PostgresValue] = []
        values.reserveCapacity(types.count)
        for (position, type) in types.enumerated() {
            let column = Int32(position)
            if calls.pointee.getisnull(pointer, row, column) == 1 {
                values.append(.null)
                continue
            }
            let bytes = UnsafeRawBufferPointer(
                start: calls.pointee.getvalue(pointer, row, column),
                count: Int(max(0, calls.pointee.getlength(pointer, row, column))))
            guard calls.pointee.ftype(pointer, column) == type.rawValue, calls.pointee.fformat(pointer, column) == 1,
                let value = type.decoded(bytes)
            else {
                throw PostgresError(
                    .corrupt,
                    "PostgreSQL returned \(bytes.count) bytes for the column \(names[position]) that are no \(type)")
            }
            values.append(value)
        }
        return PostgresRow(columns: names, values: values)
    }
}
