import TestSupport
import Testing

@testable import WebAccounts

@Suite("web.users")
struct PeopleTests {
    static let hash = Secret().hash

    static func person(_ name: String, _ role: Role = .viewer, link: SecretHash = hash, end: Int64 = 9) -> Person {
        Person(name: name, role: role, invitation: Person.Invitation(link: link, end: end))
    }

    @Test("The file is read as it was written")
    func roundTrip() throws {
        var people = People()
        people.put(Self.person("ana", .operator))
        people.put(Self.person("ben@example.org"))
        #expect(try People(people.text) == people)
        people.put(Self.person("ana"))
        #expect(people.all.map(\.name) == ["ana", "ben@example.org"])
        #expect(people["ana"]?.role == .viewer)
        let removed = [people.remove("ana"), people.remove("ana")]
        #expect(removed == [true, false])
        #expect(try People(people.text).all.map(\.name) == ["ben@example.org"])
        #expect(try People("\n# comment\n\t \n").all.isEmpty)
    }

    @Test(
        "A wrong line is found, by its number",
        arguments: [
            "ana", "ana:operator", "ana:root:HASH:9", "ana:Operator:HASH:9", ":viewer:HASH:9", "a b:viewer:HASH:9",
            "ana:viewer:HASH:", "ana:viewer:HASH:-1", "ana:viewer:HASH:x", "ana:viewer:00:9", "ana:viewer:HASH:9:",
            "-x:viewer:HASH:9", "ben:viewer:HASH:9", " ana:viewer:HASH:9",
        ])
    func wrongLines(line: String) {
        let whole = line.split(separator: "HASH", omittingEmptySubsequences: false).joined(separator: "\(Self.hash)")
        let mistake = #expect(throws: People.WrongLine.self) {
            try People("# first\nben:viewer:\(Self.hash):9\n\(whole)\n")
        }
        #expect(mistake?.number == 3)
    }

    @Test("web.devices is read as it was written, and a wrong line is found")
    func devices() throws {
        var devices = Devices()
        devices.put(Device(person: "ana", name: "phone", password: Self.hash))
        devices.put(Device(person: "ana", name: "laptop", password: Self.hash))
        devices.put(Device(person: "ben", name: "phone", password: Self.hash))
        #expect(try Devices(devices.text) == devices)
        let removed = devices.remove { $0.person == "ana" }
        #expect(removed == 2 && devices.all.map(\.key) == ["ben:phone"])
        for line in [
            "ana", "ana:phone", "ana:phone:00", "ana:phone:HASH", "ana:phone:5:00", "ana:phone:5:HASH:",
            "ana:phone:-5:HASH", "ana:1:5:HASH", "ana:2026-11-26:5:HASH", "a/b:c:5:HASH",
        ] {
            let whole = line.replacing("HASH", with: "\(Self.hash)")
            #expect(throws: Devices.WrongLine(number: 2)) { try Devices("# first\n\(whole)\n") }
        }
    }

    @Test("A device's password has 140 bits, however it is typed")
    func devicePasswords() throws {
        let password = DevicePassword()
        #expect(password != DevicePassword())
        #expect(password.text.utf8.count == 34 && password.text.split(separator: "-").count == 7)
        let typed = password.text.uppercased().replacing("-", with: " ")
        #expect(DevicePassword(typed) == password)
        #expect(DevicePassword(String(password.text.filter { $0 != "-" }))?.hash == password.hash)
        let (misread, meant) = (
            DevicePassword("OIL" + String(repeating: "2", count: 25)), "011" + String(repeating: "2", count: 25)
        )
        #expect(misread == DevicePassword(meant) && misread != nil)
        for wrong in [
            "", "u" + meant.dropFirst(), "\(meant)2", String(meant.dropFirst()), String(repeating: "-", count: 90),
        ] {
            #expect(DevicePassword(wrong) == nil)
        }
    }

    @Test("A secret has 256 bits, and its hash is that of its digits")
    func secrets() throws {
        #expect(Secret() != Secret())
        #expect(Secret("00") == nil)
        #expect(Secret(String(repeating: "g", count: 64)) == nil)
        let text = String(repeating: "aB", count: 32)
        let secret = try #require(Secret(text))
        #expect(secret.text == text.lowercased())
        #expect(secret.hash.description != secret.text)
        #expect(SecretHash(secret.hash.description) == secret.hash)
    }

    @Test("Strangers try a name five times a minute, and all names sixty times; a known browser has tries of its own")
    func tries() {
        var limit = TryLimit()
        let start = ContinuousClock.now
        func tries(_ source: TryLimit.Source, _ seconds: Double = 0) -> Bool {
            limit.tries(source, at: start + .seconds(seconds))
        }
        let first = (0...TryLimit.ofSource).map { _ in tries(.stranger("ana")) }
        #expect(first == Array(repeating: true, count: TryLimit.ofSource) + [false])
        let later = [tries(.stranger("ben")), tries(.stranger("ana"), 59.9), tries(.stranger("ana"), 60)]
        #expect(later == [true, false, true])
        limit.succeeded(.stranger("ana"))
        let again = (0..<TryLimit.ofSource).map { _ in tries(.stranger("ana"), 60) }
        #expect(!again.contains(false))

        limit = TryLimit()
        let names = (0..<100).filter { tries(.stranger("name \($0)")) }
        #expect(names.count == TryLimit.ofStrangers)
        for browser in [Secret().hash, Secret().hash] {
            let own = (0...TryLimit.ofSource).map { _ in tries(.browser(browser)) }
            #expect(own == Array(repeating: true, count: TryLimit.ofSource) + [false])
        }
        limit.succeeded(.stranger("name 0"))
        let afterwards = [tries(.stranger("ana")), tries(.stranger("ben"))]
        #expect(afterwards == [true, false])
    }

    @Test("Passwords and sessions are read as they were written; damaged lines are left out")
    func records() throws {
        let hash = try #require(PasswordHash(text: "$y$j9T$abc$def"))
        var records = AccountRecords()
        records.set(AccountRecords.Password(link: Self.hash, hash: hash), of: "ana")
        func session(_ secret: SecretHash, end: Int64 = 7) -> AccountRecords.Session {
            AccountRecords.Session(secret: secret, name: "ana", link: Self.hash, end: end)
        }
        let secret = Secret().hash
        records.begin(session(secret), now: 0)
        #expect(AccountRecords(records.text) == records)
        #expect(AccountRecords("password:ana\nsession:x:ana:y:7\nother\n" + records.text) == records)
        let others = (0..<AccountRecords.sessionsOfName).map { _ in Secret().hash }
        for other in others { records.begin(session(other), now: 0) }
        #expect(records.sessions.map(\.secret) == others)
        // What has ended is forgotten before what is older, and a browser has one session.
        records.end(others[1], now: 3)
        records.end(others[1], now: 5)
        #expect(records.sessions[1].end == 3)
        records.begin(session(secret), now: 3)
        #expect(records.sessions.map(\.secret) == [others[0]] + others[2...] + [secret])
        records.begin(session(others[1]), replacing: secret, now: 3)
        #expect(records.sessions.map(\.secret) == [others[0]] + others[2...] + [others[1]])
        var people = People()
        people.put(Self.person("ana"))
        records.removeOutdated(people, now: 6 + AccountRecords.browserTime)
        #expect(records.sessions.count == AccountRecords.sessionsOfName)
        records.removeOutdated(people, now: 7 + AccountRecords.browserTime)
        #expect(records.sessions.isEmpty && records.passwords.count == 1)
        people.put(Self.person("ana", link: Secret().hash))
        records.removeOutdated(people, now: 0)
        #expect(records.passwords.isEmpty)
    }
}

@Suite("Hashes of passwords")
struct PasswordHashTests {
    @Test("A password matches its own hash alone")
    func matching() throws {
        let hash = try #require(PasswordHash(of: "correct horse"))
        #expect(hash.text.hasPrefix("$y$"))
        #expect(hash.matches("correct horse"))
        for other in ["Correct horse", "correct horse ", "", "correct\0horse"] { #expect(!hash.matches(other)) }
        #expect(PasswordHash(text: hash.text)?.matches("correct horse") == true)
        #expect(PasswordHash(of: "correct horse") != hash)
        #expect(PasswordHash(of: "a\0b") == nil)
    }

    @Test("Other kinds of hashes are refused", arguments: ["", "x", "$1$abc$def", "$6$a$b", "$y$a b", "$y$a:b", "*0"])
    func kinds(text: String) { #expect(PasswordHash(text: text) == nil) }

    @Test("A hash that libcrypt cannot compute matches nothing")
    func damaged() throws {
        let hash = try #require(PasswordHash(text: "$y$!!"))
        #expect(!hash.matches("*0") && !hash.matches(""))
    }
}
