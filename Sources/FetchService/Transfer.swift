import Fetching
import FileValues
import Filing
import HTTPValues
import LinuxKernel
import Settings
import SystemPackage
import Transfers

/// A file that is being downloaded, over several tries.
struct PartialDownload: Sendable {
    /// In the inbox's hidden directory.
    let name: BytePath
    let file: HeldDescriptor
    var length: UInt64 = 0
    /// Identifies the server's content; nil if nothing does, so that the download must restart.
    var validator: String?
    /// The total size, if the server has given it.
    var total: UInt64?
}

struct TransferOrder: Sendable {
    var address: WebAddress
    var limits: FetchLimits
    /// The time limit of this try.
    var milliseconds: Int64
    /// Free bytes on the disk.
    var room: UInt64
    var partial: PartialDownload
}

/// The result of a try, with the partial file.
enum TransferResult: Sendable {
    /// The complete file; `place` is the final address after redirects.
    case whole(PartialDownload, ResponseHead, place: WebAddress?)
    case failed(TryFailure, PartialDownload)
}

/// One try of one download: checks the addresses, the head and the bytes as they arrive, and writes the bytes.
///
/// Created, called and released on the engine's queue only.
final class Transfer: TransferHandler {
    /// When data last arrived, in milliseconds, and the number of pieces until then.
    private var silence: (since: Int64, pieces: Int)?
    /// The number of pieces of head and body.
    private var pieces = 0
    private let done: @Sendable (TransferResult) -> Void

    private let order: TransferOrder
    private var partial: PartialDownload
    private var head = ResponseHead()
    /// Why it was ended by this code, not by libcurl.
    private var failure: TryFailure?
    private var refusedAddress: String?
    private var hasCheckedHead = false

    /// Bytes of the file so far.
    var received: UInt64 { partial.length }

    init(_ order: TransferOrder, done: @escaping @Sendable (TransferResult) -> Void) {
        (self.order, self.done) = (order, done)
        partial = order.partial
    }

    private(set) lazy var request: TransferRequest = {
        // Never join bytes of two versions of the content.
        let isContinued = partial.length > 0 && partial.validator != nil
        if !isContinued { partial.length = 0 }
        return TransferRequest(
            address: order.address.text,
            headers: isContinued
                ? ["Range: bytes=\(partial.length)-", "If-Range: \(partial.validator ?? "")"] : [],
            milliseconds: order.milliseconds, connectMilliseconds: order.limits.stall * 1_000,
            redirects: Int(clamping: order.limits.redirects))
    }()

    func allows(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let address = NetworkAddress(Array(bytes)) else { return false }
        guard let refusal = order.limits.refusal(of: address) else { return true }
        refusedAddress = refusal
        return false
    }

    /// Whether nothing arrived for the allowed time; called regularly. libcurl's own limit uses an average
    /// over some seconds more.
    func isStalled(at now: Int64) -> Bool {
        guard let silence, silence.pieces == pieces else {
            silence = (now, pieces)
            return false
        }
        return now - silence.since >= order.limits.stall * 1_000
    }

    func ended(code: Int32?, place: [UInt8]) -> @Sendable () -> Void {
        let stalled = TryFailure("the server sent nothing for \(order.limits.stall) s", isTemporary: true)
        let result = code.map { self.result(code: $0, place: place) } ?? .failed(stalled, partial)
        return { [done] in done(result) }
    }

    func receive(head line: UnsafeBufferPointer<UInt8>) -> Bool {
        pieces += 1
        guard head.add(line) else {
            return end(TryFailure("the server's response head is too large", isTemporary: false))
        }
        return true
    }

    func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
        pieces += 1
        guard checkHead() else { return false }
        let (length, overflow) = partial.length.addingReportingOverflow(UInt64(bytes.count))
        guard !overflow, length <= order.limits.largest else { return end(tooLarge("has sent")) }
        if let total = partial.total, length > total {
            return end(
                TryFailure("the server has sent more than the \(total) bytes it had promised", isTemporary: true))
        }
        do throws(SystemCallError) { try partial.file.descriptor.write(bytes, at: partial.length) } catch {
            return end(TryFailure("the inbox: \(error)", isTemporary: false))
        }
        partial.length = length
        return true
    }

    /// Whether the response is accepted by its head; once for each response, before its first byte.
    private func checkHead() -> Bool {
        if hasCheckedHead { return failure == nil }
        hasCheckedHead = true
        if let failure = headFailure() { return end(failure) }
        return true
    }

    private func headFailure() -> TryFailure? {
        if head.status == 416, partial.length > 0 {
            restart()
            return TryFailure("the server has no further bytes of it", isTemporary: true)
        }
        guard head.status == 200 || head.status == 206 else {
            return TryFailure(
                "the server responded with status \(head.status)", isTemporary: head.isTemporary,
                retryAfter: head.retryAfter)
        }
        if head.status == 206 {
            let range = head.contentRange
            guard let range, range.first == partial.length, partial.total == nil || range.total == partial.total else {
                restart()
                return TryFailure("the server sent another part than requested", isTemporary: true)
            }
            partial.total = range.total ?? head.contentLength.map { $0 &+ partial.length }
        } else {
            // The whole content, even if a part was requested.
            partial.length = 0
            do throws(SystemCallError) { try partial.file.descriptor.cut(to: 0) } catch {
                return TryFailure("the inbox: \(error)", isTemporary: false)
            }
            partial.total = head.contentLength
            partial.validator = head.validator
        }
        if let type = head.contentType, ["text/html", "application/xhtml+xml"].contains(type) {
            return TryFailure("the server sent a page (\(type)), not a photo", isTemporary: false)
        }
        if let total = partial.total {
            if total > order.limits.largest { return tooLarge("promises") }
            if total - min(total, partial.length) > order.room {
                return TryFailure("the inbox has no space for \(total) bytes", isTemporary: false)
            }
        }
        return nil
    }

    private func tooLarge(_ how: String) -> TryFailure {
        TryFailure("the server \(how) more than the \(order.limits.largest) bytes of fetch.largest", isTemporary: false)
    }

    private func restart() {
        partial.length = 0
        partial.validator = nil
        partial.total = nil
    }

    /// Stores why it ends; returns false, which makes libcurl end.
    private func end(_ failure: TryFailure) -> Bool {
        self.failure = self.failure ?? failure
        return false
    }

    /// The result, when libcurl has ended with `code`.
    private func result(code: Int32, place: [UInt8]) -> TransferResult {
        // The head of a response without a body was not checked yet.
        if code == 0 { _ = checkHead() }
        if let failure { return .failed(failure, partial) }
        if code != 0 { return .failed(failed(code, place: place), partial) }
        if let total = partial.total, total != partial.length {
            return .failed(TryFailure("received \(partial.length) of \(total) bytes", isTemporary: true), partial)
        }
        if partial.length == 0 { return .failed(TryFailure("the server sent nothing", isTemporary: true), partial) }
        return .whole(partial, head, place: try? WebAddress(place))
    }

    /// By libcurl-errors(3); `place` is the last requested address.
    private func failed(_ code: Int32, place: [UInt8]) -> TryFailure {
        let text = libcurlText(code)
        switch code {
        // CURLE_COULDNT_CONNECT: to none of the addresses, or none is allowed.
        case 7 where refusedAddress != nil: return TryFailure(refusedAddress ?? text, isTemporary: false)
        // CURLE_PARTIAL_FILE
        case 18:
            let total = partial.total.map { "\($0)" } ?? "more"
            return TryFailure("the connection ended after \(partial.length) of \(total) bytes", isTemporary: true)
        // CURLE_OPERATION_TIMEDOUT
        case 28: return TryFailure("it did not finish in time", isTemporary: true)
        // CURLE_TOO_MANY_REDIRECTS
        case 47: return TryFailure("more than \(order.limits.redirects) redirects", isTemporary: false)
        // CURLE_UNSUPPORTED_PROTOCOL: in a redirect, since other addresses were checked before.
        case 1 where !place.isEmpty && (try? WebAddress(place)) == nil:
            return TryFailure("redirected to an unsupported address", isTemporary: false)
        // Or the response is not HTTP; it may be surplus bytes of the previous response on the connection.
        case 1: return TryFailure("the server's response is not HTTP", isTemporary: true)
        // Could not resolve, connect, send or receive; nothing was answered; broken TLS, HTTP/2 or chunks.
        case 5, 6, 7, 8, 16, 35, 52, 55, 56, 61, 92, 95: return TryFailure(text, isTemporary: true)
        default: return TryFailure(text, isTemporary: false)
        }
    }
}
