package import CommandContact
import CommandSupport
package import FileValues
import Glibc
import LinuxKernel
import Renditions
import Reporting
import Settings
import SystemPackage
package import WebAccounts
import WebPages
package import WebServing

/// The program `photoinbox-web`, and the server of `photoinbox web`; see docs/decisions/0060.
package struct WebProgram {
    /// Of the daemon that is shown.
    package let places: Places
    private let accounts: Accounts
    private var options = PageServer.Options()

    private static let program = SocketProgram(
        name: "photoinbox-web", options: [("--config", "FILE"), ("--proxy-user", "NAME")])

    /// Served at a port of this machine to the person who started it in a terminal, and to nobody else. What is sent goes into
    /// `inbox`, or else into the configuration's or the only one.
    package init(_ places: Places, owner: Accounts.Owner, port: UInt16, inbox: String?) {
        self.places = places
        accounts = Accounts(owner: owner)
        options.owner = owner.person.name
        options.cookie = "photoinbox-\(port)"
        options.hosts = ["127.0.0.1", "localhost"]
        options.log = Self.program.log
        options.drop = OwnDrop(places, inbox: inbox, log: Self.program.log).way
    }

    /// The file of people that belongs to a configuration, or to a state directory without one.
    package static func people(of places: Places) -> BytePath {
        guard places.settings != nil || places.hasMistakes else { return places.state.appending(peopleFile) }
        let context = SettingsContext.ofProcess()
        let file = places.named ?? context.standardFile
        return (file.isAbsolute ? file : context.workingDirectory.appending(file)).parent.appending(peopleFile)
    }

    private static let peopleFile: BytePath = "web.users"

    // MARK: - The service

    /// The program's main function, for photoinbox-web.service.
    package static func main() -> Never {
        program.main { options in
            var limits = WebLimits()
            limits.idle = SocketProgram.idle
            return SocketProgram.Service(server: try WebProgram(options).server(limits))
        }
    }

    private init(_ given: [String: String]) throws {
        // The daemon that runs has read a configuration without mistakes.
        places = try Places(
            PlaceOptions(config: given["--config"].map { RawArgument(path: BytePath($0)) }), despiteMistakes: true,
            remarks: false)
        guard let own = given["STATE_DIRECTORY"] else {
            throw CommandFailure(.usage, "$STATE_DIRECTORY is not set; photoinbox-web.service does that")
        }
        let people = Self.people(of: places)
        accounts = Accounts(peopleFile: people, state: BytePath(own))
        options.log = Self.program.log
        if let proxy = given["--proxy-user"] {
            guard let user = userNumber(proxy) else { throw CommandFailure(.usage, "there is no user \(proxy)") }
            options.proxy = user
        }
        // With a mistake in the configuration nobody knows whether there is one; photoinbox-drop says what is wrong.
        if places.settings?.dropInbox != nil || places.hasMistakes { options.drop = DropProgram.relay }
        confine(to: people.parent, writing: BytePath(own))
    }

    /// Gives up all files but those that are shown, the configuration's directory with web.users, and its own state. What the
    /// unit's mounts forbid is forbidden once more, and inboxes, which only the configuration knows.
    private func confine(to people: BytePath, writing state: BytePath) {
        let system: [BytePath] = ["/etc", "/usr", "/lib", "/lib64", "/proc", "/sys", "/dev", "/run"]
        // The file may be a link.
        let file = people.appending(Self.peopleFile)
        let shown =
            [people, (try? realPath(file))?.parent ?? people, places.state, places.catalogue.parent]
            + (places.settings?.library.map { [$0.quarantine] } ?? [])
        for inbox in places.settings?.inboxes ?? [] where shown.contains(where: { inbox.path.isInside($0) }) {
            options.log("inbox \(inbox.name) is beside the configuration or the state, and so can be read from here")
        }
        do throws(SystemCallError) { try Confinement.keep(reading: system + shown, writing: [state]) } catch {
            options.log("could not restrict its access to what it shows, continuing: \(error)")
        }
    }

    // MARK: - Serving

    /// Serves until the process is ended.
    package func serve(_ listeners: [WebListener]) -> Never {
        Self.program.serve(SocketProgram.Service(server: server(WebLimits())), listeners)
    }

    private func server(_ limits: WebLimits) -> WebServer {
        let store = ThumbnailStore(state: places.state)
        let sizes = (places.settings?.pictures ?? .standard).sizes
        let pages = PageServer(places, accounts: accounts, options: options) { hash throws(SystemCallError) in
            guard let size = sizes.last else { throw SystemCallError("open", .noSuchFileOrDirectory) }
            return try store.open(hash, "\(size)")
        }
        Task { [accounts, options] in if let mistake = await accounts.mistake { options.log(mistake) } }
        return WebServer(limits, streaming: PageServer.isStreamed) { await pages.answer(to: $0, &$1) }
    }
}
