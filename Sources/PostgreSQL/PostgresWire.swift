import CPostgres
import Glibc

/// A connection of libpq to one server: what is sent, and results with a deadline. Every failure of it closes it.
final class PostgresWire {
    let calls: UnsafeMutablePointer<cpostgres>
    let notices = PostgresNotices()
    /// Of each wait: for bytes to come, or to go.
    var limit = Duration.zero
    /// Asked every 100 ms while something is waited for; false closes the connection.
    var goesOn: (() -> Bool)? {
        didSet { question = .now + Self.interval }
    }
    private static let interval = Duration.milliseconds(100)
    private var question = ContinuousClock.now
    /// A commit was sent, and its result is not there: a failure leaves its outcome unknown.
    var isCommitUnderWay = false
    private var connection: OpaquePointer?
    let largestAnswer: Int
    private var secret: String?
    /// Where libpq looks for the password that the operator's words lack.
    private var passwordFile: String?

    var isOpen: Bool { connection != nil }

    /// What its socket has to be ready for, until it is connected.
    private(set) var events = POLLOUT
    /// Those that the operator's words name, with services and the environment, as options of libpq; none if they do not
    /// fit together.
    private(set) var servers: [[(String, String)]] = []

    /// Begins to connect to `server`, or to those of the operator's words one after the other. Looks up names.
    init(_ parameters: PostgresParameters, _ server: [(String, String)] = []) throws(PostgresError) {
        largestAnswer = parameters.largestAnswer
        calls = .allocate(capacity: 1)
        let given = try Self.options(of: parameters, calls)
        secret = given["password"]
        // The operator's words are expanded where `dbname` stands; what comes later overrides them.
        let pairs = [("dbname", parameters.connection)] + server + parameters.ours(options: given["options"] ?? "")
        connection = withStrings(pairs.map(\.0)) { names in
            withStrings(pairs.map(\.1)) { values in calls.pointee.connectStartParams(names, values, 1) }
        }
        guard let connection else { throw PostgresError(.other, "no memory for a connection to PostgreSQL") }
        _ = calls.pointee.setNoticeReceiver(
            connection,
            { context, result in
                guard let context, let result else { return }
                Unmanaged<Sink>.fromOpaque(context).takeUnretainedValue().take(result)
            }, Unmanaged.passUnretained(sink).toOpaque())
        // With the SQLSTATE of a refusal, which libpq has only in its message.
        _ = calls.pointee.setErrorVerbosity(connection, Int32(CPOSTGRES_ERRORS_VERBOSE))
        // With services, files and the environment.
        let used = Self.options(calls.pointee.conninfo(connection), calls) ?? [:]
        secret = used["password"] ?? secret
        passwordFile = used["passfile"]
        servers = Self.servers(of: used)
    }

    /// Each server's own words; none where they cannot be told apart, so that libpq asks one after the other.
    private static func servers(of used: [String: String]) -> [[(String, String)]] {
        let lists = ["host", "hostaddr", "port"].compactMap { name in
            used[name].map { list in
                // A word without a value would not override the list, and libpq's port for it is this.
                let values = list.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
                return (name, name == "port" ? values.map { $0.isEmpty ? "5432" : $0 } : values)
            }
        }
        if lists.contains(where: { $1.count > 1 && $1.contains("") }) { return [] }
        let count = lists.filter { $0.0 != "port" }.map(\.1.count).max() ?? 1
        guard lists.allSatisfy({ $1.count == count || $0 == "port" && $1.count == 1 }) else { return [] }
        return (0..<count).map { index in lists.map { ($0, $1[$1.count == 1 ? 0 : index]) } }
    }

    /// Goes on connecting, once its socket is ready for ``events`` or there is none. True when it is connected.
    func advance() throws(PostgresError) -> Bool {
        let connection = try opened()
        switch Int(calls.pointee.connectPoll(connection)) {
        case CPOSTGRES_POLLING_READING: events = POLLIN
        case CPOSTGRES_POLLING_WRITING: events = POLLOUT
        case CPOSTGRES_POLLING_OK:
            _ = calls.pointee.setErrorVerbosity(connection, Int32(CPOSTGRES_ERRORS_DEFAULT))
            guard calls.pointee.setnonblocking(connection, 1) == 0, calls.pointee.enterPipelineMode(connection) == 1
            else { throw closed("cannot prepare the connection: \(lastMessage)") }
            return true
        default: throw refused(lastMessage)
        }
        return false
    }

    /// Closes a connection that was not made, because of `message`, in which each server's SQLSTATE is.
    private func refused(_ message: String) -> PostgresError {
        var state: String?
        var lines: [String] = []
        for line in message.split(separator: "\n") where !line.hasPrefix("LOCATION:  ") {
            guard let match = line.firstMatch(of: /:  ([0-9A-Z]{5}):\s/) else {
                lines.append(String(line))
                continue
            }
            state = String(match.1)
            lines.append(line[..<match.range.lowerBound] + ": " + line[match.range.upperBound...])
        }
        let error = closed(lines.joined(separator: "\n"))
        guard let state else { return Self.lacksPassword(error, passwordFile) ?? error }
        let isForbidden = PostgresError.kind(of: state) == .permission || state == "3D000"
        return PostgresError(isForbidden ? .permission : .unreachable, error.message, sqlState: state)
    }

    /// A server's demand for a password where libpq has found none, with the reason; nil for another error. It is the same as
    /// of a wrong one: waiting does not help.
    private static func lacksPassword(_ error: PostgresError, _ file: String?) -> PostgresError? {
        // Of libpq, as PQconnectionNeedsPassword() compares it.
        guard error.message.contains("no password supplied") else { return nil }
        let why =
            file.map { file in
                PostgresPasswordFile.fault(of: file) ?? "no line of the password file \(file) is for this connection"
            } ?? "no password file is named"
        return PostgresError(.permission, "\(error.message.replacing("fe_sendauth: ", with: "")): \(why)")
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

    /// -1 while there is none.
    var socket: Int32 { connection.map(calls.pointee.socket) ?? -1 }

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
        // libpq adds a line to the reason why a connection was lost that says only that it has none any more, and to the reason
        // why there is none a question.
        return withoutSecret(
            Self.text(calls.pointee.errorMessage(connection)).split(separator: "\n")
                .filter { $0 != "invalid socket" && !$0.hasPrefix("\tIs the server running") }.joined(separator: "\n"))
    }

    private func withoutSecret(_ text: String) -> String {
        guard let secret, !secret.isEmpty else { return text }
        return text.replacing(secret, with: "…")
    }

    /// Loads libpq into `calls`, and returns the options that the operator's words give.
    static func options(
        of parameters: PostgresParameters, _ calls: UnsafeMutablePointer<cpostgres>
    ) throws(PostgresError) -> [String: String] {
        var why = [CChar](repeating: 0, count: 512)
        guard cpostgres_load(calls, parameters.library, &why, why.count) != 0 else {
            let text = text(why.withUnsafeBufferPointer { $0.baseAddress })
            throw PostgresError(
                .other, "\(text). PostgreSQL's library, version 14 or later, is needed: install the package libpq5.")
        }
        // Not libpq's message, which quotes the words.
        guard !parameters.connection.utf8.contains(0),
            let given = options(calls.pointee.conninfoParse(parameters.connection, nil), calls)
        else {
            throw PostgresError(
                .other,
                "the connection string for PostgreSQL cannot be read: it must be NAME=VALUE pairs with names of libpq, "
                    + "or an address postgresql://…")
        }
        return given
    }

    /// libpq's options that have values, which are freed.
    private static func options(
        _ first: UnsafeMutablePointer<cpostgres_option>?, _ calls: UnsafeMutablePointer<cpostgres>
    ) -> [String: String]? {
        guard let first else { return nil }
        defer { calls.pointee.conninfoFree(first) }
        var options: [String: String] = [:]
        var option = first
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { options[text(keyword)] = text(value) }
            option += 1
        }
        return options
    }

    // MARK: Failures

    /// Closes the connection, and says what that means.
    func closed(_ why: String, _ kind: PostgresError.Kind = .unreachable) -> PostgresError {
        if let connection { calls.pointee.finish(connection) }
        connection = nil
        guard isCommitUnderWay else { return PostgresError(kind, why) }
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

    /// Gives the next of a statement's results to `each`, or its error to `failure`. False after the last one. Throws if
    /// the connection fails.
    func step(
        _ failure: inout PostgresError?, _ each: (borrowing PostgresResult) -> Void
    ) throws(PostgresError) -> Bool {
        guard let result = try receive() else { return false }
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
        return true
    }

    /// Receives all of a statement's results. Returns the server's error; throws if the connection fails.
    func answer(_ each: (borrowing PostgresResult) -> Void = { _ in }) throws(PostgresError) -> PostgresError? {
        var failure: PostgresError?
        while try step(&failure, each) {}
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
            let kind = PostgresError.kind(of: state)
            let error = closed("PostgreSQL ended the connection: \(message)", kind == .other ? .unreachable : kind)
            return PostgresError(error.kind, error.message, sqlState: state)
        }
        return PostgresError(sqlState: state, message: message)
    }

    /// Sends and receives until `isDone`, as long as bytes come or go within each `limit`. Otherwise the connection is
    /// closed and nothing is cancelled: a cancelled commit would be reported as one that succeeded.
    func wait(until isDone: (OpaquePointer) -> Bool) throws(PostgresError) {
        var received = 0
        var deadline: ContinuousClock.Instant?
        while true {
            let connection = try opened()
            let unsent = calls.pointee.flush(connection)
            if unsent < 0 { throw closed("lost the connection to PostgreSQL: \(lastMessage)") }
            if isDone(connection) { return }
            let end = deadline ?? .now + limit
            deadline = end
            let socket = calls.pointee.socket(connection)
            let events = try ready(socket, POLLIN | (unsent == 1 ? POLLOUT : 0), by: end)
            if events != 0 { deadline = nil }
            guard events & ~Int16(POLLOUT) != 0 else { continue }
            // libpq may read more at once, as long as it comes faster than it is read.
            received += Int(cpostgres_readable(socket))
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

    /// What `socket` is ready for of `events`; 0 if nothing yet. Throws after `deadline`, or if the caller gives up.
    private func ready(
        _ socket: Int32, _ events: Int32, by deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> Int16 {
        let now = ContinuousClock.now
        if let goesOn, now >= question {
            guard goesOn() else { throw closed("interrupted while PostgreSQL was waited for", .interrupted) }
            question = now + Self.interval
        }
        guard now < deadline else { throw closed("PostgreSQL did not answer in time") }
        let left = now.duration(to: goesOn == nil ? deadline : min(deadline, question)).components
        // Rounded up: otherwise the last millisecond would be spent asking.
        let milliseconds = left.seconds * 1_000 + left.attoseconds / 1_000_000_000_000_000 + 1
        var entry = pollfd(fd: socket, events: Int16(events), revents: 0)
        let count = poll(&entry, 1, Int32(clamping: milliseconds))
        if count < 0, errno != EINTR { throw closed("cannot wait for PostgreSQL: poll(2) failed (\(errno))") }
        return count > 0 ? entry.revents : 0
    }

    /// Reads what has come between transactions: notices, or the server's end, after which a commit that is sent has no known
    /// outcome.
    func isStillOpen() -> Bool {
        while let connection {
            var entry = pollfd(fd: calls.pointee.socket(connection), events: Int16(POLLIN), revents: 0)
            if poll(&entry, 1, 0) == 0 { return true }
            if entry.revents & Int16(POLLHUP | POLLERR) != 0 || calls.pointee.consumeInput(connection) == 0 {
                _ = closed("the server closed the connection")
            }
        }
        return false
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
