import ControlProtocol
import HTTPValues
import Reporting
import WebAccounts
import WebServing

extension PageServer {
    private struct SignIn: JSONMessage {
        var name: String
        var password: String
    }

    private struct Link: JSONMessage {
        var link: String
        /// The password to be set; without it, only what the link is for is reported.
        var password: String?
    }

    func signIn(_ request: WebRequest) async -> WebResponse {
        guard let given = SignIn(json: request.body) else {
            return .failure(.badRequest, "name or password is missing")
        }
        // What is no name cannot be logged as one.
        let name = Person.isName(given.name) ? given.name : "?"
        do throws(Accounts.Refusal) {
            let secret = try await accounts.signIn(name, given.password, with: sessions(of: request))
            return await signedIn(secret, request, "signed in")
        } catch { return refusal(error, "sign-in of \(name)") }
    }

    func useLink(_ request: WebRequest) async -> WebResponse {
        guard let given = Link(json: request.body), let link = Secret(given.link) else {
            return refusal(.wrongLink, "a link")
        }
        do throws(Accounts.Refusal) {
            if let password = given.password {
                return await signedIn(try await accounts.setPassword(password, by: link), request, "set a password")
            }
            switch try await accounts.open(link) {
            case .session(let secret): return await signedIn(secret, request, "signed in")
            case .password(let name): return .json(.object([JSONField("password_for", name)]))
            }
        } catch { return refusal(error, "a link") }
    }

    /// The cookie stays: it signs nobody in any more, but the browser's next sign-in does not wait for strangers.
    func signOut(_ request: WebRequest) async -> WebResponse {
        do throws(Accounts.Refusal) {
            for secret in sessions(of: request) { try await accounts.signOut(secret) }
        } catch { return refusal(error, "signing out") }
        return WebResponse(.json, .bytes([]), .noContent)
    }

    private func signedIn(_ secret: Secret, _ request: WebRequest, _ done: String) async -> WebResponse {
        let person = await accounts.person(ofSession: [secret])
        options.log("\(person?.name ?? "?") \(done)")
        // Where a proxy says that it has come by TLS; if that is not so, the browser alone is misled, and keeps no cookie.
        let isSecure = request.head.fields["x-forwarded-proto"]?.lowercased() == "https"
        let cookie = Cookies.setting(
            options.cookie, secret.text, seconds: Int(Accounts.cookieTime), isSecure: isSecure)
        return .json(Self.json(person), fields: [("Set-Cookie", cookie)])
    }

    private func refusal(_ refusal: Accounts.Refusal, _ what: String) -> WebResponse {
        let length = Accounts.passwordLength
        switch refusal {
        case .wrong:
            options.log("\(what) refused: wrong name or password")
            return .failure(.forbidden, "the name or the password is wrong")
        case .tooManyTries:
            // Not logged: strangers could fill the journal with it. Those that were compared are there.
            return .failure(
                .tooManyRequests, "too many tries", action: "Wait a minute.", fields: [("Retry-After", "60")])
        case .wrongLink:
            return .failure(
                .forbidden, "this link was used, or has ended",
                action: options.owner == nil
                    ? "Ask the administrator for a new link." : "For a new one, start photoinbox web again.")
        case .unfitPassword:
            return .failure(
                .badRequest,
                "a password has \(length.lowerBound) to \(length.upperBound) characters, in at most "
                    + "\(Accounts.passwordSize) bytes")
        case .failed(let reason):
            options.log("\(what) failed: \(reason)")
            return .failure(.failed, "the server has a problem", action: "See its journal.")
        }
    }
}
