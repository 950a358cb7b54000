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
        /// Seconds since 1970.
        let end: Int64
    }

    /// The most sessions of one name; the oldest ends first.
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

    mutating func begin(_ session: Session) {
        sessions.append(session)
        while sessions.count(where: { $0.name == session.name }) > Self.sessionsOfName,
            let oldest = sessions.firstIndex(where: { $0.name == session.name })
        {
            sessions.remove(at: oldest)
        }
    }

    /// Whether there was one.
    mutating func end(_ secret: SecretHash) -> Bool {
        let count = sessions.count
        sessions.removeAll { $0.secret == secret }
        return sessions.count < count
    }

    /// Forgets sessions that have ended, and people who are gone.
    mutating func removeOutdated(_ people: People, now: Int64) {
        passwords = passwords.filter { people[$0.key]?.invitation.link == $0.value.link }
        sessions.removeAll { $0.end <= now || people[$0.name]?.invitation.link != $0.link }
    }
}
