import CTransfers
import Glibc

/// What is requested of a server.
package struct TransferRequest: Hashable, Sendable {
    /// http or https, in ASCII.
    package var address: String
    /// Nil for GET.
    package var method: String?
    /// Complete header lines, without their ends.
    package var headers: [String] = []
    /// The number of bytes to upload; nil for none.
    package var upload: UInt64?
    package var signature: Signature?
    /// The time limit, and that of the connection.
    package var milliseconds: Int64
    package var connectMilliseconds: Int64
    /// Redirects to follow at most. With none a redirect is an answer like any other.
    package var redirects: Int = 0

    package init(
        address: String, method: String? = nil, headers: [String] = [], upload: UInt64? = nil,
        signature: Signature? = nil, milliseconds: Int64, connectMilliseconds: Int64, redirects: Int = 0
    ) {
        (self.address, self.method, self.headers, self.upload) = (address, method, headers, upload)
        (self.signature, self.redirects) = (signature, redirects)
        (self.milliseconds, self.connectMilliseconds) = (milliseconds, connectMilliseconds)
    }

    /// How it is signed: AWS's signature of version 4; see CURLOPT_AWS_SIGV4(3).
    package struct Signature: Hashable, Sendable {
        package var name: String
        package var secret: String
        /// `REGION:SERVICE`.
        package var scope: String

        package init(name: String, secret: String, scope: String) {
            (self.name, self.secret, self.scope) = (name, secret, scope)
        }
    }
}

/// What handles one transfer: called by libcurl inside a turn of its engine, on the engine's queue only.
package protocol TransferHandler: AnyObject {
    var request: TransferRequest { get }
    /// Bytes received so far.
    var received: UInt64 { get }
    /// Whether to connect to this address, of 4 or 16 bytes in network order.
    func allows(_ address: UnsafeBufferPointer<UInt8>) -> Bool
    /// A line of a response's head, with its end; a new response begins with a status line. False ends the transfer, as
    /// below.
    func receive(head line: UnsafeBufferPointer<UInt8>) -> Bool
    func receive(body bytes: UnsafeRawBufferPointer) -> Bool
    /// Fills in bytes of what is uploaded, from `offset`; returns their number, or nil to end the transfer.
    func send(from offset: UInt64, into bytes: UnsafeMutableRawBufferPointer) -> Int?
    /// Whether nothing has moved for too long; called regularly, with milliseconds of the monotonic clock.
    func isStalled(at now: Int64) -> Bool
    /// It has ended with a code of libcurl-errors(3), or stalled: nil. `place` is the last address, after redirects. What
    /// this returns is called on the queue, outside of the turn.
    func ended(code: Int32?, place: [UInt8]) -> @Sendable () -> Void
}

extension TransferHandler {
    package func allows(_ address: UnsafeBufferPointer<UInt8>) -> Bool { true }
    package func send(from offset: UInt64, into bytes: UnsafeMutableRawBufferPointer) -> Int? { nil }
}

/// Whether what answers speaks no HTTP, or has no certificate for this name that is trusted: trying again does not help.
/// CURLE_UNSUPPORTED_PROTOCOL and CURLE_PEER_FAILED_VERIFICATION of libcurl-errors(3).
package func isWrongServer(_ code: Int32) -> Bool { code == 1 || code == 60 }

/// The English text of a code of libcurl-errors(3).
package func libcurlText(_ code: Int32) -> String { String(cString: ctransfers_text(code)) }

/// Keeps a handler alive while libcurl has the pointer.
final class TransferBox {
    let handler: any TransferHandler
    let number: Int

    init(_ handler: any TransferHandler, number: Int) { (self.handler, self.number) = (handler, number) }

    static func of(_ context: UnsafeMutableRawPointer?) -> TransferBox {
        guard let context else { preconditionFailure("libcurl passes back its context") }
        return Unmanaged<TransferBox>.fromOpaque(context).takeUnretainedValue()
    }

    /// Nil if libcurl refuses the request.
    func begin(in all: OpaquePointer) -> OpaquePointer? {
        var calls = ctransfer_calls()
        calls.allow = { context, bytes, length in
            TransferBox.of(context).handler.allows(UnsafeBufferPointer(start: bytes, count: length)) ? 1 : 0
        }
        calls.head = { context, bytes, length in
            TransferBox.of(context).handler.receive(head: UnsafeBufferPointer(start: bytes, count: length)) ? 1 : 0
        }
        calls.body = { context, bytes, length in
            TransferBox.of(context).handler.receive(body: UnsafeRawBufferPointer(start: bytes, count: length)) ? 1 : 0
        }
        calls.send = { context, offset, bytes, length in
            let room = UnsafeMutableRawBufferPointer(start: bytes, count: length)
            return TransferBox.of(context).handler.send(from: offset, into: room).map { Int64($0) } ?? -1
        }
        let request = handler.request
        var order = ctransfer_order()
        order.context = Unmanaged.passUnretained(self).toOpaque()
        order.upload = request.upload.map { Int64(clamping: $0) } ?? -1
        order.deadline_ms = max(1, request.milliseconds)
        order.connect_ms = min(order.deadline_ms, request.connectMilliseconds)
        order.redirects = Int32(clamping: request.redirects)
        // libcurl copies all of them.
        var copies: [UnsafeMutablePointer<CChar>?] = []
        defer { for copy in copies { free(copy) } }
        func copied(_ text: String?) -> UnsafePointer<CChar>? {
            guard let text else { return nil }
            let copy = strdup(text)
            copies.append(copy)
            return copy.map { UnsafePointer($0) }
        }
        order.url = copied(request.address)
        order.agent = copied("photo-inbox")
        order.method = copied(request.method)
        order.credentials = copied(request.signature.map { "\($0.name):\($0.secret)" })
        order.signature = copied(request.signature.map { "aws:amz:\($0.scope)" })
        let lines = request.headers.map { copied($0) } + [nil]
        return lines.withUnsafeBufferPointer { lines in
            order.headers = lines.baseAddress
            return ctransfers_begin(all, &order, &calls)
        }
    }
}
