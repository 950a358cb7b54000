package import FileValues
import Glibc
import LinuxKernel
import SystemMonitor
import SystemPackage

/// Who is who: signs people in and out, and knows them by their sessions.
///
/// On a queue of its own, where its two small files are read and written; passwords are compared on another, one at a time.
package actor Accounts {
    /// The person who started the server in a terminal: needs no file, and signs in by a link alone.
    package struct Owner: Sendable {
        package let person: Person
        package let link: Secret

        /// `name` is a user's.
        package init(name: String) {
            link = Secret()
            person = Person(
                name: name, role: .operator, invitation: Person.Invitation(link: Secret().hash, end: Int64.max))
        }
    }

    package enum Refusal: Error, Hashable, Sendable {
        /// The name or the password is wrong; which of them is not said.
        case wrong
        case tooManyTries
        /// The link was used, has ended, or was never given.
        case wrongLink
        /// A password has too few or too many characters.
        case unfitPassword
        /// A file cannot be read or written; the journal has the reason.
        case failed(String)
    }

    package static let passwordLength = 10...256
    /// The most bytes of a password: crypt(3) refuses more.
    package static let passwordSize = 511
    /// Seconds.
    package static let sessionTime: Int64 = 30 * 86_400
    /// For how long a browser keeps the secret of its session, by which it is known after the end, too.
    package static let cookieTime = sessionTime + AccountRecords.browserTime
    /// How many tries of strangers are compared, or wait for it: nobody waits behind more than these.
    static let strangersAtOnce = 4

    private let queue = MonitorQueue(label: "photo-inbox.web.accounts")
    package nonisolated var unownedExecutor: UnownedSerialExecutor { queue.executor.asUnownedSerialExecutor() }

    private let peopleFile: BytePath?
    private let state: BytePath?
    private let owner: Owner?
    private let hasher = PasswordHasher()
    private let now: @Sendable () -> Int64
    private let instant: @Sendable () -> ContinuousClock.Instant
    private var limit = TryLimit()
    private var strangers = 0
    private var records: AccountRecords?
    private var read: (identity: FileIdentity, people: People)?
    private var isOwnersLinkUsed = false

    private static let recordsFile: BytePath = "accounts"

    /// `peopleFile` says who may use the pages besides the owner. Passwords and sessions are kept in the directory `state`, or
    /// in memory alone. No other server may use that directory.
    package init(
        peopleFile: BytePath? = nil, state: BytePath? = nil, owner: Owner? = nil,
        now: @escaping @Sendable () -> Int64 = { Int64(time(nil)) },
        instant: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        (self.peopleFile, self.state, self.owner) = (peopleFile, state, owner)
        (self.now, self.instant) = (now, instant)
    }

    // MARK: - Signing in

    /// A new session. `cookies` are the secrets that the browser has of earlier ones.
    package func signIn(_ name: String, _ password: String, with cookies: [Secret]) async throws(Refusal) -> Secret {
        let browser = try browser(of: name, with: cookies)
        let source = browser.map { TryLimit.Source.browser($0) } ?? .stranger(name)
        guard !source.isStranger || strangers < Self.strangersAtOnce, limit.tries(source, at: instant()) else {
            throw .tooManyTries
        }
        if source.isStranger { strangers += 1 }
        defer { if source.isStranger { strangers -= 1 } }
        let before = try hash(of: name)
        // An unknown name takes as long as a wrong password.
        let isRight = await hasher.matches(password, before?.hash)
        guard let before, isRight, try hash(of: name) == before else { throw .wrong }
        limit.succeeded(source)
        return try begin(name, before.link, replacing: browser)
    }

    /// Sets the password of the person whom the link was given to, once, and signs in.
    package func setPassword(_ password: String, by link: Secret) async throws(Refusal) -> Secret {
        let person = try invited(by: link)
        guard Self.passwordLength.contains(password.count), password.utf8.count <= Self.passwordSize else {
            throw .unfitPassword
        }
        guard let hash = await hasher.hash(password) else { throw .failed("there is no libcrypt with yescrypt") }
        // The link may have been used meanwhile.
        guard try invited(by: link) == person else { throw .wrongLink }
        let invitation = person.invitation.link
        try change { $0.set(AccountRecords.Password(link: invitation, hash: hash), of: person.name) }
        return try begin(person.name, invitation)
    }

    /// Whose password a link would set; with the owner's link, signs in instead.
    package func open(_ link: Secret) throws(Refusal) -> LinkMeaning {
        if let owner, owner.link == link, !isOwnersLinkUsed {
            let session = try begin(owner.person.name, owner.person.invitation.link)
            isOwnersLinkUsed = true
            return .session(session)
        }
        return .password(of: try invited(by: link).name)
    }

    package enum LinkMeaning: Hashable, Sendable {
        case session(Secret)
        case password(of: String)
    }

    /// Ends a session, if there is one: nothing is written for strangers.
    package func signOut(_ secret: Secret) throws(Refusal) {
        let (hash, now) = (secret.hash, now())
        guard try current().sessions.contains(where: { $0.secret == hash && $0.end > now }) else { return }
        try change { $0.end(hash, now: now) }
    }

    // MARK: - Knowing people

    /// The person of the first of these secrets that is a session; nobody while that cannot be known.
    package func person(ofSession secrets: [Secret]) -> Person? {
        guard let people = try? people(), let current = try? current() else { return nil }
        for hash in secrets.map(\.hash) {
            guard let session = current.sessions.first(where: { $0.secret == hash }), session.end > now(),
                let person = people[session.name], person.invitation.link == session.link
            else { continue }
            return person
        }
        return nil
    }

    /// Why nobody of the file of people can use the pages; nil also without such a file.
    package var mistake: String? {
        do throws(Refusal) { _ = try people() } catch { if case .failed(let reason) = error { return reason } }
        return nil
    }

    /// The person of a name. Throws while that cannot be known.
    package func sender(named name: String) throws(Refusal) -> Person? {
        try people()[name].flatMap { $0.role >= .sender ? $0 : nil }
    }

    /// The person of a name that a proxy has verified.
    package func person(named name: String) -> Person? { (try? people())?[name] }

    // MARK: - Files

    private func hash(of name: String) throws(Refusal) -> AccountRecords.Password? {
        let (password, person) = (try current().passwords[name], try people()[name])
        return person?.invitation.link == password?.link ? password : nil
    }

    private func invited(by link: Secret) throws(Refusal) -> Person {
        let hash = link.hash
        guard let person = try people().all.first(where: { $0.invitation.link == hash }), person.invitation.end > now(),
            try current().passwords[person.name]?.link != hash
        else { throw .wrongLink }
        return person
    }

    /// The session that says that this browser has signed in by the name before, under the password that counts now.
    private func browser(of name: String, with cookies: [Secret]) throws(Refusal) -> SecretHash? {
        let hashes = cookies.map(\.hash)
        guard let link = try people()[name]?.invitation.link else { return nil }
        return try current().sessions.first {
            $0.name == name && $0.link == link && hashes.contains($0.secret)
                && $0.end > now() - AccountRecords.browserTime
        }?.secret
    }

    private func begin(
        _ name: String, _ link: SecretHash, replacing browser: SecretHash? = nil
    ) throws(Refusal) -> Secret {
        let (secret, now) = (Secret(), now())
        let session = AccountRecords.Session(
            secret: secret.hash, name: name, link: link, end: now + Self.sessionTime)
        try change { $0.begin(session, replacing: browser, now: now) }
        return secret
    }

    private func change(_ body: (inout AccountRecords) -> Void) throws(Refusal) {
        var new = try current()
        // While it is not known who may use the pages, nobody is forgotten.
        if let people = try? people() { new.removeOutdated(people, now: now()) }
        body(&new)
        if let state {
            do throws(SystemCallError) {
                try openDirectory(state).put(
                    Array(new.text.utf8), as: Self.recordsFile, mode: 0o600, durably: true)
            } catch { throw .failed("\(state.appending(Self.recordsFile)) cannot be written: \(error)") }
        }
        records = new
    }

    /// Throws if the file cannot be read: it must not be replaced then.
    private func current() throws(Refusal) -> AccountRecords {
        if let records { return records }
        var found = AccountRecords()
        if let state {
            do throws(SystemCallError) {
                let bytes = try openDirectory(state).openBeneath(Self.recordsFile, .read).read(16 << 20)
                found = AccountRecords(String(decoding: bytes, as: UTF8.self))
            } catch {
                if error.code != .noSuchFileOrDirectory {
                    throw .failed("\(state.appending(Self.recordsFile)) cannot be read: \(error)")
                }
            }
        }
        records = found
        return found
    }

    /// Those of the file as it is now, and the owner. Throws while the file cannot be read or has a wrong line.
    private func people() throws(Refusal) -> People {
        var people = People()
        if let peopleFile {
            do {
                // The administrator's, who may have made it a link.
                let real = try realPath(peopleFile)
                let file = try openDirectory(real.parent).openBeneath(real.name, [.read, .nonBlocking])
                let identity = try FileStatus(of: file).identity
                if read?.identity != identity {
                    read = (identity, try People(String(decoding: try file.read(1 << 20), as: UTF8.self)))
                }
                people = read?.people ?? people
            } catch {
                if (error as? SystemCallError)?.code != .noSuchFileOrDirectory {
                    throw .failed("\(peopleFile) cannot be used: \(error)")
                }
            }
        }
        if let owner { people.put(owner.person) }
        return people
    }
}

/// Computes hashes of passwords, one after the other, so that a flood of tries takes one processor and 16 MB at most.
private actor PasswordHasher {
    private let queue = MonitorQueue(label: "photo-inbox.web.passwords")
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.executor.asUnownedSerialExecutor() }

    /// What an unknown name is compared with.
    private lazy var nobody = PasswordHash(of: Secret().text)

    func hash(_ password: String) -> PasswordHash? { PasswordHash(of: password) }

    func matches(_ password: String, _ hash: PasswordHash?) -> Bool {
        let isEqual = (hash ?? nobody)?.matches(password) ?? false
        return isEqual && hash != nil
    }
}
