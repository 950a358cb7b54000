/// What the server keeps of people: passwords that were set, and sessions. One file of lines in its state directory.
///
/// A password or a session counts for the link by which the password was set: a new link for the same name, from the
/// administrator, ends both.
struct AccountRecords: Hashable, Sendable {
    struct Password: Hashable, Sendable {
        let link: SecretHash
        let hash: PasswordHash
    }

    struct Session: Hashable, Sendable {
        let secret: SecretHash
        let name: String
        let link: SecretHash
        /// Seconds since 1970. What has ended signs nobody in, and its browser is still known for ``browserTime``.
        var end: Int64
    }

    /// For how long after a session its browser is known: a year.
    static let browserTime: Int64 = 365 * 86_400

    /// The most of one name. Ended ones are forgotten first, then the oldest.
    static let sessionsOfName = 32

    private(set) var passwords: [String: Password] = [:]
    /// Oldest first.
    private(set) var sessions: [Session] = []

    init() {}

    /// Lines of another version, or damaged ones, are left out: their people sign in again, or ask for a link.
    init(_ text: String) {
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            switch (parts.first, parts.count) {
            case ("password", 4):
                guard let link = SecretHash(parts[2]), let hash = PasswordHash(text: parts[3]) else { continue }
                passwords[parts[1]] = Password(link: link, hash: hash)
            case ("session", 5):
                guard let secret = SecretHash(parts[1]), let link = SecretHash(parts[3]), let end = Int64(parts[4])
                else { continue }
                sessions.append(Session(secret: secret, name: parts[2], link: link, end: end))
            default: continue
            }
        }
    }

    var text: String {
        passwords.sorted { $0.key < $1.key }.map { "password:\($0):\($1.link):\($1.hash.text)\n" }.joined()
            + sessions.map { "session:\($0.secret):\($0.name):\($0.link):\($0.end)\n" }.joined()
    }

    mutating func set(_ password: Password, of name: String) {
        passwords[name] = password
        sessions.removeAll { $0.name == name }
    }

    /// In place of an earlier session of the same browser.
    mutating func begin(_ session: Session, replacing browser: SecretHash? = nil, now: Int64) {
        sessions.removeAll { $0.secret == browser }
        sessions.append(session)
        let own = sessions.indices.filter { sessions[$0].name == session.name }
        guard own.count > Self.sessionsOfName, let oldest = own.first else { return }
        sessions.remove(at: own.first { sessions[$0].end <= now } ?? oldest)
    }

    /// Its browser stays known.
    mutating func end(_ secret: SecretHash, now: Int64) {
        for index in sessions.indices where sessions[index].secret == secret {
            sessions[index].end = min(sessions[index].end, now)
        }
    }

    /// Forgets browsers that were away for too long, and people who are gone.
    mutating func removeOutdated(_ people: People, now: Int64) {
        passwords = passwords.filter { people[$0.key]?.invitation.link == $0.value.link }
        sessions.removeAll {
            $0.end <= now - Self.browserTime || people[$0.name]?.invitation.link != $0.link
        }
    }
}
