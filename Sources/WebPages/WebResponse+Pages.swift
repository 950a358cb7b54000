import HTTPValues
import Reporting
import WebServing

extension WebResponse {
    /// Of the page: only its own scripts and styles, no other host, no frame, and no text that becomes code.
    private static let pagePolicy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self'; "
        + "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; "
        + "require-trusted-types-for 'script'"
    /// Of scripts: a worker has the policy of the answer that has its script, and needs the page's origin for its imports.
    private static let scriptPolicy = "default-src 'none'; script-src 'self'; frame-ancestors 'none'"
    /// Of everything else, which is no page even if it is opened as one.
    private static let contentPolicy = "sandbox; default-src 'none'; frame-ancestors 'none'"

    enum Caching: String {
        case never = "no-store"
        /// The address changes with the content.
        case forever = "private, max-age=31536000, immutable"
        /// It is made anew when its settings change.
        case forADay = "private, max-age=86400"
        /// Asks each time, and gets it only if it has changed.
        case asking = "private, no-cache"
    }

    init(
        _ type: MediaType, _ body: Body, _ status: HTTPStatus = .ok, caching: Caching = .never,
        fields: [(name: String, value: String)] = []
    ) {
        self.init(
            status,
            [("Content-Type", type.rawValue), ("Cache-Control", caching.rawValue)] + Self.guards(of: type) + fields,
            body: body)
    }

    /// What browsers may do with a content of this type.
    static func guards(of type: MediaType) -> [(name: String, value: String)] {
        let policy =
            switch type {
            case .html: pagePolicy
            case .script: scriptPolicy
            default: contentPolicy
            }
        return [
            ("Content-Security-Policy", policy), ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
        ]
    }

    /// A part of the pages; nil if there is none of this name.
    static func asset(named name: String, for head: RequestHead) -> WebResponse? {
        PageAssets.asset(named: name).map { asset in
            WebResponse(asset.type, .bytes(asset.bytes), caching: .forever)
                .encoded(head.acceptsGzip ? Compression.gzip(asset.bytes, ofPart: name) : nil)
        }
    }

    static func json(
        _ value: JSONValue, _ status: HTTPStatus = .ok, fields: [(name: String, value: String)] = []
    ) -> WebResponse {
        WebResponse(.json, .bytes(Array(value.compact.utf8)), status, fields: fields)
    }

    /// What failed, and what to do.
    static func failure(
        _ status: HTTPStatus, _ message: String, action: String? = nil, fields: [(name: String, value: String)] = []
    ) -> WebResponse {
        json(.object([JSONField("message", message), JSONField("action", action)]), status, fields: fields)
    }

    /// For a person who opens an address at which there is nothing.
    static func missingPage(_ target: RequestTarget) -> WebResponse {
        // The page's addresses are relative: it works below any path.
        let depth = target.segments.count - (target.isDirectory ? 0 : 1)
        let root = depth > 0 ? String(repeating: "../", count: depth) : "./"
        return WebResponse(.html, .bytes(PageAssets.missingPage(root: root)), .notFound)
    }

    static var notFound: WebResponse { failure(.notFound, "there is nothing at this address") }
}
