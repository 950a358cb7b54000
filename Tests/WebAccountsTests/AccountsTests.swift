import FileValues
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import WebAccounts

@Suite("Accounts", .timeLimit(.minutes(60)))
struct AccountsTests {
    /// A server's accounts, with people of whom a test has the links.
    final class World: Sendable {
        let scratch: ScratchDirectory
        let now = Locked<Int64>(1_000)

        private let start = ContinuousClock.now

        init() throws { scratch = try ScratchDirectory() }

        var file: BytePath { BytePath(scratch.appending("web.users")) }

        /// As after a start of the server.
        func accounts(owner: Accounts.Owner? = nil) -> Accounts {
            // A minute may pass while a slow machine compares passwords.
            Accounts(
                peopleFile: file, state: scratch.bytePath, owner: owner, now: { [now] in now.withLock { $0 } },
                instant: { [start] in start })
        }

        func write(_ text: String) throws {
            try openDirectory(scratch.bytePath).put(Array(text.utf8), as: "web.users")
        }

        /// Adds somebody, or makes a new link.
        func invite(_ name: String, _ role: Role = .viewer, keeping people: People = People()) throws -> (
            Secret, People
        ) {
            let link = Secret()
            var people = people
            people.put(Person(name: name, role: role, invitation: Person.Invitation(link: link.hash, end: 2_000)))
            try write(people.text)
            return (link, people)
        }
    }

    static let password = "a long password"

    @Test("A link sets a password once, and the password signs in")
    func firstPassword() async throws {
        let world = try World()
        let (link, _) = try world.invite("ana", .operator)
        let accounts = world.accounts()
        await #expect(throws: Accounts.Refusal.wrong) { try await accounts.signIn("ana", Self.password, with: []) }
        #expect(try await accounts.open(link) == .password(of: "ana"))
        await #expect(throws: Accounts.Refusal.unfitPassword) { try await accounts.setPassword("short", by: link) }
        let session = try await accounts.setPassword(Self.password, by: link)
        #expect(await accounts.person(ofSession: [session])?.name == "ana")
        await #expect(throws: Accounts.Refusal.wrongLink) {
            try await accounts.setPassword("another password", by: link)
        }
        await #expect(throws: Accounts.Refusal.wrongLink) { try await accounts.open(link) }
        await #expect(throws: Accounts.Refusal.wrong) { try await accounts.signIn("ana", "another password", with: []) }
        let second = try await accounts.signIn("ana", Self.password, with: [])
        // As after a restart.
        let later = world.accounts()
        #expect(await later.person(ofSession: [second])?.role == .operator)
        #expect(await later.person(ofSession: [Secret(), session])?.name == "ana")
        try await later.signOut(session)
        #expect(await later.person(ofSession: [session]) == nil)
        #expect(await later.person(ofSession: [second]) != nil)
    }

    @Test("While web.users has a wrong line nobody signs in, and nothing is forgotten")
    func forgetsNobody() async throws {
        let world = try World()
        let (link, people) = try world.invite("ana", .operator)
        let accounts = world.accounts()
        let (first, second) = (
            try await accounts.setPassword(Self.password, by: link),
            try await accounts.signIn("ana", Self.password, with: [])
        )
        try world.write(people.text + "bob:oprator:xx:1\n")
        #expect(await accounts.person(ofSession: [first]) == nil)
        let refusal = await #expect(throws: Accounts.Refusal.self) {
            try await accounts.signIn("ana", Self.password, with: [])
        }
        if case .failed(let reason)? = refusal {
            #expect(reason.contains("line 3"))
        } else {
            Issue.record("\(refusal as Any)")
        }
        try await accounts.signOut(first)
        try world.write(people.text)
        #expect(await accounts.person(ofSession: [first]) == nil)
        for accounts in [accounts, world.accounts()] {
            #expect(await accounts.person(ofSession: [second])?.name == "ana")
            _ = try await accounts.signIn("ana", Self.password, with: [])
        }
    }

    @Test("Records that cannot be read are not replaced")
    func unreadableRecords() async throws {
        let world = try World()
        let (link, people) = try world.invite("ana", .operator)
        _ = try await world.accounts().setPassword(Self.password, by: link)
        let name = world.scratch.appending("accounts")
        let kept = name + ".kept"
        #expect(rename(name, kept) == 0 && symlink(kept, name) == 0)
        let accounts = world.accounts()
        await #expect(throws: Accounts.Refusal.self) { try await accounts.signIn("ana", Self.password, with: []) }
        await #expect(throws: Accounts.Refusal.self) { try await accounts.setPassword(Self.password, by: link) }
        #expect(unlink(name) == 0 && rename(kept, name) == 0)
        _ = try await accounts.signIn("ana", Self.password, with: [])
        _ = people
    }

    @Test("A password that crypt(3) would refuse is too long")
    func longPassword() async throws {
        let world = try World()
        let (link, _) = try world.invite("ana")
        let accounts = world.accounts()
        let long = String(repeating: "\u{5BFF}", count: 200)
        await #expect(throws: Accounts.Refusal.unfitPassword) { try await accounts.setPassword(long, by: link) }
        let longest = String(long.prefix(170))
        _ = try await accounts.setPassword(longest, by: link)
        _ = try await accounts.signIn("ana", longest, with: [])
        await #expect(throws: Accounts.Refusal.wrong) {
            try await accounts.signIn("ana", String(longest.dropLast()), with: [])
        }
    }

    @Test("A link ends, and so does a session")
    func ends() async throws {
        let world = try World()
        let (link, _) = try world.invite("ana")
        let accounts = world.accounts()
        let session = try await accounts.setPassword(Self.password, by: link)
        world.now.withLock { $0 += Accounts.sessionTime - 1 }
        #expect(await accounts.person(ofSession: [session]) != nil)
        world.now.withLock { $0 += 1 }
        #expect(await accounts.person(ofSession: [session]) == nil)
        let (late, _) = try world.invite("ben")
        await #expect(throws: Accounts.Refusal.wrongLink) { try await accounts.setPassword(Self.password, by: late) }
    }

    @Test("A new link ends password and sessions; who is removed is gone at once")
    func newLink() async throws {
        let world = try World()
        let (link, people) = try world.invite("ana", .operator)
        let accounts = world.accounts()
        let session = try await accounts.setPassword(Self.password, by: link)
        let (next, _) = try world.invite("ana", .viewer, keeping: people)
        #expect(await accounts.person(ofSession: [session]) == nil)
        await #expect(throws: Accounts.Refusal.wrong) { try await accounts.signIn("ana", Self.password, with: []) }
        let again = try await accounts.setPassword(Self.password, by: next)
        #expect(await accounts.person(ofSession: [again])?.role == .viewer)
        try world.write("")
        #expect(await accounts.person(ofSession: [again]) == nil)
        #expect(await accounts.person(named: "ana") == nil)
        await #expect(throws: Accounts.Refusal.wrong) { try await accounts.signIn("ana", Self.password, with: []) }
    }

    @Test("A stranger's sixth try of a name within a minute is refused, also with the right password")
    func tries() async throws {
        let world = try World()
        let (link, _) = try world.invite("ana")
        let accounts = world.accounts()
        _ = try await accounts.setPassword(Self.password, by: link)
        for _ in 0..<TryLimit.ofSource {
            await #expect(throws: Accounts.Refusal.wrong) {
                try await accounts.signIn("ana", "guessed password", with: [])
            }
        }
        await #expect(throws: Accounts.Refusal.tooManyTries) {
            try await accounts.signIn("ana", Self.password, with: [])
        }
    }

    @Test("Strangers who try a name keep out no browser that has signed in by it before, also after signing out")
    func knownBrowser() async throws {
        let world = try World()
        let (link, people) = try world.invite("ana")
        var accounts = world.accounts()
        let first = try await accounts.setPassword(Self.password, by: link)
        for _ in 0..<TryLimit.ofSource {
            await #expect(throws: Accounts.Refusal.wrong) {
                try await accounts.signIn("ana", "guessed password", with: [Secret()])
            }
        }
        try await accounts.signOut(first)
        #expect(await accounts.person(ofSession: [first]) == nil)
        for cookies in [[], [Secret()]] {
            await #expect(throws: Accounts.Refusal.tooManyTries) {
                try await accounts.signIn("ana", Self.password, with: cookies)
            }
        }
        let second = try await accounts.signIn("ana", Self.password, with: [Secret(), first])
        #expect(await accounts.person(ofSession: [second])?.name == "ana")
        // The browser has the new secret now, and that counts after a restart and when the session has ended.
        await #expect(throws: Accounts.Refusal.tooManyTries) {
            try await accounts.signIn("ana", Self.password, with: [first])
        }
        accounts = world.accounts()
        world.now.withLock { $0 += Accounts.cookieTime - 1 }
        for _ in 0..<TryLimit.ofSource {
            await #expect(throws: Accounts.Refusal.wrong) {
                try await accounts.signIn("ana", "guessed password", with: [second])
            }
        }
        await #expect(throws: Accounts.Refusal.tooManyTries) {
            try await accounts.signIn("ana", Self.password, with: [second])
        }
        // A browser's tries are not those of strangers, and the other way round.
        let third = try await accounts.signIn("ana", Self.password, with: [])
        #expect(await accounts.person(ofSession: [third])?.name == "ana")
        // A secret of one name is none of another, nor of the same name after a new link.
        let (next, _) = try world.invite("ana", keeping: people)
        _ = next
        for _ in 0..<TryLimit.ofSource {
            await #expect(throws: Accounts.Refusal.wrong) {
                try await accounts.signIn("ana", Self.password, with: [third])
            }
        }
        await #expect(throws: Accounts.Refusal.tooManyTries) {
            try await accounts.signIn("ana", Self.password, with: [third])
        }
    }

    @Test("A browser that was away for a year, or knows another name, is a stranger")
    func strangeBrowser() async throws {
        let world = try World()
        let (link, people) = try world.invite("ana")
        let accounts = world.accounts()
        let session = try await accounts.setPassword(Self.password, by: link)
        let (benLink, _) = try world.invite("ben", keeping: people)
        let ben = try await accounts.setPassword(Self.password, by: benLink)
        for _ in 0..<TryLimit.ofSource {
            await #expect(throws: Accounts.Refusal.wrong) {
                try await accounts.signIn("ana", "guessed password", with: [ben])
            }
        }
        await #expect(throws: Accounts.Refusal.tooManyTries) {
            try await accounts.signIn("ana", Self.password, with: [ben])
        }
        world.now.withLock { $0 += Accounts.cookieTime }
        await #expect(throws: Accounts.Refusal.tooManyTries) {
            try await accounts.signIn("ana", Self.password, with: [session])
        }
    }

    @Test(
        "Few strangers wait for a password to be compared, whatever names they give; a known browser is one of the next"
    )
    func flood() async throws {
        let world = try World()
        let (link, _) = try world.invite("ana")
        let accounts = world.accounts()
        let session = try await accounts.setPassword(Self.password, by: link)
        let refusals = await withTaskGroup(of: Accounts.Refusal?.self) { tasks in
            for number in 0..<40 {
                tasks.addTask {
                    do throws(Accounts.Refusal) {
                        _ = try await accounts.signIn("stranger \(number)", Self.password, with: [])
                        return nil
                    } catch { return error }
                }
            }
            tasks.addTask {
                do throws(Accounts.Refusal) {
                    _ = try await accounts.signIn("ana", Self.password, with: [session])
                    return nil
                } catch { return error }
            }
            return await tasks.reduce(into: [Accounts.Refusal?]()) { $0.append($1) }
        }
        #expect(refusals.count(where: { $0 == nil }) == 1)
        #expect(refusals.contains(.wrong) && refusals.contains(.tooManyTries))
    }

    @Test("With a wrong line nobody is anybody, and it is said")
    func wrongLine() async throws {
        let world = try World()
        let (link, people) = try world.invite("ana")
        let accounts = world.accounts()
        let session = try await accounts.setPassword(Self.password, by: link)
        #expect(await accounts.mistake == nil)
        try world.write(people.text + "ben:admin\n")
        #expect(await accounts.person(ofSession: [session]) == nil)
        #expect(await accounts.mistake?.contains("line 3") == true)
    }

    @Test("The owner signs in by one link, once, without a file")
    func owner() async throws {
        let world = try World()
        let owner = Accounts.Owner(name: "root")
        let accounts = world.accounts(owner: owner)
        guard case .session(let session) = try await accounts.open(owner.link) else {
            Issue.record("the link does not sign in")
            return
        }
        #expect(await accounts.person(ofSession: [session])?.role == .operator)
        await #expect(throws: Accounts.Refusal.wrongLink) { try await accounts.open(owner.link) }
        await #expect(throws: Accounts.Refusal.wrongLink) { try await accounts.open(Secret()) }
        // The next start has another link, and ends the session.
        #expect(await world.accounts(owner: Accounts.Owner(name: "root")).person(ofSession: [session]) == nil)
    }

    @Test("Nothing that signs in is in a file")
    func files() async throws {
        let world = try World()
        let (link, _) = try world.invite("ana")
        let session = try await world.accounts().setPassword(Self.password, by: link)
        let directory = try openDirectory(world.scratch.bytePath)
        for name in ["web.users", "accounts"] as [BytePath] {
            let text = String(decoding: try directory.openBeneath(name, .read).read(1 << 16), as: UTF8.self)
            for secret in [Self.password, link.text, session.text] { #expect(!text.contains(secret), "\(name)") }
        }
        #expect(try FileStatus(of: "accounts", in: directory).mode & 0o077 == 0)
    }
}
