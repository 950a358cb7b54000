import FileValues
import Filing
import HTTPValues
import LinuxKernel
import Transfers

/// What a server answered.
struct ObjectAnswer: Sendable {
    var head: ResponseHead
    /// As far as it is read, and not written to a file.
    var body: [UInt8]
    /// Of an object that was read whole.
    var content: (hash: ContentHash, size: UInt64)?

    var status: Int { head.status }

    /// The SHA-256 that the server has of an object; nil if it gives none of all its bytes.
    var hash: ContentHash? {
        head.field("x-amz-checksum-sha256").flatMap { base64Decoded($0) }.flatMap { ContentHash($0) }
    }

    /// Whether the server was sent other bytes than were announced, and noticed.
    var refusesBytes: Bool {
        let codes: Set = ["BadDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch"]
        return status == 400 && field("Code").map(codes.contains) == true
    }

    /// A field of an error's document, as far as it is text.
    func field(_ name: String) -> String? {
        let text = String(decoding: body, as: UTF8.self)
        guard let start = text.firstRange(of: "<\(name)>"),
            let end = text[start.upperBound...].firstRange(of: "</\(name)>")
        else { return nil }
        let value = text[start.upperBound..<end.lowerBound]
        return value.isEmpty ? nil : escapeForDisplay(Array(value.utf8.prefix(200)))
    }
}

/// One request about one object. Created, called and released on the queue of its engine.
final class ObjectCall: TransferHandler {
    /// The bytes of a body that are read.
    private static let longest = 64 << 10
    /// For how many milliseconds fewer than `least` bytes may come and go: a server that sends one byte a minute would hold
    /// the request for a day.
    private static let patience: Int64 = 60_000
    private static let least: UInt64 = 4_096

    let request: TransferRequest
    private let content: HeldDescriptor?
    private let most: UInt64
    private var hasher = ContentHasher()
    private var written: UInt64 = 0
    private let done: @Sendable (Result<ObjectAnswer, StoreFailure>) -> Void
    private var head = ResponseHead()
    private var body: [UInt8] = []
    /// Bytes in both directions.
    private var moved: UInt64 = 0
    private var window: (since: Int64, moved: UInt64)?
    private var failure: StoreFailure?
    private var isOver = false

    var received: UInt64 { written + UInt64(body.count) }

    /// `content` is read from its beginning for an upload; else an object of at most `most` bytes is hashed, and written to it.
    /// `done` is called once, if need be when this is released.
    init(
        _ request: TransferRequest, content: HeldDescriptor?, most: UInt64,
        done: @escaping @Sendable (Result<ObjectAnswer, StoreFailure>) -> Void
    ) {
        (self.request, self.content, self.most, self.done) = (request, content, most, done)
    }

    deinit { if !isOver { done(.failure(failure ?? StoreFailure(.passing, "stopped"))) } }

    /// libcurl did not begin it.
    func refuse() { failure = StoreFailure(.object, "libcurl refuses its address") }

    func receive(head line: UnsafeBufferPointer<UInt8>) -> Bool {
        moved += UInt64(line.count)
        return head.add(line)
    }

    func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
        moved += UInt64(bytes.count)
        guard request.upload == nil, most > 0, head.status == 200 else {
            body += bytes.prefix(Self.longest - body.count)
            return true
        }
        guard written + UInt64(bytes.count) <= most else {
            failure = StoreFailure(.object, "the bucket has more bytes of it than were recorded")
            return false
        }
        do throws(SystemCallError) { try content?.descriptor.write(bytes, at: written) } catch {
            failure = StoreFailure(.all, "the inbox: \(error)")
            return false
        }
        hasher.update(bytes)
        written += UInt64(bytes.count)
        return true
    }

    func send(from offset: UInt64, into bytes: UnsafeMutableRawBufferPointer) -> Int? {
        guard let content else { return 0 }
        do throws(SystemCallError) {
            let count = try content.descriptor.read(into: bytes, at: offset)
            moved += UInt64(count)
            if count > 0 || offset >= request.upload ?? 0 { return count }
            failure = StoreFailure(.object, "it became shorter while it was sent")
            return nil
        } catch {
            failure = StoreFailure(.object, "it cannot be read: \(error)")
            return nil
        }
    }

    func isStalled(at now: Int64) -> Bool {
        guard let window, moved - window.moved < Self.least else {
            window = (now, moved)
            return false
        }
        return now - window.since >= Self.patience
    }

    func ended(code: Int32?, place: [UInt8]) -> @Sendable () -> Void {
        let result: Result<ObjectAnswer, StoreFailure>
        if let failure {
            result = .failure(failure)
        } else if code == 0, head.status > 0 {
            var answer = ObjectAnswer(head: head, body: body)
            if written > 0 { answer.content = (hasher.hash(), written) }
            result = .success(answer)
        } else {
            let reason = code.map { libcurlText($0) } ?? "nothing moved for \(Self.patience / 1_000) s"
            if code.map(isWrongServer) == true {
                result = .failure(
                    StoreFailure(.all, "what answers there cannot be used (\(reason)): check scheme, host and port"))
            } else {
                result = .failure(StoreFailure(.passing, "the server: \(reason)"))
            }
        }
        isOver = true
        return { [done] in done(result) }
    }
}
