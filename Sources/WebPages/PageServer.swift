package import Catalogue
package import CommandContact
import CommandSupport
import ControlProtocol
import FileValues
import HTTPValues
import Reporting
package import WebAccounts
package import WebServing

/// Answers requests for the pages: who may ask for what, and what each address gives.
package struct PageServer: Sendable {
    package struct Options: Sendable {
        /// The user of a proxy that verifies people and names them in `Remote-User`, on a local socket.
        package var proxy: UInt32?
        /// The person who is the user of this process: requests are this user's own.
        package var owner: String?
        /// The name of the cookie that has a session: browsers send cookies to all ports of a host.
        package var cookie = "photoinbox"
        /// The hosts, without ports, for which pages are served; nil for all. A name of a stranger that stands for this machine
        /// is none of them.
        package var hosts: Set<String>?
        /// The way to what receives photos, if there is any.
        package var drop: Drop?
        /// Asked when library or quarantine may not be opened: whether the program has given up access to what is at its path now.
        /// Then it ends soon.
        package var mayNotOpen: @Sendable () -> Bool = { false }
        /// The address at which the original of a photo that was moved to a bucket can be downloaded for some minutes; nil if nothing
        /// is known of the bucket. Throws a clause.
        package var link: @Sendable (PhotoRecord) throws -> String? = { _ in nil }
        /// Writes a line for the administrator.
        package var log: @Sendable (String) -> Void = { _ in }

        package init() {}
    }

    let accounts: Accounts
    let options: Options
    private let records: Records
    private let similar: SimilarPhotos
    private let actions: DaemonClient
    private let looks: DaemonClient
    private let live: LiveHub
    private let wall: Wall

    package init(_ places: Places, accounts: Accounts, options: Options, views: PhotoViews) {
        self.accounts = accounts
        self.options = options
        records = Records(places, views, mayNotOpen: options.mayNotOpen)
        similar = SimilarPhotos(places)
        actions = DaemonClient(runtime: places.runtime, purpose: "actions")
        let looks = DaemonClient(runtime: places.runtime, purpose: "state")
        self.looks = looks
        live = LiveHub { await looks.liveEvent() }
        wall = Wall(places, views, records, looks, options)
    }

    package func answer(to request: WebRequest) async -> WebResponse {
        if let refusal = refusal(ofHost: request.head) { return refusal }
        if request.head.method == .options, request.head.target.segments.isEmpty, options.drop != nil {
            // Windows asks the host's root whether there is WebDAV, whatever folder is meant.
            let fields = [("DAV", "1, 2"), ("MS-Author-Via", "DAV"), ("Allow", "OPTIONS, GET, HEAD")]
            return WebResponse(.ok, WebResponse.guards(of: .bytes) + fields)
        }
        guard let route = Route(request.head.target) else {
            let isOpened = [.get, .head].contains(request.head.method) && request.head.prefersPages
            return isOpened ? .missingPage(request.head.target) : .notFound
        }
        guard route.methods.contains(request.head.method) else {
            let allowed = route.methods.map(\.rawValue).joined(separator: ", ")
            return .failure(
                .methodNotAllowed, "this address is not for \(request.head.method.rawValue)",
                fields: [("Allow", allowed)])
        }
        if !request.head.method.isSafe, let refusal = Self.forgery(request.head) { return refusal }
        guard let least = route.role else { return await answer(route, request, nil) }
        guard let person = await person(of: request) else { return .failure(.unauthorized, "sign in first") }
        guard person.role >= least else { return .forbidden(to: person) }
        return await answer(route, request, person)
    }

    func refusal(ofHost head: RequestHead) -> WebResponse? {
        guard let hosts = options.hosts else { return nil }
        let host = head.fields["host"]?.lowercased() ?? ""
        let name = host.split(separator: ":", omittingEmptySubsequences: false).first.map(String.init) ?? ""
        return hosts.contains(name) ? nil : .failure(.forbidden, "the pages are not served as \(host)")
    }

    private func answer(_ route: Route, _ request: WebRequest, _ person: Person?) async -> WebResponse {
        switch route {
        case .page:
            return WebResponse(.html, .bytes(PageAssets.page), caching: .asking).compressed(for: request.head)
        case .asset(let name): return .asset(named: name, for: request.head) ?? .notFound
        case .person: return .json(Self.json(person))
        case .session:
            return request.head.method == .delete ? await signOut(request) : await signIn(request)
        case .link: return await useLink(request)
        case .live:
            // nginx would keep events until its buffer is full.
            let fields = [(name: "X-Accel-Buffering", value: "no")]
            if request.head.method == .head { return WebResponse(.events, .bytes([]), fields: fields) }
            return WebResponse(.events, .stream(length: nil, await live.events()), fields: fields)
        case .decisions: return await decisions()
        case .similar:
            do throws(CommandFailure) { return .json(try await similar.list()) } catch { return .failure(error) }
        case .thumbnail(let hash):
            guard let content = await records.thumbnail(of: hash) else { return .notFound }
            return await content.response(.jpeg, request.head, caching: .asking)
        case .wall(let address): return await wall.answer(address, request, person)
        case .quarantined(let operation): return await quarantined(operation, request.head)
        case .action: return await act(request, for: person?.name ?? "")
        }
    }

    static func json(_ person: Person?) -> JSONValue {
        .object([JSONField("name", person?.name), JSONField("role", person?.role.rawValue)])
    }

    // MARK: - Who asks

    func person(of request: WebRequest) async -> Person? {
        if case .local(let user) = request.peer, user == options.proxy, let name = request.head.fields["remote-user"] {
            return await accounts.person(named: name)
        }
        return await accounts.person(ofSession: sessions(of: request))
    }

    func sessions(of request: WebRequest) -> [Secret] {
        Cookies.values(of: options.cookie, in: request.head.fields).compactMap { Secret($0) }
    }

    /// A request that changes something comes from a script of the page: no form, and no script of another site, can send this
    /// field without being asked first, and nothing here answers that question.
    static func isFromPage(_ head: RequestHead) -> Bool {
        head.fields["x-photo-inbox"] == "1" && isFromNoOtherSite(head)
    }

    static func isFromNoOtherSite(_ head: RequestHead) -> Bool {
        head.fields.values(of: "sec-fetch-site").allSatisfy { ["same-origin", "none"].contains($0) }
    }

    static let notFromPage = "this request does not come from the page"

    private static func forgery(_ head: RequestHead) -> WebResponse? {
        guard isFromPage(head) else { return .failure(.forbidden, notFromPage) }
        let type = head.fields["content-type"]?.split(separator: ";").first?.lowercased()
        guard head.body == .none || type == MediaType.json.rawValue else {
            return .failure(.unsupportedMediaType, "the body is not JSON")
        }
        return nil
    }

    // MARK: - What is shown

    private func decisions() async -> WebResponse {
        do throws(CommandFailure) {
            let quarantined = try await records.quarantined()
            // Without the daemon, what is quarantined is there all the same.
            let arrivals = (try? await looks.recentState())?.inHand.filter { $0.stage == "deferred" } ?? []
            return .json(
                .object([
                    JSONField("deferred", arrivals.map(LiveView.arrival)), JSONField("quarantined", quarantined),
                ]))
        } catch { return .failure(error) }
    }

    private func quarantined(_ operation: Int64, _ head: RequestHead) async -> WebResponse {
        do throws(CommandFailure) {
            guard let content = try await records.file(quarantinedBy: operation) else {
                return .failure(
                    .notFound, "this file is not in quarantine any more", action: "See what is: reload the page.")
            }
            let type = MediaType.ofPhoto(named: content.name.escaped)
            return await content.response(
                type, head, caching: .asking, isDownload: !type.isPicture || head.target["download"] != nil)
        } catch { return .failure(error) }
    }

    // MARK: - What is done

    private func act(_ request: WebRequest, for name: String) async -> WebResponse {
        let asked: ControlRequest
        do throws(RequestMistake) { asked = try ControlRequest(json: request.body) } catch {
            return .failure(.badRequest, error.message)
        }
        guard asked.command.isForPages else {
            return .failure(.forbidden, "the pages cannot request \(asked.command.verb)")
        }
        let request = ControlRequest(
            id: asked.id, asked.command, isDryRun: asked.isDryRun, person: name == options.owner ? nil : name,
            expected: asked.expected)
        do throws(CommandFailure) {
            let answer = try await actions.answer(to: request)
            if case .undo = request.command, !request.isDryRun { await similar.forget() }
            return WebResponse(.json, .bytes(answer.json()), CommandFailure(answer) == nil ? .ok : .conflict)
        } catch { return .failure(error) }
    }
}

extension WebResponse {
    static func forbidden(to person: Person) -> WebResponse {
        failure(
            .forbidden, "\(person.name) is a \(person.role.rawValue), and may not do this", action: "An operator may.")
    }

    static func failure(_ failure: CommandFailure) -> WebResponse {
        let status: HTTPStatus =
            switch failure.status {
            case .permission: .forbidden
            case .failed: .failed
            default: .unavailable
            }
        return .failure(status, failure.message, action: failure.action)
    }
}
