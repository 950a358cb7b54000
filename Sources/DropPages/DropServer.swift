package import ControlProtocol
package import DropStore
package import FileValues
import Filing
import HTTPValues
import LinuxKernel
import Reporting
import SystemMonitor
import WebAccounts
package import WebServing

/// Answers everything below `up`, for people and their devices, `dav`, for devices alone, and `d/TOKEN`, for whoever has a link:
/// uploads and their receipts. Targets are relative to the program, whatever proxies add.
package struct DropServer: Sendable {
    /// Sends a request to the daemon; nil if it does not answer.
    package typealias Ask = @Sendable (ControlRequest) async -> ControlAnswer?

    package struct Options: Sendable {
        /// The user whose `Remote-User` is believed, on a local socket; nil for nobody's.
        package var pages: UInt32?
        /// The directory of web.links and web.devices; nil for neither.
        package var accounts: BytePath?
        /// Of people; guests have a quota besides.
        package var limits = DropLimits()
        /// The wall clock, in seconds since 1970.
        package var now: @Sendable () -> Int64 = { FileTime.now.seconds }
        /// Writes a line for the administrator.
        package var log: @Sendable (String) -> Void = { _ in }
        /// Called, perhaps repeatedly, with the reason why nothing is received before another server is made.
        package var restart: @Sendable (String) -> Void = { _ in }

        package init() {}
    }

    private let store: DropStore
    private let inbox: String
    private let ask: Ask
    private let options: Options
    private let uploads: UploadHandler
    private let dav: DavHandler
    private let receipts: ReceiptHub
    private let links: AccountFile<GuestLink>
    private let devices: AccountFile<Device>
    /// Questions for what is known that are being read.
    private let questions = Locked<[DropOwner: Int]>([:])

    /// The most entries of a question for what is known, and its bytes.
    static let known = (entries: 1_000, bytes: 512 << 10)
    /// For so many seconds the sender of a file that has its name is told which upload that is: the answer may have been lost.
    private static let lately: Int64 = 600
    /// How many such questions are held at a time: of one owner, and of all guests.
    static let questionsAtOnce = (each: 8, guests: 32)

    /// `inbox` is the name in the configuration of the inbox that `store` is in.
    package init(_ store: DropStore, inbox: String, ask: @escaping Ask, _ options: Options = Options()) {
        (self.store, self.inbox, self.ask, self.options) = (store, inbox, ask, options)
        uploads = UploadHandler(store, log: options.log, restart: options.restart)
        dav = DavHandler(store, uploads, options.limits)
        receipts = ReceiptHub(store, inbox: inbox, ask: ask)
        links = AccountFile(in: options.accounts, log: options.log)
        devices = AccountFile(in: options.accounts, log: options.log)
        for remark in store.remarks { options.log(remark) }
    }

    /// Keeps the store in order until it is cancelled: expires uploads, and places files whose set does not come.
    package func care() async {
        let desk = CareDesk(store)
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(60))
            for failure in await desk.tidy() { options.log(failure) }
        }
    }

    /// At its end: makes durable what came, places what waits for others, and ends the streams of receipts.
    package func close() {
        store.close()
        Task { await receipts.end() }
    }

    // MARK: - Who asks for what

    /// Whoever sends, and until when and how much.
    private struct Visitor: Sendable {
        let sender: UploadSender
        let end: Int64?
    }

    package func answer(to request: WebRequest, _ body: inout WebBody) async -> WebResponse {
        let (head, target) = (request.head, request.head.target)
        switch target.segments.first {
        case "up":
            let owner: DropOwner?
            do throws(DeviceUnknown) {
                owner = try await device(request).map { .device($0.name, of: $0.person) } ?? person(request)
            } catch {
                return .refusal(error.status, error.message)
            }
            let visitor = Visitor(sender: UploadSender(owner, options.limits), end: nil)
            return await answer(to: request, target.segments.dropFirst(), visitor, &body)
        case "dav":
            do throws(DeviceUnknown) {
                guard let device = try await device(request) else {
                    return .refusal(.unauthorized, "the password of a device is missing")
                }
                let response = await dav.answer(to: request, of: device, &body)
                if !head.method.isSafe { Task { await receipts.wake() } }
                return response
            } catch { return .refusal(error.status, error.message) }
        case "d":
            guard let token = target.segments.dropFirst().first.flatMap({ Secret($0) }),
                let link = await links.first(where: { [hash = token.hash] in $0.token == hash })
            else {
                if await links.isUnusable { return .refusal(.unavailable, "links cannot be looked up now") }
                return .refusal(.notFound, "this link does not exist, or was removed")
            }
            guard options.now() < link.end else { return .refusal(.gone, "this link has ended") }
            var limits = options.limits
            limits.total = link.quota
            let visitor = Visitor(sender: UploadSender(.guest(link.label), limits), end: link.end)
            return await answer(toGuest: request, target.segments.dropFirst(2), visitor, &body)
        default: return .nothing
        }
    }

    /// The person whom the pages name, whose directory is not that of the guests.
    private func person(_ request: WebRequest) -> DropOwner? {
        guard case .local(let user) = request.peer, user == options.pages,
            let name = request.head.fields["remote-user"], Person.isName(name), name != DropOwner.guests
        else { return nil }
        return .person(name)
    }

    private struct DeviceUnknown: Error {
        let status: HTTPStatus
        let message: String
    }

    /// The device whose password came with the request; nil without one. Throws for a wrong one.
    private func device(_ request: WebRequest) async throws(DeviceUnknown) -> Device? {
        guard !request.head.fields.values(of: "authorization").isEmpty else { return nil }
        if let credentials = BasicCredentials(request.head.fields), credentials.user != DropOwner.guests,
            let hash = DevicePassword(credentials.password)?.hash,
            let device = await devices.first(where: { $0.person == credentials.user && $0.password == hash })
        {
            return device
        }
        if await devices.isUnusable {
            throw DeviceUnknown(status: .unavailable, message: "passwords of devices cannot be looked up now")
        }
        throw DeviceUnknown(status: .unauthorized, message: "no device of this person has this password")
    }

    private func answer(
        toGuest request: WebRequest, _ segments: ArraySlice<String>, _ visitor: Visitor, _ body: inout WebBody
    ) async -> WebResponse {
        let head = request.head
        if segments.first == "up" { return await answer(to: request, segments.dropFirst(), visitor, &body) }
        guard segments == ["about"], !head.target.isDirectory else { return .nothing }
        guard head.method == .get || head.method == .head else { return .wrongMethod(head, "GET, HEAD") }
        return await about(visitor)
    }

    /// `segments` are those behind the place of uploads.
    private func answer(
        to request: WebRequest, _ segments: ArraySlice<String>, _ visitor: Visitor, _ body: inout WebBody
    ) async -> WebResponse {
        let (head, owner) = (request.head, visitor.sender.owner)
        let isDirectory = head.target.isDirectory
        let questions = ["live": HTTPMethod.get, "about": .get, "known": .post]
        // A file may have any name, but for those who say it by the address alone.
        if segments.count == 1, !isDirectory, let method = questions[segments[segments.startIndex]], head.method != .put
        {
            guard head.method == method else { return .wrongMethod(head, method.rawValue) }
            guard let owner else { return .refusal(.unauthorized, "sign in first") }
            switch segments.first {
            case "live": return await live(owner, head)
            case "known": return await known(owner, request, &body)
            default: return await about(visitor)
            }
        }
        let base = Self.base(from: segments, isDirectory: isDirectory)
        let response = await uploads.answer(to: request, segments, base: base, of: visitor.sender, &body)
        if head.method != .head { Task { await receipts.wake() } }
        return response
    }

    /// The place of uploads, relative to an address below it.
    static func base(from segments: ArraySlice<String>, isDirectory: Bool) -> String {
        let depth = segments.count - (isDirectory ? 0 : 1)
        return depth < 0 ? "up/" : String(repeating: "../", count: depth)
    }

    // MARK: - What is said

    private func about(_ visitor: Visitor) async -> WebResponse {
        guard let owner = visitor.sender.owner else { return .refusal(.unauthorized, "sign in first") }
        let limits = visitor.sender.limits
        let answer = await ask(ControlRequest(.outcomes(inbox: inbox, of: [])))
        let reports = answer?.status == 0 ? answer?.arrivals : nil
        let left = limits.total.map { $0 - min($0, store.used(by: owner)) }
        let fields: [JSONField?] = [
            JSONField("inbox", inbox), JSONField("owner", owner.description),
            visitor.end.map { JSONField("until", JSONValue.moment($0)) }, left.map { JSONField("left", $0) },
            JSONField("largest", limits.largest), JSONField("daemon", reports != nil),
            reports?.paused.map { paused in
                if case .guest = owner { return JSONField("paused", "paused") }
                return JSONField("paused", paused)
            },
        ]
        return .json(.object(fields.compactMap(\.self)))
    }

    private func live(_ owner: DropOwner, _ head: RequestHead) async -> WebResponse {
        let after = head.fields["last-event-id"] ?? head.target["after"]
        let events = await receipts.events(for: owner, after: after.flatMap { UInt64($0) })
        // nginx would keep events until its buffer is full.
        let fields = WebResponse.guards + [("X-Accel-Buffering", "no"), ("Content-Type", MediaType.events.rawValue)]
        return WebResponse(.ok, fields, body: .stream(length: nil, events))
    }

    private struct Question: JSONMessage {
        struct File: Codable {
            var name: String
            var size: UInt64
            /// Milliseconds since 1970.
            var modified: Int64?
            var sha256: String?
        }

        var files: [File]
    }

    /// What need not be sent, or not from its first byte on. Guests learn of what was sent by their link alone.
    private func known(_ owner: DropOwner, _ request: WebRequest, _ body: inout WebBody) async -> WebResponse {
        let isAdmitted = questions.withLock { counts in
            let guests = counts.reduce(0) { $1.key.isGuest ? $0 + $1.value : $0 }
            guard counts[owner, default: 0] < Self.questionsAtOnce.each,
                !owner.isGuest || guests < Self.questionsAtOnce.guests
            else { return false }
            counts[owner, default: 0] += 1
            return true
        }
        guard isAdmitted else { return .refusal(.tooManyRequests, "too many ask at once; ask again") }
        defer {
            questions.withLock { counts in
                let count = counts[owner, default: 1] - 1
                counts[owner] = count > 0 ? count : nil
            }
        }
        var bytes = request.body
        do {
            while let piece = try await body.next() {
                bytes += piece
                if bytes.count > Self.known.bytes { return .refusal(.contentTooLarge, "ask about fewer files") }
            }
        } catch { return .refusal(.badRequest, "the question was cut short") }
        guard let question = Question(json: bytes) else { return .refusal(.badRequest, "the body is no question") }
        guard question.files.count <= Self.known.entries else {
            return .refusal(.contentTooLarge, "ask about \(Self.known.entries) files at a time")
        }
        let own = store.uploads(of: owner)
        let hashes = question.files.map { $0.sha256.flatMap { FileValues.bytes(ofHexadecimal: $0.utf8) } }
        let filed = await filed(Set(hashes.compactMap(\.self).filter { $0.count == 32 }), owner, own)
        let begun = Dictionary(grouping: own, by: \.value.new.name.original)
        let since = store.seconds - Self.lately
        let answers = zip(question.files, hashes).map { file, hash -> JSONValue in
            let candidates = begun[BytePath(file.name)]?.filter { Self.isContinued($0.value, file, hash, owner, since) }
            if let (id, record) = candidates?.max(by: { $0.value.offset < $1.value.offset }) {
                return .object([
                    JSONField("state", "unfinished"), JSONField("upload", "\(id)"),
                    JSONField("offset", record.offset),
                ])
            }
            // Not safe: nobody has read it again just now.
            let isFiled = hash.map { filed.contains($0) } ?? false
            return .object([JSONField("state", isFiled ? "filed" : "unknown")])
        }
        return .json(.object([JSONField("files", JSONValue.array(answers))]))
    }

    /// Whether an upload is of this file, and its sender may not know yet that all of it has come.
    private static func isContinued(
        _ record: UploadRecord, _ file: Question.File, _ hash: [UInt8]?, _ owner: DropOwner, _ since: Int64
    ) -> Bool {
        guard record.length == file.size else { return false }
        switch record.phase {
        case .receiving: if record.isHeldWhole { return false }
        case .whole, .placing: if hash == nil { return false }
        case .placed: if hash == nil || record.changed < since { return false }
        case .ended: return false
        }
        if let hash { return (record.digest ?? record.new.digest)?.bytes == hash }
        // Cameras give one name to files of one size.
        if let time = file.modified { return record.new.modified?.milliseconds == time }
        // Whoever has the same link could guess names and sizes, and end what another sends.
        return !owner.isGuest
    }

    /// Which contents are filed, and are in the library now.
    private func filed(
        _ hashes: Set<[UInt8]>, _ owner: DropOwner, _ own: [UploadID: UploadRecord]
    ) async -> Set<[UInt8]> {
        var wanted = hashes
        if owner.isGuest {
            wanted.formIntersection(own.values.compactMap { $0.path == nil ? nil : $0.digest?.bytes })
        }
        var (filed, rest) = (Set<[UInt8]>(), Array(wanted)[...])
        while !rest.isEmpty {
            let some = Array(rest.prefix(ControlCommand.knownLimit))
            rest = rest.dropFirst(some.count)
            guard let answer = await ask(ControlRequest(.known(some))), answer.status == 0, let known = answer.known,
                known.count == some.count
            else { break }
            filed.formUnion(zip(some, known).filter(\.1).map(\.0))
        }
        return filed
    }
}

extension DropOwner {
    fileprivate var isGuest: Bool { if case .guest = self { true } else { false } }
}

extension FileTime {
    fileprivate var milliseconds: Int64 { seconds * 1_000 + Int64(nanoseconds) / 1_000_000 }
}

/// The store's upkeep, on a queue that may wait.
private actor CareDesk {
    private let queue = MonitorQueue(label: "photo-inbox.drop.care")
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.executor.asUnownedSerialExecutor() }

    private let store: DropStore

    init(_ store: DropStore) { self.store = store }

    func tidy() -> [String] { store.tidy() }
}

extension WebResponse {
    /// Of what is no page, even if it is opened as one. An address may have a token in it.
    fileprivate static let guards: [(name: String, value: String)] = [
        ("Cache-Control", "no-store"),
        ("Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'none'"),
        ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    ]

    fileprivate static func json(_ value: JSONValue, _ status: HTTPStatus = .ok) -> WebResponse {
        WebResponse(
            status, guards + [("Content-Type", MediaType.json.rawValue)], body: .bytes(Array(value.compact.utf8)))
    }

    fileprivate static func refusal(_ status: HTTPStatus, _ message: String) -> WebResponse {
        json(.object([JSONField("message", message)]), status)
    }

    fileprivate static func wrongMethod(_ head: RequestHead, _ allowed: String) -> WebResponse {
        var response = refusal(.methodNotAllowed, "this address is not for \(head.method.rawValue)")
        response.fields.append(("Allow", allowed))
        return response
    }

    fileprivate static var nothing: WebResponse { refusal(.notFound, "there is nothing at this address") }
}
