package import CommandContact
import CommandSupport
package import FileValues
import Glibc
import LinuxKernel
import Renditions
import Reporting
import Settings
import SystemPackage
import Systemd
package import WebAccounts
import WebPages
package import WebServing

/// The program `photoinbox-web`, and the server of `photoinbox web`; see docs/decisions/0060.
package struct WebProgram {
    /// Of the daemon that is shown.
    package let places: Places
    private let accounts: Accounts
    private var options = PageServer.Options()

    /// Served at a port of this machine to the person who started it in a terminal, and to nobody else.
    package init(_ places: Places, owner: Accounts.Owner, port: UInt16) {
        self.places = places
        accounts = Accounts(owner: owner)
        options.owner = owner.person.name
        options.cookie = "photoinbox-\(port)"
        options.hosts = ["127.0.0.1", "localhost"]
        options.log = Self.log
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

    /// The program's main function, for photoinbox-web.service: serves the sockets that the service manager has opened, and
    /// ends when nobody has been there for a minute.
    package static func main() -> Never {
        signal(SIGPIPE, SIG_IGN)
        let service = ServiceManager.takeFromEnvironment()
        do {
            var arguments = CommandLine.arguments.dropFirst()[...]
            var (configuration, proxy): (String?, String?)
            while let word = arguments.popFirst() {
                switch (word, arguments.popFirst()) {
                case ("--config", let value?): configuration = value
                case ("--proxy-user", let value?): proxy = value
                default: throw CommandFailure(.usage, "usage: photoinbox-web [--config FILE] [--proxy-user NAME]")
                }
            }
            let program = try WebProgram(configuration: configuration, proxy: proxy)
            var listeners: [WebListener] = []
            for handed in service.activatedDescriptors {
                if let socket = handed.take() { listeners.append(try WebListener(taking: socket)) }
            }
            if listeners.isEmpty {
                throw CommandFailure(
                    .usage, "no socket was handed over; photoinbox-web.socket does that",
                    action: "To try it in a terminal: photoinbox web")
            }
            var limits = WebLimits()
            limits.idle = .seconds(60)
            program.serve(listeners, limits)
        } catch {
            log((error as? CommandFailure)?.text ?? "\(error)")
            // A connection that waits starts it again at once, without a limit: not in a busy loop.
            sleep(1)
            exit((error as? CommandFailure)?.status.rawValue ?? EX_OSERR)
        }
    }

    private init(configuration: String?, proxy: String?) throws {
        // They are this unit's, and not the daemon's, whose places the configuration has.
        let own = getenv("STATE_DIRECTORY").map { String(cString: $0) }
        for name in ["STATE_DIRECTORY", "RUNTIME_DIRECTORY"] { unsetenv(name) }
        // The daemon that runs has read a configuration without mistakes.
        places = try Places(
            PlaceOptions(config: configuration.map { RawArgument(path: BytePath($0)) }), despiteMistakes: true,
            remarks: false)
        guard let own else {
            throw CommandFailure(.usage, "$STATE_DIRECTORY is not set; photoinbox-web.service does that")
        }
        let people = Self.people(of: places)
        accounts = Accounts(peopleFile: people, state: BytePath(own))
        options.log = Self.log
        if let proxy {
            guard let user = userNumber(proxy) else { throw CommandFailure(.usage, "there is no user \(proxy)") }
            options.proxy = user
        }
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
            Self.log("inbox \(inbox.name) is beside the configuration or the state, and so can be read from here")
        }
        do throws(SystemCallError) { try Confinement.keep(reading: system + shown, writing: [state]) } catch {
            Self.log("could not restrict its access to what it shows, continuing: \(error)")
        }
    }

    // MARK: - Serving

    /// Serves until nobody has been there for the limit, or the process is ended.
    package func serve(_ listeners: [WebListener], _ limits: WebLimits = WebLimits()) -> Never {
        let store = ThumbnailStore(state: places.state)
        let sizes = (places.settings?.pictures ?? .standard).sizes
        let pages = PageServer(places, accounts: accounts, options: options) { hash throws(SystemCallError) in
            guard let size = sizes.last else { throw SystemCallError("open", .noSuchFileOrDirectory) }
            return try store.open(hash, "\(size)")
        }
        let server = WebServer(limits) { await pages.answer(to: $0) }
        Task { [accounts] in
            if let mistake = await accounts.mistake { Self.log(mistake) }
            do {
                try await server.run(listeners)
                exit(EX_OK)
            } catch {
                Self.log("\(error)")
                exit(EX_OSERR)
            }
        }
        while true { pause() }
    }

    /// Writes a line to standard error, which is the journal under a service manager.
    @Sendable private static func log(_ line: String) {
        var text = "photoinbox-web: \(line)\n"
        _ = text.withUTF8 { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
