import DropStore
import FileValues
import Filing
import HTTPValues
import LinuxKernel
import WebAccounts
import WebServing

/// Answers requests by WebDAV: a device puts files, and sees what it has put. See docs/decisions/0064.
struct DavHandler: Sendable {
    let store: DropStore
    /// Reports what fails to the administrator.
    let uploads: UploadHandler
    let limits: DropLimits
    /// Long answers that are being sent, of each device.
    private let streams = Locked<[DropOwner: Int]>([:])

    /// The most long answers at a time, and what is long.
    static let longAnswers = (ofDevice: 4, ofAll: 8, rows: 2_048)
    /// An answer comes in pieces of about so many bytes.
    private static let piece = 64 << 10
    /// The methods that there are.
    private static let methods: [HTTPMethod] = [
        .options, .propfind, .proppatch, .mkcol, .put, .get, .head, .delete, .move, .lock, .unlock,
    ]

    init(_ store: DropStore, _ uploads: UploadHandler, _ limits: DropLimits) {
        (self.store, self.uploads, self.limits) = (store, uploads, limits)
    }

    func answer(
        to request: WebRequest, of device: Device, _ body: inout WebBody
    ) async -> WebResponse {
        do {
            let turn = try await Turn(self, DavHead(request.head), device)
            return try await turn.answer(to: request, &body)
        } catch let refusal as DavRefusal {
            return Self.response(refusal)
        } catch let error as DropError {
            return response(error)
        } catch let refusal as ListingRefusal {
            if case .failed(let error) = refusal { return response(DropError(error)) }
            return Self.response(DavRefusal(refusal))
        } catch { return .text(.badRequest, "the body was cut short") }
    }

    private func response(_ error: DropError) -> WebResponse {
        uploads.report(error)
        let answer = UploadAnswer(.failed(error, nil), .put, base: "", expiry: nil)
        return .text(answer.status, answer.message ?? "", answer.fields.map { ($0.name, $0.value) })
    }

    private static func response(_ refusal: DavRefusal) -> WebResponse {
        var fields: [(name: String, value: String)] = []
        if refusal.status == .methodNotAllowed {
            fields.append(("Allow", methods.map(\.rawValue).joined(separator: ", ")))
        }
        if refusal.status == .unavailable { fields.append(("Retry-After", "1")) }
        guard let condition = refusal.condition else { return .text(refusal.status, refusal.message, fields) }
        let text = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:error xmlns:D=\"DAV:\"><D:\(condition)/></D:error>\n"
        return .xml(refusal.status, text, fields)
    }

    /// Counts a long answer until it is over.
    private final class Stream: Sendable {
        private let handler: DavHandler
        private let owner: DropOwner

        private init(_ handler: DavHandler, _ owner: DropOwner) { (self.handler, self.owner) = (handler, owner) }

        /// Nil where there are enough.
        static func begin(_ handler: DavHandler, _ owner: DropOwner) -> Stream? {
            let isAdmitted = handler.streams.withLock { streams in
                let most = DavHandler.longAnswers
                guard streams[owner, default: 0] < most.ofDevice, streams.values.reduce(0, +) < most.ofAll else {
                    return false
                }
                streams[owner, default: 0] += 1
                return true
            }
            return isAdmitted ? Stream(handler, owner) : nil
        }

        deinit {
            handler.streams.withLock { streams in
                let count = streams[owner, default: 1] - 1
                streams[owner] = count > 0 ? count : nil
            }
        }
    }

    // MARK: - One request

    private struct Turn {
        let handler: DavHandler
        let dav: DavHead
        let owner: DropOwner
        let desk: UploadDesk
        let listing: DeviceListing

        var store: DropStore { handler.store }
        var path: BytePath { dav.path }

        init(_ handler: DavHandler, _ dav: DavHead, _ device: Device) async throws {
            (self.handler, self.dav) = (handler, dav)
            owner = .device(device.name, of: device.person)
            desk = UploadDesk(handler.store)
            let store = handler.store
            listing = try await desk.run { () throws(DropError) in
                try store.listing(of: device.name, device.person, born: device.birth)
            }
        }

        func answer(to request: WebRequest, _ body: inout WebBody) async throws -> WebResponse {
            switch dav.head.method {
            case .options:
                let all = DavHandler.methods.map(\.rawValue).joined(separator: ", ")
                return WebResponse(.ok, [("DAV", "1, 2"), ("MS-Author-Via", "DAV"), ("Allow", all)])
            case .propfind: return try await properties(try await small(request, &body))
            case .proppatch:
                let isFolder = try await existing()?.isFolder ?? true
                let patch = try DavPatch(try await small(request, &body))
                return .xml(.multiStatus, patch.answer(at: dav.address(of: path, isFolder: isFolder)))
            case .mkcol:
                guard try await small(request, &body).isEmpty else {
                    throw DavRefusal(.unsupportedMediaType, "a folder is made without a body")
                }
                return try await makeFolder()
            case .put: return try await put(request, &body)
            case .get, .head: return try await content()
            case .delete: return try await remove()
            case .move: return try await move()
            case .lock: return try await lock(try await small(request, &body))
            case .unlock:
                _ = try await existing()
                guard dav.head.fields["lock-token"] != nil else {
                    throw DavRefusal(.badRequest, "Lock-Token is missing")
                }
                return WebResponse(.noContent)
            case .copy: throw DavRefusal(.forbidden, "photos are not copied here: send it again")
            case .post, .patch: throw DavRefusal(.methodNotAllowed, "WebDAV has no \(dav.head.method.rawValue)")
            }
        }

        /// What has this path; nil within for the root. Throws where there is nothing.
        private func existing() async throws -> ListingRow? {
            if path.isEmpty { return nil }
            guard let row = await row() else { throw DavRefusal.nothing }
            return row
        }

        private func row() async -> ListingRow? { await desk.run { [listing, path] in listing.row(at: path) } }

        private func small(_ request: WebRequest, _ body: inout WebBody) async throws -> [UInt8] {
            var bytes = request.body
            while let piece = try await body.next() {
                bytes += piece
                if bytes.count > DavQuestion.limit.bytes {
                    throw DavRefusal(.contentTooLarge, "this body has at most \(DavQuestion.limit.bytes) bytes")
                }
            }
            return bytes
        }

        // MARK: - What is there

        private func properties(_ body: [UInt8]) async throws -> WebResponse {
            let (depth, row) = (try dav.depth(), try await existing())
            guard depth != .infinity else {
                throw DavRefusal(.forbidden, "ask for one folder at a time", condition: "propfind-finite-depth")
            }
            let question = try DavQuestion(body)
            let (dav, path, listing, store) = (dav, path, listing, store)
            let room = await desk.run { store.room }
            let isFolder = row?.isFolder ?? true
            let first = question.answer(row, at: dav.address(of: path, isFolder: isFolder), name: path.name, room: room)
            guard depth == .one, isFolder else {
                return .xml(.multiStatus, DavQuestion.begin + first + DavQuestion.end)
            }
            // Before they are read: that takes memory.
            let isLong = listing.count(in: path) > DavHandler.longAnswers.rows
            let stream = isLong ? Stream.begin(handler, owner) : nil
            guard !isLong || stream != nil else {
                throw DavRefusal(.unavailable, "too many long folders are being listed; ask again")
            }
            let rows = await desk.run { listing.rows(in: path) }
            // Some rows at a time, as fast as they are read.
            let position = Locked(-1)
            let pieces = AsyncStream<[UInt8]> {
                defer { withExtendedLifetime(stream) {} }
                return position.withLock { position in
                    if position > rows.count { return nil }
                    var text = position < 0 ? DavQuestion.begin + first : ""
                    position = max(position, 0)
                    while position < rows.count, text.utf8.count < DavHandler.piece {
                        let (name, row) = rows[position]
                        let address = dav.address(of: path.appending(name), isFolder: row.isFolder)
                        text += question.answer(row, at: address, name: name, room: room)
                        position += 1
                    }
                    if position == rows.count {
                        text += DavQuestion.end
                        position += 1
                    }
                    return Array(text.utf8)
                }
            }
            return WebResponse(.multiStatus, WebResponse.davFields(.xml), body: .stream(length: nil, pieces))
        }

        /// No content is kept here. Whoever only asks whether it is there is told what was put.
        private func content() async throws -> WebResponse {
            guard let row = try await existing(), !row.isFolder else {
                return .text(
                    .ok, "photos of this device are sent here by WebDAV; they are filed, and cannot be read here")
            }
            var fields = WebResponse.davFields(.bytes) + [("ETag", row.tag.description)]
            if let date = httpDate(row.modified) { fields.append(("Last-Modified", date)) }
            // Programs ask whether what they have is what was put.
            if Precondition(dav.head, row.tag) == .notModified { return WebResponse(.notModified, fields) }
            if row.size == 0 { return WebResponse(.ok, fields) }
            guard dav.head.method == .head else {
                throw DavRefusal(.notFound, row.reason)
            }
            return WebResponse(.ok, fields, body: .stream(length: row.size, AsyncStream { nil }))
        }

        // MARK: - What is changed

        private func makeFolder() async throws -> WebResponse {
            guard !path.isEmpty else { throw DavRefusal(.methodNotAllowed, "the root is there") }
            try DavFile.checkFolder(path)
            let (listing, path) = (listing, path)
            do {
                try await desk.run { () throws(ListingRefusal) in try listing.makeFolder(path, modified: now()) }
            } catch ListingRefusal.exists {
                throw DavRefusal(.methodNotAllowed, "there is something of this name")
            }
            return WebResponse(.created)
        }

        private func put(_ request: WebRequest, _ body: inout WebBody) async throws -> WebResponse {
            do throws(UploadMistake) { try UploadHead.checkContent(of: dav.head) } catch {
                throw DavRefusal(error.status, error.message)
            }
            guard dav.head.fields.values(of: "content-range").isEmpty else {
                throw DavRefusal(.badRequest, "a file is put as a whole, without Content-Range")
            }
            guard !path.isEmpty, !dav.head.target.isDirectory else { throw ListingRefusal.isFolder }
            let (listing, path) = (listing, path)
            let (file, before) = (try DavFile(path, of: owner), await row())
            try await desk.run { () throws(ListingRefusal) in try listing.check(path) }
            try dav.checkConditions(before)
            var length: UInt64?
            if case .length(let bytes) = dav.head.body { length = UInt64(bytes) }
            // Finder and Explorer put nothing first, and chunked bodies tell only by their end that they are nothing.
            var first = WebPiece(request.body)
            while first.isEmpty, let piece = try await body.next() { first = piece }
            let modified = dav.modified ?? now()
            switch file {
            case _ where first.isEmpty:
                try await end(
                    try await desk.run { () throws(ListingRefusal) in
                        try listing.put(path, .empty, modified: modified)
                    })
            case .litter:
                let size = try await count(first, &body)
                try await end(
                    try await desk.run { () throws(ListingRefusal) in
                        try listing.put(path, .litter, size: size, modified: modified)
                    })
            case .held(let name), .photo(let name):
                var new = NewUpload(owner, name, length: length)
                new.modified = dav.modified.map { FileTime(seconds: $0, nanoseconds: 0) }
                let id = try await desk.create(new, handler.limits)
                do {
                    try await receive(first, id, name, modified, &body)
                } catch {
                    // Nobody continues it. One that has its name is not ended by this.
                    try? await desk.cancel(id)
                    throw error
                }
            }
            var fields: [(name: String, value: String)] = []
            if let row = await row() { fields.append(("ETag", row.tag.description)) }
            if dav.modified != nil { fields.append(("X-OC-Mtime", "accepted")) }
            if first.isEmpty, before == nil {
                return .text(.created, "it is empty: its name is listed, and nothing of it is in the inbox", fields)
            }
            return WebResponse(before == nil ? .created : .noContent, fields)
        }

        /// All bytes of a file, its name in the inbox and its row: durable then.
        private func receive(
            _ first: WebPiece, _ id: UploadID, _ name: DropName, _ modified: Int64, _ body: inout WebBody
        ) async throws {
            let (listing, path) = (listing, path)
            try await desk.begin(id, UploadRequest.Bytes(isLast: true, isResumable: false), handler.limits)
            var (size, piece): (UInt64, WebPiece?) = (0, first)
            while let bytes = piece {
                try await desk.write(bytes)
                size += UInt64(bytes.count)
                piece = try await body.next()
            }
            let whole = size
            if name.isHeld {
                _ = try await desk.finish(isLast: false)
                try await desk.run { [store] () throws(DropError) in try store.hold(id) }
                try await end(
                    try await desk.run { () throws(ListingRefusal) in
                        try listing.put(path, .held(id), size: whole, modified: modified)
                    })
                return
            }
            let row = try await desk.run { () throws(ListingRefusal) in
                try listing.announce(id, path, size: whole, modified: modified)
            }
            do { _ = try await desk.finish(isLast: true) } catch {
                listing.withdraw(row)
                throw error
            }
            try await end(await desk.run { listing.list(row, at: path) })
        }

        private func count(_ first: WebPiece, _ body: inout WebBody) async throws -> UInt64 {
            var (size, piece): (UInt64, WebPiece?) = (0, first)
            while let bytes = piece {
                size += UInt64(bytes.count)
                if size > handler.limits.largest { throw DropError.tooLong(limit: handler.limits.largest) }
                piece = try await body.next()
            }
            return size
        }

        private func remove() async throws -> WebResponse {
            guard !path.isEmpty else { throw DavRefusal(.forbidden, "the root stays") }
            try dav.checkConditions(try await existing())
            let (listing, path) = (listing, path)
            try await end(try await desk.run { () throws(ListingRefusal) in try listing.remove(path) })
            return WebResponse(.noContent)
        }

        private func move() async throws -> WebResponse {
            let (target, overwrites) = (try dav.destination(), try dav.overwrites())
            guard let row = try await existing() else { throw DavRefusal(.forbidden, "the root stays") }
            try dav.checkConditions(row)
            let (listing, path) = (listing, path)
            let replaces = try await desk.run { () throws(ListingRefusal) in
                try listing.checkMove(path, to: target, overwrites: overwrites)
            }
            if row.isFolder {
                try DavFile.checkFolder(target)
            } else {
                let file = try DavFile(target, of: owner)
                switch (row.kind, file) {
                case (.held(let id), .photo(let name)):
                    try await settle(id, name, row, at: target)
                    return WebResponse(replaces ? .noContent : .created)
                case (.held, .litter):
                    throw DavRefusal(.forbidden, "a photo does not become a file of this name")
                case (.litter, .photo), (.litter, .held):
                    throw DavRefusal(.forbidden, "nothing was kept of a file of its name: send it again")
                default: break
                }
            }
            try await end(
                try await desk.run { () throws(ListingRefusal) in
                    try listing.move(path, to: target, overwrites: overwrites)
                })
            return WebResponse(replaces ? .noContent : .created)
        }

        /// Gives a held file its name, in the inbox and in the listing.
        private func settle(_ id: UploadID, _ name: DropName, _ row: ListingRow, at target: BytePath) async throws {
            let (listing, path, store) = (listing, path, store)
            let new = try await desk.run { () throws(ListingRefusal) in
                try listing.announce(id, target, size: row.size, modified: row.modified, replacesFolder: true)
            }
            do { _ = try await desk.run { () throws(DropError) in try store.name(id, name) } } catch {
                listing.withdraw(new)
                throw error
            }
            try await end(await desk.run { listing.list(new, at: target, movedFrom: (path, id)) }.filter { $0 != id })
        }

        /// Ends what is held and is in no row any more.
        private func end(_ ids: [UploadID]) async throws {
            for id in ids { try? await desk.cancel(id) }
        }

        private func lock(_ body: [UInt8]) async throws -> WebResponse {
            if body.isEmpty {
                guard let token = dav.lock else { throw DavRefusal(.badRequest, "there is no lock to be held on to") }
                return .xml(.ok, locked(token, isFolder: try await existing()?.isFolder ?? true))
            }
            guard XMLElement(body)?.name == XMLName("lockinfo") else {
                throw DavRefusal(.badRequest, "the body is no lockinfo")
            }
            var isNew = false
            if !path.isEmpty, await row() == nil {
                // A name that is locked before its file is put is that of an empty file, RFC 4918 9.10.4 says.
                _ = try DavFile(path, of: owner)
                let (listing, path) = (listing, path)
                do {
                    try await end(
                        try await desk.run { () throws(ListingRefusal) in
                            try listing.put(path, .empty, modified: now(), overwrites: false)
                        })
                    isNew = true
                } catch ListingRefusal.exists {
                    // It was put meanwhile.
                }
            }
            let digits = Array(randomHexadecimal(bytes: 16))
            let token =
                "urn:uuid:"
                + [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
            let text = locked(token, isFolder: try await existing()?.isFolder ?? true)
            return .xml(isNew ? .created : .ok, text, [("Lock-Token", "<\(token)>")])
        }

        private func locked(_ token: String, isFolder: Bool) -> String {
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:prop xmlns:D=\"DAV:\"><D:lockdiscovery><D:activelock>"
                + "<D:locktype><D:write/></D:locktype><D:lockscope><D:exclusive/></D:lockscope>"
                + "<D:depth>\(isFolder ? "infinity" : "0")</D:depth><D:timeout>Second-3600</D:timeout>"
                + "<D:locktoken><D:href>\(token)</D:href></D:locktoken>"
                + "<D:lockroot><D:href>\(dav.address(of: path, isFolder: isFolder))</D:href></D:lockroot>"
                + "</D:activelock></D:lockdiscovery></D:prop>\n"
        }
    }
}

@Sendable private func now() -> Int64 { FileTime.now.seconds }

extension DavRefusal {
    static let nothing = DavRefusal(.notFound, "there is nothing at this address")

    init(_ refusal: ListingRefusal) {
        switch refusal {
        case .notFound: self = .nothing
        case .noParent: self.init(.conflict, "there is no such folder: make it first")
        case .isFolder: self.init(.methodNotAllowed, "this is a folder")
        case .exists: self.init(.preconditionFailed, "there is something of this name")
        case .tooLong: self.init(.targetTooLong, "paths in this folder would be too long")
        case .isInside: self.init(.forbidden, "one is inside the other")
        case .full:
            self.init(
                .insufficientStorage,
                "the device has as many files or folders as it may: remove some")
        case .failed: self.init(.failed, "the server's disk refused it; its journal has the reason")
        }
    }
}

extension ListingRow {
    /// Why its content cannot be read.
    fileprivate var reason: String {
        switch kind {
        case .folder, .empty: "it has no content"
        case .sent: "it is filed; the library is not readable here"
        case .held: "it is not finished: it waits for its name"
        case .litter: "nothing of such a file is kept"
        }
    }
}

extension WebResponse {
    fileprivate static func davFields(_ type: MediaType) -> [(name: String, value: String)] {
        [
            ("Content-Type", type.rawValue), ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
            ("Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'none'"),
        ]
    }

    fileprivate static func text(
        _ status: HTTPStatus, _ text: String, _ fields: [(name: String, value: String)]
    ) -> WebResponse {
        WebResponse(status, davFields(.text) + fields, body: .bytes(Array("\(text)\n".utf8)))
    }

    fileprivate static func xml(
        _ status: HTTPStatus, _ text: String, _ fields: [(name: String, value: String)] = []
    ) -> WebResponse {
        WebResponse(status, davFields(.xml) + fields, body: .bytes(Array(text.utf8)))
    }
}
