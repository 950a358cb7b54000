package import CommandContact
package import CommandSupport
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
    /// Who may use the pages.
    package let people: BytePath
    /// Passwords and sessions.
    package let state: BytePath
    /// The person who started it in a terminal.
    package let owner: Accounts.Owner?
    private var proxy: UInt32?

    /// Served by a person in a terminal.
    package init(_ places: Places, owner: Accounts.Owner) throws(CommandFailure) {
        self.places = places
        self.owner = owner
        people = Self.people(of: places)
        let own = places.state.appending("web")
        let isOwn = places.state.withCString { access($0, W_OK) } == 0
        // Of a daemon of another user only what everybody may read is used.
        state = isOwn ? own : SettingsContext.ofProcess().home?.state.appending("photoinbox-web") ?? own
        do throws(SystemCallError) { try makeDirectory(state, mode: 0o700) } catch { throw CommandFailure(error) }
    }

    /// The file of people that belongs to a configuration, or to a state directory without one.
    package static func people(of places: Places) -> BytePath {
        guard places.settings != nil else { return places.state.appending(peopleFile) }
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
            program.confine()
            var limits = WebLimits()
            limits.idle = .seconds(60)
            program.serve(listeners, limits)
        } catch {
            log((error as? CommandFailure)?.text ?? "\(error)")
            exit((error as? CommandFailure)?.status.rawValue ?? EX_OSERR)
        }
    }

    private init(configuration: String?, proxy: String?) throws {
        // They are this unit's, and not the daemon's, whose places the configuration has.
        let own = getenv("STATE_DIRECTORY").map { String(cString: $0) }
        for name in ["STATE_DIRECTORY", "RUNTIME_DIRECTORY"] { unsetenv(name) }
        places = try Places(
            PlaceOptions(config: configuration.map { RawArgument(path: BytePath($0)) }), remarks: false)
        people = Self.people(of: places)
        guard let own else {
            throw CommandFailure(.usage, "$STATE_DIRECTORY is not set; photoinbox-web.service does that")
        }
        state = BytePath(own)
        owner = nil
        if let proxy {
            guard let user = userNumber(proxy) else { throw CommandFailure(.usage, "there is no user \(proxy)") }
            self.proxy = user
        }
    }

    /// Gives up all files but those that are shown, the configuration's directory with web.users, and its own state. What the
    /// unit's mounts forbid is forbidden once more, and inboxes, which only the configuration knows.
    private func confine() {
        let system: [BytePath] = ["/etc", "/usr", "/lib", "/lib64", "/proc", "/sys", "/dev", "/run"]
        let shown =
            [people.parent, places.state, places.catalogue.parent]
            + (places.settings?.library.map { [$0.quarantine] } ?? [])
        do throws(SystemCallError) { try Confinement.keep(reading: system + shown, writing: [state]) } catch {
            Self.log("could not restrict its access to what it shows, continuing: \(error)")
        }
    }

    // MARK: - Serving

    /// Serves until nobody has been there for the limit, or the process is ended.
    package func serve(_ listeners: [WebListener], _ limits: WebLimits = WebLimits()) -> Never {
        let store = ThumbnailStore(state: places.state)
        let sizes = (places.settings?.pictures ?? .standard).sizes
        let accounts = Accounts(peopleFile: people, state: state, owner: owner)
        var options = PageServer.Options()
        options.proxy = proxy
        options.owner = owner?.person.name
        options.log = Self.log
        let pages = PageServer(places, accounts: accounts, options: options) { hash throws(SystemCallError) in
            guard let size = sizes.last else { throw SystemCallError("open", .noSuchFileOrDirectory) }
            return try store.open(hash, "\(size)")
        }
        let server = WebServer(limits) { await pages.answer(to: $0) }
        Task {
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
