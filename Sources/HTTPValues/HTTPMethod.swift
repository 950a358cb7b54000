/// The known methods; a request with another one is refused.
package enum HTTPMethod: String, Hashable, Sendable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case options = "OPTIONS"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
    // Of WebDAV; see RFC 4918.
    case propfind = "PROPFIND"
    case proppatch = "PROPPATCH"
    case mkcol = "MKCOL"
    case copy = "COPY"
    case move = "MOVE"
    case lock = "LOCK"
    case unlock = "UNLOCK"

    /// Whether it asks for nothing but an answer; see RFC 9110 9.2.1.
    package var isSafe: Bool { [.get, .head, .options, .propfind].contains(self) }
}

/// The status codes that are sent.
package enum HTTPStatus: Int, Hashable, Sendable, CaseIterable {
    case ok = 200
    case created = 201
    case accepted = 202
    case noContent = 204
    case partialContent = 206
    case multiStatus = 207
    case notModified = 304
    case temporaryRedirect = 307
    case permanentRedirect = 308
    case badRequest = 400
    case unauthorized = 401
    case forbidden = 403
    case notFound = 404
    case methodNotAllowed = 405
    case requestTimeout = 408
    case conflict = 409
    case gone = 410
    case lengthRequired = 411
    case preconditionFailed = 412
    case contentTooLarge = 413
    case targetTooLong = 414
    case unsupportedMediaType = 415
    case rangeNotSatisfiable = 416
    case expectationFailed = 417
    case unprocessableContent = 422
    case tooManyRequests = 429
    case fieldsTooLarge = 431
    /// Of tus: the bytes are not those of their checksum.
    case checksumMismatch = 460
    case failed = 500
    case notImplemented = 501
    case unavailable = 503
    case gatewayTimeout = 504
    case versionNotSupported = 505
    case insufficientStorage = 507
}
