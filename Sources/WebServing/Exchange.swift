package import HTTPValues

/// Who is at the other end of a connection.
package enum WebPeer: Hashable, Sendable {
    /// Anybody, by TCP.
    case network
    /// A program of this user, by a local socket.
    case local(user: UInt32)
}

/// A whole request.
package struct WebRequest: Sendable {
    package let head: RequestHead
    package let body: [UInt8]
    package let peer: WebPeer
    /// Whether its client has closed the connection, so that nobody waits for the answer.
    package let hasLeft: @Sendable () -> Bool

    package init(
        head: RequestHead, body: [UInt8] = [], peer: WebPeer = .network,
        hasLeft: @escaping @Sendable () -> Bool = { false }
    ) {
        (self.head, self.body, self.peer, self.hasLeft) = (head, body, peer, hasLeft)
    }
}

package struct WebResponse: Sendable {
    package enum Body: Sendable {
        case bytes([UInt8])
        /// Content that is produced while it is sent, as fast as it is read. Without a length, until its end.
        case stream(length: UInt64?, AsyncStream<[UInt8]>)
    }

    package var status: HTTPStatus
    /// Without Date, Content-Length and Connection.
    package var fields: [(name: String, value: String)]
    package var body: Body

    package init(_ status: HTTPStatus, _ fields: [(name: String, value: String)] = [], body: Body = .bytes([])) {
        (self.status, self.fields, self.body) = (status, fields, body)
    }

    /// A short text, for whoever reads what a program printed.
    package static func text(_ status: HTTPStatus, _ text: String) -> WebResponse {
        WebResponse(status, [("Content-Type", MediaType.text.rawValue)], body: .bytes(Array("\(text)\n".utf8)))
    }
}
