import ControlProtocol
import FileValues
import LinuxKernel
import Testing

@testable import DaemonHost

@Suite("Who may request what")
struct ControlRightsTests {
    private static let rights = ControlRights(
        own: 10, downloads: 20, pages: 30, drop: 40, operators: 7, dropInbox: "web")
    private static let known = ControlCommand.known([])
    private static let outcomes = ControlCommand.outcomes(inbox: "web", of: [])
    private static let others: [ControlCommand] = [
        .reload, .pause(inbox: "web"), .resume(inbox: "web"), .rescan(.everything), .retry(.inbox("web")),
        .verify(photos: [], isComplete: true), .release(operation: 1, asIs: false), .discard(operation: 1),
        .undo(operation: 1),
    ]
    private static let looks: [ControlCommand] = [.hello, .state, .metrics]

    private func allowed(_ command: ControlCommand, _ user: UInt32, group: UInt32 = 7, person: String? = nil) -> Bool {
        Self.rights.allow(
            ControlRequest(command, person: person), by: PeerCredentials(process: 1, user: user, group: group))
    }

    @Test(
        "Who receives uploads learns of its own inbox, and requests nothing else, though it is in the operators' group")
    func drop() {
        #expect(allowed(Self.known, 40) && allowed(Self.outcomes, 40))
        #expect(!allowed(.outcomes(inbox: "card", of: []), 40))
        for command in Self.others + Self.looks { #expect(!allowed(command, 40), "\(command.verb)") }
        for command in Self.others + [Self.known, Self.outcomes] { #expect(!allowed(command, 40, person: "ana")) }
        var rights = Self.rights
        rights.dropInbox = nil
        let peer = PeerCredentials(process: 1, user: 40, group: 7)
        #expect(![Self.known, Self.outcomes].contains { rights.allow(ControlRequest($0), by: peer) })
    }

    @Test("Only root and the daemon's own user have a photo removed since a bucket has it")
    func store() {
        let store = ControlCommand.store(photo: 1, path: "a.jpg", bucket: "https://nas.example.org/photos", sha256: [])
        for user in [0, 10] as [UInt32] { #expect(allowed(store, user) && !allowed(store, user, person: "ana")) }
        for user in [20, 30, 40, 50] as [UInt32] { #expect(!allowed(store, user)) }
    }

    @Test("Nobody else but root and the daemon's own user learns what the library has")
    func others() {
        for user in [0, 10] as [UInt32] {
            for command in Self.others + Self.looks + [Self.known, Self.outcomes] { #expect(allowed(command, user)) }
        }
        for user in [20, 30, 50] as [UInt32] {
            #expect(!allowed(Self.known, user) && !allowed(Self.outcomes, user))
            for command in Self.looks { #expect(allowed(command, user)) }
            for command in Self.others { #expect(allowed(command, user) == (user == 50), "\(user) \(command.verb)") }
        }
        #expect(!allowed(Self.known, 30, person: "ana") && allowed(.pause(inbox: "card"), 30, person: "ana"))
        #expect(!allowed(.pause(inbox: "card"), 50, group: 8))
    }
}
