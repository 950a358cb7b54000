import CommandSupport
import FileValues
import Glibc
package import HTTPValues
import Reporting
import WebAccounts
package import WebServing

extension PageServer {
    /// Answers a request below `up`, in which `Remote-User` names the person who sends, below `dav`, in which a password says it, or
    /// below `d`, whose link says it: in the program that receives photos, or in this one.
    package typealias Drop = @Sendable (WebRequest, inout WebBody) async throws -> WebResponse

    /// Whether the body of a request is read as it comes, by what receives photos.
    package static func isStreamed(_ head: RequestHead) -> Bool {
        DropAddress(head.target).map { $0 != .about } ?? false
    }

    /// The answer to any request.
    package func answer(to request: WebRequest, _ body: inout WebBody) async -> WebResponse {
        let head = request.head
        guard let address = DropAddress(head.target) else { return await answer(to: request) }
        if let refusal = refusal(ofHost: head) { return refusal }
        if address == .guest {
            if let page = Self.guestPage(head) { return page }
            return await send(request, head.target.text, of: nil, &body)
        }
        if address == .device || address == .person, let name = Self.personOfDevice(head) {
            guard Self.isFromNoOtherSite(head) else { return .failure(.forbidden, Self.notFromPage) }
            do throws(Accounts.Refusal) {
                guard try await accounts.sender(named: name) != nil else { return wrongDevice(address) }
            } catch { return .failure(.unavailable, "who may send cannot be looked up now") }
            let answer = await send(request, head.target.text, of: nil, isOfDevice: true, &body)
            // The same for nobody's name as for a wrong password.
            return answer.status == .unauthorized ? wrongDevice(address) : answer
        }
        if address == .device { return wrongDevice(address) }
        guard address != .about || head.method == .get else {
            return .failure(.methodNotAllowed, "this address is for GET", fields: [("Allow", "GET")])
        }
        guard head.method.isSafe || Self.isFromPage(head) else {
            // A program that gives a password which no device has.
            let isOfDevice = Self.isFromNoOtherSite(head) && BasicCredentials(head.fields) != nil
            return isOfDevice ? wrongDevice(address) : .failure(.forbidden, Self.notFromPage)
        }
        guard let person = await person(of: request) else {
            // An upload goes on though the session has ended: whoever knows its number may continue it.
            guard head.target.isUpload else { return .failure(.unauthorized, "sign in first") }
            return await send(request, head.target.text, of: nil, &body)
        }
        guard person.role >= .sender else { return .forbidden(to: person) }
        guard address == .about else { return await send(request, head.target.text, of: person, &body) }
        if options.drop == nil { return .json(.object([JSONField("missing", Self.missing)])) }
        return await send(request, Self.about, of: person, &body)
    }

    /// The name with which comes what may be the password of a device: what receives photos says whether it is.
    private static func personOfDevice(_ head: RequestHead) -> String? {
        guard let credentials = BasicCredentials(head.fields), DevicePassword(credentials.password) != nil else {
            return nil
        }
        return credentials.user
    }

    /// Programs ask for a password when they see the field.
    private func wrongDevice(_ address: DropAddress) -> WebResponse {
        .failure(
            .unauthorized,
            options.owner.map { "sign in as \($0) with the password of a device: nobody else sends to these pages" }
                ?? "sign in with the name of a person and the password of a device",
            fields: address == .device
                ? [("WWW-Authenticate", "Basic realm=\"photo-inbox\", charset=\"UTF-8\"")] : [])
    }

    /// The page of whoever has a link, and its parts: from here, since scripts of what receives photos from strangers would be those
    /// of the pages, too. It is the same for every link, also for one that there is not.
    static func guestPage(_ head: RequestHead) -> WebResponse? {
        let (target, rest) = (head.target, head.target.segments.dropFirst(2))
        guard head.method == .get || head.method == .head else { return nil }
        switch (rest.first, rest.count) {
        case (nil, _) where target.isDirectory:
            return WebResponse(.html, .bytes(PageAssets.guestPage), caching: .asking).compressed(for: head)
        case (nil, _):
            // The page's addresses are relative.
            let place = "\(percentEncoded(target.segments[1].utf8))/"
            return WebResponse(.permanentRedirect, WebResponse.guards(of: .bytes) + [("Location", place)])
        case ("s", 3) where target.segments[3] == PageAssets.version && !target.isDirectory:
            return .asset(named: target.segments[4], for: head)
        default: return nil
        }
    }

    /// Passes a request on, in the name of a person, or of whoever has the link in its target or the password of a device.
    private func send(
        _ request: WebRequest, _ target: String, of person: Person?, isOfDevice: Bool = false, _ body: inout WebBody
    ) async -> WebResponse {
        guard let drop = options.drop else { return .failure(.notFound, Self.missing) }
        let head = request.head
        var fields = head.fields.all.filter {
            !Self.ownFields.contains($0.name) || isOfDevice && $0.name == "authorization"
        }.map { (name: $0.name, value: $0.value) }
        if let person { fields.append(("remote-user", person.name)) }
        do {
            let head = try RequestHead(
                method: head.method.rawValue, target: target, version: head.version, fields: fields)
            // It comes from this program, which is trusted to name people.
            let request = WebRequest(head: head, body: request.body, peer: .local(user: geteuid()))
            let answer = Self.harmless(try await drop(request, &body))
            // A device may have what it asks for.
            guard answer.status.rawValue / 100 != 3 || isOfDevice && answer.status == .notModified else {
                return .failure(.failed, "the answer leads elsewhere")
            }
            return answer
        } catch let refusal as HeadRefusal {
            return .failure(refusal.status, refusal.message)
        } catch let failure as CommandFailure {
            if target == Self.about, failure.status == .configuration {
                return .json(.object([JSONField("missing", failure.text)]))
            }
            return .failure(failure)
        } catch { return .failure(.failed, "\(error)") }
    }

    private static let about = "/up/about"
    private static let missing = "the configuration names no inbox for it: add [web] inbox = \"NAME\""

    /// Who sends is said here alone, and sessions are nobody else's business.
    private static let ownFields: Set = ["authorization", "cookie", "remote-user", "x-photo-inbox-address"]

    /// What receives photos from strangers is believed about photos alone: it sets no cookie, and what it sends is no page.
    private static func harmless(_ answer: WebResponse) -> WebResponse {
        let passed: Set = [
            "allow", "cache-control", "content-type", "dav", "etag", "last-modified", "location", "lock-token",
            "ms-author-via", "retry-after", "x-accel-buffering", "x-oc-mtime",
        ]
        let types = [MediaType.json, .text, .events, .xml].map(\.rawValue) + ["application/problem+json"]
        var fields = answer.fields.compactMap { field -> (name: String, value: String)? in
            let name = field.name.lowercased()
            if name == "content-type", !types.contains(field.value) { return (field.name, MediaType.bytes.rawValue) }
            return passed.contains(name) || name.hasPrefix("upload-") || name.hasPrefix("tus-") ? field : nil
        }
        if !fields.contains(where: { $0.name.lowercased() == "cache-control" }) {
            fields.append(("Cache-Control", WebResponse.Caching.never.rawValue))
        }
        return WebResponse(answer.status, fields + WebResponse.guards(of: .bytes), body: answer.body)
    }
}

extension RequestTarget {
    /// Whether it is `up/ID`: 128 bits that were given to one sender.
    fileprivate var isUpload: Bool {
        segments.count == 2 && segments[0] == "up" && segments[1].utf8.count == 32
            && bytes(ofHexadecimal: segments[1].utf8) != nil
    }
}

/// An address of what receives photos.
private enum DropAddress: Hashable {
    /// For people: `up…`.
    case person
    /// For programs with the password of a device: `dav…`.
    case device
    /// For whoever has a link: `d/TOKEN…`.
    case guest
    /// What a person can send, asked by the page: `api/drop`.
    case about

    init?(_ target: RequestTarget) {
        let parts = target.segments
        switch parts.first {
        case "up": self = .person
        case "dav": self = .device
        case "d" where parts.count > 1: self = .guest
        case "api" where parts == ["api", "drop"] && !target.isDirectory: self = .about
        default: return nil
        }
    }
}
