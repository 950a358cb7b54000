package import FileValues
package import Filing
import HTTPValues
package import LinuxKernel
import QueueActors
import SystemMonitor
import SystemPackage
import Transfers

/// Why an object is not stored, or not compared.
package struct StoreFailure: Error, Hashable, Sendable {
    package enum Scope: Hashable, Sendable {
        /// This object alone: another try has the same result.
        case object
        /// The server, for now: the same may work later.
        case passing
        /// The bucket or the credentials: nothing works until somebody changes something.
        case all
        /// The daemon.
        case daemon
    }

    package let scope: Scope
    /// A clause without a final stop.
    package let reason: String

    package init(_ scope: Scope, _ reason: String) { (self.scope, self.reason) = (scope, reason) }
}

/// A file of the library, as it is recorded.
package struct StoreItem: Hashable, Sendable {
    /// Its identifier in the catalogue.
    package let photo: Int64
    /// In the library.
    package let path: BytePath
    package let size: UInt64
    package let hash: ContentHash

    package init(photo: Int64, path: BytePath, size: UInt64, hash: ContentHash) {
        (self.photo, self.path, self.size, self.hash) = (photo, path, size, hash)
    }
}

/// What the bucket has of an item.
package enum StoredObject: Hashable, Sendable {
    /// The same bytes.
    case same
    /// Other bytes under its key; a clause.
    case other(String)
    case missing
}

/// Copies files of a library into a bucket, each under a key that nothing else gets, compares them, and brings them back.
///
/// A copy is proven by the server: it is given the recorded SHA-256 in the signature of the request and as the object's
/// checksum, refuses other bytes by both, and says which SHA-256 it has. Nothing is ever replaced (If-None-Match: *).
/// On a queue of its own; a file is read there.
package actor ObjectStore {
    /// What one PUT may have; see "Amazon S3 multipart upload limits".
    static let largest: UInt64 = 5 << 30

    private nonisolated let executor: QueueExecutor
    private let queue = MonitorQueue(label: "photo-inbox.store")
    private let address: StoreAddress
    private let credentials: StoreCredentials
    private let library: HeldDescriptor
    private let engine: TransferEngine
    /// Tries of one request, where the server has a passing reason.
    private let tries: Int
    private var number = 0
    private var isActive = false

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// `library` is the directory that paths of items are in. Throws without libcurl.
    package init(
        _ address: StoreAddress, _ credentials: StoreCredentials, library: HeldDescriptor,
        tries: Int = 5
    ) throws {
        executor = TaskQueue.executor(on: queue)
        (self.address, self.credentials, self.tries) = (address, credentials, tries)
        self.library = library
        engine = try TransferEngine(queue: queue)
    }

    /// Ends what runs; to be called last.
    package func close() async {
        if !isActive { activate() }
        await withCheckedContinuation { done in engine.invalidate { done.resume() } }
    }

    private func activate() {
        isActive = true
        engine.activate()
    }

    /// Throws if there is no such bucket, of which each object would be missing.
    package func requireBucket() async throws(StoreFailure) {
        let answer = try await perform("HEAD", [])
        if answer.status == 404 {
            throw StoreFailure(.all, "there is no bucket \(escapeForDisplay(Array(address.bucket.utf8)))")
        }
    }

    // MARK: - Items

    /// Copies `item`, which the bucket lacks. Returns what stands there then: ``StoredObject/same``, unless another object came
    /// first.
    package func put(_ item: StoreItem) async throws(StoreFailure) -> StoredObject {
        let key = address.key(of: item.path)
        let (content, modified) = try open(item)
        let headers = [
            "If-None-Match: *", "Content-Type: \(MediaType.ofPhoto(named: item.path.name.escaped).rawValue)",
            Self.checksum(item.hash), "\(Self.modified): \(modified.decimal)",
        ]
        for attempt in 0..<max(2, tries) {
            let answer = try await perform("PUT", key, headers, content: content, size: item.size, item.hash)
            switch answer.status {
            case 200...299:
                // Not every server says in this answer what it has stored.
                if answer.hash != item.hash, try await compare(item) != .same {
                    throw StoreFailure(.all, "the server does not confirm the SHA-256 of what it has stored")
                }
                return .same
            // Taken: by an earlier try whose answer was lost, too.
            case 412:
                let there = try await compare(item)
                if there != .missing { return there }
            // Another request for the same key is under way.
            case 409: await pause(attempt)
            default: throw await refusal(answer)
            }
        }
        throw StoreFailure(.passing, "other programs keep writing to its key, or removing it")
    }

    /// What the bucket has under the key of `item`.
    package func compare(_ item: StoreItem) async throws(StoreFailure) -> StoredObject {
        let answer = try await perform("HEAD", address.key(of: item.path), ["x-amz-checksum-mode: ENABLED"])
        switch answer.status {
        case 200...299:
            guard let found = answer.hash else {
                return .other("an object without a SHA-256 has its key")
            }
            if found == item.hash, answer.head.contentLength == item.size { return .same }
            return .other("another object has its key, with the SHA-256 \(found)")
        case 404: return .missing
        default: throw await refusal(answer)
        }
    }

    /// Writes the object of `item` to `file`, which is empty, with its time of change. Returns false if there is none with the
    /// recorded bytes.
    package func get(_ item: StoreItem, into file: HeldDescriptor) async throws(StoreFailure) -> Bool {
        let answer = try await perform("GET", address.key(of: item.path), content: file, most: item.size)
        switch answer.status {
        case 200:
            guard let content = answer.content, content == (item.hash, item.size) else { return false }
            if let modified = answer.head.field(Self.modified).flatMap({ FileTime(decimal: $0) }) {
                do throws(SystemCallError) { try file.descriptor.setModified(modified) } catch {
                    throw StoreFailure(.all, "the inbox: \(error)")
                }
            }
            return true
        case 404: return false
        default: throw failure(answer)
        }
    }

    /// Reads the whole object of `item`. Returns whether it has the recorded bytes.
    package func holds(_ item: StoreItem) async throws(StoreFailure) -> Bool {
        let answer = try await perform("GET", address.key(of: item.path), most: item.size)
        switch answer.status {
        case 200: return answer.content.map { $0 == (item.hash, item.size) } ?? false
        case 404: return false
        default: throw failure(answer)
        }
    }

    /// Finds out whether the server keeps what copies depend on, with an object in `directory` that it removes again. Returns a
    /// remark if it could not be removed.
    package func test(in directory: BytePath = "") async throws(StoreFailure) -> String? {
        let (one, other) = (try TestContent("photo-inbox, a test\n"), try TestContent("photo-inbox, a taste\n"))
        let name = directory.appending(FileNames.temporary(FileNames.makeToken()))
        let key = address.key(of: name)
        let made = try await put(one, key, ["If-None-Match: *", Self.checksum(one.hash)])
        guard (200...299).contains(made.status) else { throw failure(made) }
        let isHere = (try? FileStatus(of: name, beneath: library.descriptor)) != nil
        let again = try await put(other, key, ["If-None-Match: *", Self.checksum(other.hash)])
        let second = key + Array("-2".utf8)
        let wrong = try await put(one, second, [Self.checksum(other.hash)], claiming: other.hash)
        let found = try await perform("HEAD", key, ["x-amz-checksum-mode: ENABLED"])
        let missing = try await perform("HEAD", key + Array("-3".utf8))
        let removed = try await perform("DELETE", key)
        _ = try? await perform("DELETE", second)
        if isHere { throw StoreFailure(.all, "its objects are the library's own files: it is no other copy") }
        guard again.status == 412 else {
            throw StoreFailure(
                .all,
                "the server replaces an object although the request forbids it (If-None-Match: *, status \(again.status))"
            )
        }
        guard (400...499).contains(wrong.status) else {
            throw StoreFailure(.all, "the server stores bytes that differ from the SHA-256 of the request")
        }
        guard found.hash == one.hash else {
            throw StoreFailure(.all, "the server does not say which SHA-256 an object has (x-amz-checksum-sha256)")
        }
        guard missing.status == 404 else {
            throw StoreFailure(
                .all,
                "an object that does not exist has status \(missing.status): the credentials must also be able to list the bucket"
            )
        }
        if (200...299).contains(removed.status) { return nil }
        return "the object \(escapeForDisplay(key)) stays: \(failure(removed).reason)"
    }

    private static func checksum(_ hash: ContentHash) -> String {
        "x-amz-checksum-sha256: \(base64Encoded(hash.bytes))"
    }

    private func put(
        _ content: TestContent, _ key: [UInt8], _ headers: [String], claiming hash: ContentHash? = nil
    ) async throws(StoreFailure) -> ObjectAnswer {
        try await perform("PUT", key, headers, content: content.file, size: content.size, hash ?? content.hash)
    }

    // MARK: - Requests

    /// As rclone writes and reads it: seconds, with a fraction.
    private static let modified = "x-amz-meta-mtime"

    private func open(_ item: StoreItem) throws(StoreFailure) -> (file: HeldDescriptor, modified: FileTime) {
        guard item.size <= Self.largest else {
            throw StoreFailure(.object, "it is larger than the 5 GiB that an upload may have")
        }
        do throws(SystemCallError) {
            let file = try library.descriptor.openBeneath(item.path, [.read, .nonBlocking])
            let status = try FileStatus(of: file)
            if status.kind == .regular, status.identity.size == item.size {
                return (HeldDescriptor(file), status.identity.modified)
            }
        } catch {
            // Gone, or something else: another try has the same result.
            let isOfFile = [.noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels].contains(error.code)
            throw StoreFailure(isOfFile ? .object : .all, "it cannot be read: \(error)")
        }
        throw StoreFailure(.object, "it has another size than when it was filed: run photoinbox verify")
    }

    /// One request, tried again for as long as the server has a passing reason.
    private func perform(
        _ method: String, _ key: [UInt8], _ headers: [String] = [], content: HeldDescriptor? = nil,
        size: UInt64? = nil, most: UInt64 = 0, _ hash: ContentHash = ContentHasher().hash()
    ) async throws(StoreFailure) -> ObjectAnswer {
        var token: [String] = []
        if let session = credentials.token { token.append("x-amz-security-token: \(session)") }
        let request = TransferRequest(
            address: address.address(of: key), method: method,
            headers: headers + token + ["x-amz-content-sha256: \(hash)"], upload: size,
            signature: TransferRequest.Signature(
                name: credentials.name, secret: credentials.secret, scope: "\(address.region):s3"),
            milliseconds: 86_400_000, connectMilliseconds: 30_000)
        var attempt = 0
        while true {
            do throws(StoreFailure) {
                let answer = try await send(request, content, most).get()
                guard answer.head.isTemporary else { return answer }
                throw failure(answer)
            } catch {
                if error.scope != .passing || attempt + 1 >= tries { throw error }
            }
            await pause(attempt)
            attempt += 1
        }
    }

    private func send(_ request: TransferRequest, _ content: HeldDescriptor?, _ most: UInt64) async -> Result<
        ObjectAnswer, StoreFailure
    > {
        if !isActive { activate() }
        number += 1
        return await withCheckedContinuation { done in
            let call = ObjectCall(request, content: content, most: most) { done.resume(returning: $0) }
            if !engine.begin(number, call) { call.refuse() }
        }
    }

    /// Why an item is not copied. A refusal is about this item alone only if the server accepts another one.
    private func refusal(_ answer: ObjectAnswer) async -> StoreFailure {
        let failure = failure(answer)
        if failure.scope == .passing || answer.refusesBytes { return failure }
        return StoreFailure(await acceptsAnother() ? .object : .all, failure.reason)
    }

    /// Whether the bucket can be read and written. Stores nothing: what is sent has not the SHA-256 that is announced.
    private func acceptsAnother() async -> Bool {
        let key = address.key(of: FileNames.temporary(FileNames.makeToken()))
        do {
            guard try await perform("HEAD", key).status == 404 else { return false }
            let (one, other) = (try TestContent("photo-inbox, a test\n"), try TestContent("photo-inbox, a taste\n"))
            return try await put(one, key, [Self.checksum(other.hash)], claiming: other.hash).refusesBytes
        } catch { return false }
    }

    private func pause(_ attempt: Int) async {
        await Sleeper("store", queue: queue).rest(seconds: Double(1 << attempt))
    }

    /// By the status, and the code in the document that comes with it; see "Error responses" of S3.
    private func failure(_ answer: ObjectAnswer) -> StoreFailure {
        let code = answer.field("Code")
        let words = [code, answer.field("Message")].compactMap(\.self).joined(separator: ": ")
        let told = "the server refuses it with status \(answer.status)" + (words.isEmpty ? "" : " (\(words))")
        switch (answer.status, code) {
        case _ where answer.refusesBytes:
            return StoreFailure(.object, "its bytes are not those that were filed: run photoinbox verify")
        case (301, _), (307, _), (308, _):
            let region = answer.head.field("x-amz-bucket-region").map {
                ": --region \(escapeForDisplay(Array($0.utf8)))"
            }
            return StoreFailure(.all, "the bucket is in another region\(region ?? "")")
        case (403, "RequestTimeTooSkewed"):
            return StoreFailure(.all, "the clock of this machine, or the server's, is wrong by minutes")
        case (403, "InvalidObjectState"):
            return StoreFailure(.object, "the bucket has it in an archive, from which it must be restored first")
        case (401, _), (403, _), (404, _), (405, _), (501, _): return StoreFailure(.all, told)
        case _ where answer.head.isTemporary: return StoreFailure(.passing, told)
        default: return StoreFailure(.object, told)
        }
    }
}

/// What a test of a server stores.
private struct TestContent {
    let file: HeldDescriptor
    let size: UInt64
    let hash: ContentHash

    init(_ text: String) throws(StoreFailure) {
        let bytes = Array(text.utf8)
        var hasher = ContentHasher()
        bytes.withUnsafeBytes { hasher.update($0) }
        (size, hash) = (UInt64(bytes.count), hasher.hash())
        do throws(SystemCallError) {
            file = HeldDescriptor(try memoryFile("photoinbox-store", content: bytes))
        } catch { throw StoreFailure(.all, "\(error)") }
    }
}

extension FileTime {
    /// Seconds since 1970, with all digits: `1700000000.000000001`.
    fileprivate var decimal: String { "\(seconds).\(padded(nanoseconds, 9))" }

    /// Nil for anything else, and for times before 1970.
    fileprivate init?(decimal text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let seconds = Int64(parts[0]), seconds >= 0 else { return nil }
        let digits = parts.count > 1 ? parts[1].prefix(9) : ""
        guard let fraction = UInt32(digits + String(repeating: "0", count: 9 - digits.count)) else { return nil }
        self.init(seconds: seconds, nanoseconds: fraction)
    }
}
