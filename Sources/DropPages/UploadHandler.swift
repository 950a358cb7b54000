package import DropStore
import FileValues
import Filing
import HTTPValues
import LinuxKernel
import SystemMonitor
package import WebServing

/// Who sends, and how much.
package struct UploadSender: Hashable, Sendable {
    /// Nil for nobody who may begin an upload. Whoever knows the number of a person's upload may continue it, though a session has
    /// ended meanwhile; that of a guest or a device is continued by its link or password alone.
    package let owner: DropOwner?
    package let limits: DropLimits

    package init(_ owner: DropOwner?, _ limits: DropLimits = DropLimits()) {
        (self.owner, self.limits) = (owner, limits)
    }

    func mayContinue(_ record: UploadRecord) -> Bool {
        switch (record.new.owner, owner) {
        case (.person, nil), (.person, .person): true
        case (.guest, _), (.device, _): record.new.owner == owner
        case (.person, .guest), (.person, .device): false
        }
    }
}

/// Answers requests for uploads, in all dialects.
package struct UploadHandler: Sendable {
    private let store: DropStore
    /// Writes a line for the administrator.
    private let log: @Sendable (String) -> Void
    private let restart: @Sendable (String) -> Void

    package init(
        _ store: DropStore, log: @escaping @Sendable (String) -> Void,
        restart: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        (self.store, self.log, self.restart) = (store, log, restart)
    }

    /// The answer to a request; `segments` are those behind the place of uploads, which `base` leads to from the request's own
    /// address, as a reference: what a proxy makes of addresses is not known here.
    package func answer(
        to request: WebRequest, _ segments: ArraySlice<String>, base: String, of sender: UploadSender,
        _ body: inout WebBody
    ) async -> WebResponse {
        let head: UploadHead
        do throws(UploadMistake) { head = try UploadHead(request.head, segments) } catch {
            // Even a mistake is told in the words of its dialect.
            let dialect: UploadDialect = request.head.fields["tus-resumable"] == nil ? .post : .tus
            return response(.mistake(error), dialect, base)
        }
        let result = await result(of: head, request, base, sender, &body)
        if case .failed(let error, _) = result { report(error) }
        return response(result, head.dialect, base)
    }

    /// What the administrator, or another server, must see to.
    func report(_ error: DropError) {
        if case .system(let error) = error { log("uploads: \(error)") }
        if error == .inboxGone { restart("the inbox is not at its path any more, or something is mounted over it") }
        if store.isBroken { restart("the disk has failed to keep the ledger of uploads") }
    }

    private func result(
        of head: UploadHead, _ request: WebRequest, _ base: String, _ sender: UploadSender, _ body: inout WebBody
    ) async -> UploadResult {
        var id: UploadID?
        let desk = UploadDesk(store)
        let limits = sender.limits
        do throws(DropError) {
            switch head.request {
            case .options: return .abilities(largest: limits.largest)
            case .ask(let asked):
                try await desk.check(asked, sender)
                id = asked
                return .state(asked, try await desk.status(of: asked))
            case .end(let ended):
                try await desk.check(ended, sender)
                id = ended
                try await desk.cancel(ended)
                return .ended
            case .append(let continued, let bytes):
                try await desk.check(continued, sender)
                id = continued
                if let length = bytes.length { try await desk.setLength(length, of: continued, limits) }
                let record = try await receive(bytes, for: continued, limits, desk, request, &body)
                return .upload(continued, record, wasCreated: false)
            case .create(let creation):
                guard let owner = sender.owner else { return .unknownSender }
                let name: DropName
                do throws(DropName.Refusal) { name = try DropName(creation.path, of: owner) } catch {
                    return .refusedName(error)
                }
                var new = NewUpload(owner, name, length: creation.length)
                (new.modified, new.digest, new.set) = (creation.modified, creation.digest, creation.set)
                let created = try await desk.create(new, limits)
                id = created
                guard let bytes = creation.bytes else {
                    return .upload(created, try await desk.record(of: created), wasCreated: true)
                }
                if head.dialect == .draft {
                    // Where it is continued, should this request break off.
                    let fields = [
                        ("Location", "\(base)\(created)"), ("Upload-Draft-Interop-Version", UploadHead.interop),
                    ]
                    try? await body.inform(fields.map { (name: $0.0, value: $0.1) })
                }
                do throws(DropError) {
                    let record = try await receive(bytes, for: created, limits, desk, request, &body)
                    return .upload(created, record, wasCreated: true)
                } catch {
                    // The client is not told its number, and could neither continue nor end it.
                    switch error {
                    case .superseded, .placed, .ended: break
                    default: if head.dialect != .draft { try? await desk.cancel(created) }
                    }
                    throw error
                }
            }
        } catch {
            return .failed(error, id)
        }
    }

    /// Adds the body to an upload, and completes it with its last byte.
    private func receive(
        _ bytes: UploadRequest.Bytes, for id: UploadID, _ limits: DropLimits, _ desk: UploadDesk, _ request: WebRequest,
        _ body: inout WebBody
    ) async throws(DropError) -> UploadRecord {
        do throws(DropError) {
            try await desk.begin(id, bytes, limits)
            // Nothing of it counts: up to the length it would be a file that is cut short. Of what has no length before it comes,
            // bytes count, and so it ends.
            if case .length(let count) = request.head.body, let length = try await desk.record(of: id).length,
                UInt64(count) > length - min(length, bytes.offset)
            {
                throw .tooLong(limit: length)
            }
            // A server that was given no stream has a body that is empty.
            if !request.body.isEmpty { try await desk.write(request.body) }
            do {
                while let piece = try await body.next() { try await desk.write(piece) }
            } catch let error as DropError {
                if case .tooLong = error, try await desk.record(of: id).length != nil { try? await desk.cancel(id) }
                throw error
            } catch {
                // The client has left. What it sent counts; nobody reads the answer.
                return try await desk.keep()
            }
            return try await desk.finish(isLast: bytes.isLast)
        } catch {
            // Nobody can continue a file that is sent in one request.
            if !bytes.isResumable { try? await desk.cancel(id) }
            throw error
        }
    }

    private func response(_ result: UploadResult, _ dialect: UploadDialect, _ base: String) -> WebResponse {
        let answer = UploadAnswer(result, dialect, base: base, expiry: expiry(of: result))
        var fields = answer.fields.map { (name: $0.name, value: $0.value) }
        fields.append(("X-Content-Type-Options", "nosniff"))
        guard let message = answer.message, answer.status != .noContent else {
            return WebResponse(answer.status, fields)
        }
        if let problem = answer.problem, dialect == .draft {
            // The type is ours, and the message has no quotation marks.
            fields.append(("Content-Type", "application/problem+json"))
            let text = "{\"type\": \"\(problem)\", \"title\": \"\(message)\"}\n"
            return WebResponse(answer.status, fields, body: .bytes(Array(text.utf8)))
        }
        fields.append(("Content-Type", MediaType.text.rawValue))
        return WebResponse(answer.status, fields, body: .bytes(Array("\(message)\n".utf8)))
    }
}

extension UploadHandler {
    /// The date at which an upload that is unfinished ends.
    private func expiry(of result: UploadResult) -> String? {
        switch result {
        case .upload(_, let record, _), .state(_, let record):
            record.phase == .receiving ? httpDate(FileTime.now.seconds + store.secondsLeft(of: record)) : nil
        default: nil
        }
    }
}

/// The disk work of one request, on one of the queues that may wait.
actor UploadDesk {
    /// A few for all requests: each is a thread that waits for the disk, and what comes at once is synced at once.
    private static let queues = (0..<16).map { MonitorQueue(label: "photo-inbox.drop.upload.\($0)") }
    private static let turn = Locked(0)

    private let queue: MonitorQueue
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.executor.asUnownedSerialExecutor() }

    private let store: DropStore
    private var upload: (id: UploadID, writer: UploadWriter, isResumable: Bool)?

    init(_ store: DropStore) {
        self.store = store
        queue =
            Self.queues[
                Self.turn.withLock { turn in
                    turn = (turn + 1) % Self.queues.count
                    return turn
                }]
    }

    /// Any other work of a request.
    func run<Value: Sendable, Failure: Error>(
        _ body: @Sendable () throws(Failure) -> Value
    ) throws(Failure) -> Value { try body() }

    func create(_ new: NewUpload, _ limits: DropLimits) throws(DropError) -> UploadID { try store.create(new, limits) }

    func cancel(_ id: UploadID) throws(DropError) { try store.end(id) }

    func setLength(_ length: UInt64, of id: UploadID, _ limits: DropLimits) throws(DropError) {
        try store.setLength(length, of: id, limits)
    }

    func status(of id: UploadID) throws(DropError) -> UploadRecord {
        let record = try store.status(of: id)
        // All bytes are here, and the answer that said so, or the end before it, was lost; or its name could not be given.
        switch record.phase {
        case .receiving where record.offset > 0 && record.offset == record.length: return try store.complete(id)
        case .whole, .placing: return try store.complete(id)
        case .receiving, .placed, .ended: return record
        }
    }

    func record(of id: UploadID) throws(DropError) -> UploadRecord { try store.record(id) }

    /// Throws for an upload that the sender may not know.
    func check(_ id: UploadID, _ sender: UploadSender) throws(DropError) {
        guard sender.mayContinue(try store.record(id)) else { throw .notFound }
    }

    func begin(_ id: UploadID, _ bytes: UploadRequest.Bytes, _ limits: DropLimits) throws(DropError) {
        upload = (
            id,
            try store.append(
                to: id, at: bytes.offset, digest: bytes.digest, isResumable: bytes.isResumable, limits),
            bytes.isResumable
        )
    }

    func write(_ bytes: some Collection<UInt8> & Sendable) throws(DropError) { try upload?.writer.write(bytes) }

    /// The connection broke: keeps what counts.
    func keep() throws(DropError) -> UploadRecord {
        guard let upload else { throw .notFound }
        if upload.isResumable {
            _ = try upload.writer.finish(isCut: true)
        } else {
            try store.end(upload.id)
        }
        return try store.status(of: upload.id)
    }

    /// All of a body came. Without `isLast`, the length says whether they are all.
    func finish(isLast: Bool?) throws(DropError) -> UploadRecord {
        guard let upload else { throw .notFound }
        return try upload.writer.finish(isLast: isLast) ? store.complete(upload.id) : store.record(upload.id)
    }
}
