import NIOCore
import NIOHTTP1

/// Answers what is no HTTP with 400, before the decoder closes the connection: if that is all there is to answer. Closes a
/// connection that sends too much without reading answers, or more than a head can have.
///
/// SwiftNIO's own handler for it does not know of requests that are in work, whose answers come from a task: there would be
/// two answers to one request. Where a request is in work, or was the last, the connection just ends.
final class ParserErrors: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Whether a request is received in part.
    private var isInside = false
    private var unanswered = 0
    /// Clients that wait for no answer are rare, and browsers are none of them.
    private static let mostUnanswered = 8
    /// Whether an answer said that the connection ends with it.
    private var isLast = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch Self.unwrapInboundIn(data) {
        case .head:
            isInside = true
            unanswered += 1
            if unanswered > Self.mostUnanswered { context.close(promise: nil) }
        case .body: break
        case .end: isInside = false
        }
        if unanswered <= Self.mostUnanswered { context.fireChannelRead(data) }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch Self.unwrapOutboundIn(data) {
        case .head(let head): if head.headers.contains(name: "Connection") { isLast = true }
        case .body: break
        case .end: unanswered -= 1
        }
        context.write(data, promise: promise)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is HTTPParserError, !isInside, unanswered == 0, !isLast {
            isLast = true
            let fields = HTTPHeaders([("Connection", "close"), ("Content-Length", "0")])
            let head = HTTPResponseHead(version: .http1_1, status: .badRequest, headers: fields)
            context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
        }
        if error is ByteToMessageDecoderError.PayloadTooLargeError { context.close(promise: nil) }
        context.fireErrorCaught(error)
    }
}
