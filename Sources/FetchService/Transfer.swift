import CTransfers
import Fetching
import FileValues
import Filing
import LinuxKernel
import Settings
import SystemPackage

/// A file that is being downloaded, over several tries.
struct PartialDownload: Sendable {
    /// In the inbox's hidden directory.
    let name: BytePath
    let file: SharedFile
    /// Bytes of it that have come.
    var length: UInt64 = 0
    /// What tells that a server still has the same; nil where nothing does, so that it is begun anew.
    var validator: String?
    /// Bytes that it has in all, if the server has said so.
    var total: UInt64?
}

/// What one try is to do.
struct TransferOrder: Sendable {
    var address: WebAddress
    var limits: FetchLimits
    /// For this try.
    var milliseconds: Int64
    /// Bytes that the disk still has room for.
    var room: UInt64
    var partial: PartialDownload
}

/// How a try ended, with what there is of the file.
enum TransferResult: Sendable {
    /// All that the server had promised; `place` is where redirects have led.
    case whole(PartialDownload, ResponseHead, place: WebAddress?)
    case failed(TryFailure, PartialDownload)
}

/// One try of one download: judges the addresses, the head and the bytes as they come, and writes them down.
///
/// Made, called and let go on the engine's queue alone: libcurl calls it inside a turn there, with the pointer to it that
/// the engine keeps alive.
final class Transfer {
    var number = 0
    /// Since when nothing was heard, in milliseconds, and how much had been by then.
    private var silence: (since: Int64, heard: Int)?
    /// Pieces of head and body.
    private var heard = 0
    let done: @Sendable (TransferResult) -> Void

    private let order: TransferOrder
    private var partial: PartialDownload
    private var head = ResponseHead()
    /// Why it was ended here; libcurl only knows that it was.
    private var failure: TryFailure?
    private var refusedAddress: String?
    private var hasJudged = false

    /// Says who we are, so that servers' owners know whom to ask.
    private static let agent = "photo-inbox"

    /// Bytes that there are of the file.
    var received: UInt64 { partial.length }

    init(_ order: TransferOrder, done: @escaping @Sendable (TransferResult) -> Void) {
        self.order = order
        self.done = done
        partial = order.partial
    }

    /// Nil where libcurl takes no such order.
    func begin(in all: OpaquePointer) -> OpaquePointer? {
        var calls = ctransfer_calls()
        calls.allow = { context, bytes, length in
            let transfer = Transfer.of(context)
            return transfer.allows(UnsafeBufferPointer(start: bytes, count: length)) ? 1 : 0
        }
        calls.head = { context, bytes, length in
            Transfer.of(context).take(head: UnsafeBufferPointer(start: bytes, count: length)) ? 1 : 0
        }
        calls.body = { context, bytes, length in
            Transfer.of(context).take(body: UnsafeRawBufferPointer(start: bytes, count: length)) ? 1 : 0
        }
        var order = ctransfer_order()
        order.context = Unmanaged.passUnretained(self).toOpaque()
        order.deadline_ms = max(1, self.order.milliseconds)
        order.connect_ms = min(order.deadline_ms, self.order.limits.stall * 1_000)
        order.redirects = Int32(clamping: self.order.limits.redirects)
        // Bytes of an older version with those of a newer one would be a photo that nobody took.
        let goesOn = partial.length > 0 && partial.validator != nil
        if !goesOn { partial.length = 0 }
        let range = "Range: bytes=\(partial.length)-"
        let condition = "If-Range: \(partial.validator ?? "")"
        return self.order.address.text.withCString { url in
            Self.agent.withCString { agent in
                range.withCString { range in
                    condition.withCString { condition in
                        order.url = url
                        order.agent = agent
                        if goesOn { (order.range, order.condition) = (range, condition) }
                        return ctransfers_begin(all, &order, &calls)
                    }
                }
            }
        }
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> Transfer {
        guard let context else { preconditionFailure("libcurl gives back what it was given") }
        return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    }

    private func allows(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let address = NetworkAddress(Array(bytes)) else { return false }
        guard let refusal = order.limits.refusal(of: address) else { return true }
        refusedAddress = refusal
        return false
    }

    /// Whether nothing was heard for as long as the limits allow; asked now and then. libcurl's own limit goes by an average
    /// over some seconds more.
    func isStalled(at now: Int64) -> Bool {
        guard let silence, silence.heard == heard else {
            silence = (now, heard)
            return false
        }
        return now - silence.since >= order.limits.stall * 1_000
    }

    /// What came of it, if it is ended for that.
    var stalled: TransferResult {
        .failed(TryFailure("the server sent nothing for \(order.limits.stall) s", mayPass: true), partial)
    }

    private func take(head line: UnsafeBufferPointer<UInt8>) -> Bool {
        heard += 1
        guard head.take(line) else { return end(TryFailure("the server's head is endless", mayPass: false)) }
        return true
    }

    private func take(body bytes: UnsafeRawBufferPointer) -> Bool {
        heard += 1
        guard judgeHead() else { return false }
        let (length, overflow) = partial.length.addingReportingOverflow(UInt64(bytes.count))
        guard !overflow, length <= order.limits.largest else { return end(tooLarge("has sent")) }
        if let total = partial.total, length > total {
            return end(TryFailure("the server has sent more than the \(total) bytes it had promised", mayPass: true))
        }
        do throws(SystemCallError) { try partial.file.descriptor.write(bytes, at: partial.length) } catch {
            return end(TryFailure("the inbox: \(error)", mayPass: false))
        }
        partial.length = length
        return true
    }

    /// Whether what the head says may be taken; once for each response, before its first byte.
    private func judgeHead() -> Bool {
        if hasJudged { return failure == nil }
        hasJudged = true
        if let failure = judgement() { return end(failure) }
        return true
    }

    private func judgement() -> TryFailure? {
        if head.status == 416, partial.length > 0 {
            forget()
            return TryFailure("the server has no more of it", mayPass: true)
        }
        guard head.status == 200 || head.status == 206 else {
            return TryFailure(
                "the server answers with status \(head.status)", mayPass: head.mayPass, retryAfter: head.retryAfter)
        }
        if head.status == 206 {
            let range = head.contentRange
            guard let range, range.first == partial.length, partial.total == nil || range.total == partial.total else {
                forget()
                return TryFailure("the server sends another part than was asked for", mayPass: true)
            }
            partial.total = range.total ?? head.contentLength.map { $0 &+ partial.length }
        } else {
            // From the beginning, whatever was asked for.
            partial.length = 0
            do throws(SystemCallError) { try partial.file.descriptor.cut(to: 0) } catch {
                return TryFailure("the inbox: \(error)", mayPass: false)
            }
            partial.total = head.contentLength
            partial.validator = head.validator
        }
        if let type = head.contentType, ["text/html", "application/xhtml+xml"].contains(type) {
            return TryFailure("the server sends a page (\(type)), no photo", mayPass: false)
        }
        if let total = partial.total {
            if total > order.limits.largest { return tooLarge("promises") }
            if total - min(total, partial.length) > order.room {
                return TryFailure("the inbox has no room for \(total) bytes", mayPass: false)
            }
        }
        return nil
    }

    private func tooLarge(_ how: String) -> TryFailure {
        TryFailure("the server \(how) more than the \(order.limits.largest) bytes of fetch.largest", mayPass: false)
    }

    private func forget() {
        partial.length = 0
        partial.validator = nil
        partial.total = nil
    }

    /// Notes why it ends; false, for the caller to give to libcurl.
    private func end(_ failure: TryFailure) -> Bool {
        self.failure = self.failure ?? failure
        return false
    }

    /// What came of it, when libcurl is through with this `code`.
    func result(code: Int32, place: [UInt8]) -> TransferResult {
        // A response without a body was not judged.
        if code == 0 { _ = judgeHead() }
        if let failure { return .failed(failure, partial) }
        if code != 0 { return .failed(failed(code, place: place), partial) }
        if let total = partial.total, total != partial.length {
            return .failed(TryFailure("\(partial.length) of \(total) bytes came", mayPass: true), partial)
        }
        if partial.length == 0 { return .failed(TryFailure("the server sent nothing", mayPass: true), partial) }
        return .whole(partial, head, place: try? WebAddress(place))
    }

    /// By libcurl-errors(3); `place` is the address that was asked last.
    private func failed(_ code: Int32, place: [UInt8]) -> TryFailure {
        let text = String(cString: ctransfers_text(code))
        switch code {
        // CURLE_COULDNT_CONNECT: to none of the addresses, or to none that is allowed.
        case 7 where refusedAddress != nil: return TryFailure(refusedAddress ?? text, mayPass: false)
        // CURLE_PARTIAL_FILE
        case 18:
            let total = partial.total.map { "\($0)" } ?? "more"
            return TryFailure("the connection ended after \(partial.length) of \(total) bytes", mayPass: true)
        // CURLE_OPERATION_TIMEDOUT
        case 28: return TryFailure("it did not come in time", mayPass: true)
        // CURLE_TOO_MANY_REDIRECTS
        case 47: return TryFailure("more than \(order.limits.redirects) redirects", mayPass: false)
        // CURLE_UNSUPPORTED_PROTOCOL: in a redirect, since addresses are looked at before.
        case 1 where !place.isEmpty && (try? WebAddress(place)) == nil:
            return TryFailure("redirected to something that is not fetched", mayPass: false)
        // Or what came is no HTTP; it may be what the server sent too much before, on the same connection.
        case 1: return TryFailure("the server speaks no HTTP", mayPass: true)
        // Could not resolve, connect, send or receive; nothing was answered; broken TLS, HTTP/2 or chunks.
        case 5, 6, 7, 8, 16, 35, 52, 55, 56, 61, 92, 95: return TryFailure(text, mayPass: true)
        default: return TryFailure(text, mayPass: false)
        }
    }
}
