import CommandContact
import CommandSupport
import ControlProtocol
import DropPages
import DropStore
import FileValues
import Glibc
import HTTPValues
import LinuxKernel
import Reporting
import Settings
import SystemMonitor
import SystemPackage
import WebAccounts
import WebPages
import WebServing

/// The program `photoinbox-drop`: receives photos into one inbox, and can read none; see docs/decisions/0061.
package enum DropProgram {
    private static let program = SocketProgram(
        name: "photoinbox-drop", options: [("--config", "FILE"), ("--pages-user", "NAME")])
    private static let socket: BytePath = "/run/photoinbox-drop/http"

    /// The way to it from the pages.
    static let relay: PageServer.Drop = {
        let relay = WebRelay(to: socket)
        return { request, body in
            do throws(WebRelay.Failure) { return try await relay.answer(to: request, &body) } catch {
                throw CommandFailure(
                    .unavailable, error == .late ? "the answer takes too long" : "photos cannot be received now",
                    action: "The administrator sees why: systemctl status photoinbox-drop.service")
            }
        }
    }()

    /// The program's main function, for photoinbox-drop.service.
    package static func main() -> Never {
        program.main { options in
            var limits = WebLimits()
            limits.idle = SocketProgram.idle
            // Of those who send too little the pages decide first.
            limits.stall = .seconds(60)
            let ending = SocketProgram.Ending()
            do {
                let drop = try open(options) { reason in
                    if ending.begin() { program.log("\(reason); starting anew") }
                }
                let server = WebServer(limits, streaming: { _ in true }) { await drop.answer(to: $0, &$1) }
                ending.running.withLock { $0 = server }
                return SocketProgram.Service(server: server) { drop.close() }
            } catch {
                // Whoever waits is answered. Then it ends, however many come, and the next one starts it anew.
                let failure = (error as? CommandFailure) ?? CommandFailure(.failed, "\(error)")
                program.log(failure.text)
                let server = WebServer(limits, streaming: { _ in true }) { _, _ in
                    .text(.unavailable, "photos cannot be received now")
                }
                ending.running.withLock { $0 = server }
                ending.begin()
                return SocketProgram.Service(server: server)
            }
        }
    }

    private static func open(
        _ given: [String: String], restart: @escaping @Sendable (String) -> Void
    ) throws -> DropServer {
        @Sendable func configured() throws -> Places {
            try Places(PlaceOptions(config: given["--config"].map { RawArgument(path: BytePath($0)) }), remarks: false)
        }
        let places = try configured()
        guard let inbox = places.settings?.dropInbox else {
            throw CommandFailure(
                .configuration, "the configuration names no inbox for it", action: "Add: [web] inbox = \"NAME\"")
        }
        let pages = given["--pages-user"] ?? "_photoinbox-web"
        guard let user = userNumber(pages), user != 0 else {
            throw CommandFailure(.usage, "the pages have no user \(pages) of their own")
        }
        let accounts = WebProgram.people(of: places).parent
        let photos = (places.settings?.inboxes.map(\.path) ?? []) + (places.settings?.library.map { [$0.path] } ?? [])
        for place in photos where place.isInside(accounts) {
            program.log("\(place) is beside the configuration, and so can be read from here")
        }
        confine(to: inbox.path, accounts)
        return try open(
            inbox.name, inbox.path, places, pages: user, accounts: accounts,
            isOutdated: {
                // A mistake is nobody's wish.
                guard let places = try? configured() else { return false }
                return places.settings?.dropInbox?.path != inbox.path
            }, restart: restart, log: program.log
        ).server
    }

    /// What receives photos, and its upkeep, which is cancelled with it.
    struct Opened {
        let server: DropServer
        let care: Task<Void, Never>
    }

    /// What receives photos into an inbox, from `pages`, the user whose word on people counts. `isOutdated` is asked when the daemon
    /// refuses to speak of it.
    static func open(
        _ inbox: String, _ path: BytePath, _ places: Places, pages: UInt32, accounts: BytePath,
        isOutdated: @escaping @Sendable () -> Bool = { false }, restart: @escaping @Sendable (String) -> Void,
        log: @escaping @Sendable (String) -> Void
    ) throws -> Opened {
        var options = DropServer.Options()
        (options.pages, options.accounts, options.log, options.restart) = (pages, accounts, log, restart)
        var storing = DropStore.Options()
        storing.log = log
        let daemon = DaemonClient(runtime: places.runtime, purpose: "receipts")
        let trouble = Locked<String?>(nil)
        let server = DropServer(
            try DropStore(path, storing), inbox: inbox,
            ask: { request in
                var answer: ControlAnswer?
                var failure: CommandFailure?
                do throws(CommandFailure) {
                    answer = try await daemon.answer(to: request)
                    failure = answer.flatMap { CommandFailure($0) }
                } catch { failure = error }
                // Once, for it is asked again and again.
                let message = failure?.message
                if trouble.withLock({ trouble in
                    defer { trouble = message }
                    return message != nil && message != trouble
                }) {
                    log("receipts wait for the daemon: \(message ?? "")")
                    if isOutdated() { restart("the configuration names another inbox now") }
                }
                return answer
            }, options)
        return Opened(server: server, care: Task { await server.care() })
    }

    /// Gives up all files but those of the system, the configuration's directory with web.links and web.devices, and its own hidden directory in
    /// the inbox. Beside that it may move files to free names, and reads none, not even its own.
    private static func confine(to inbox: BytePath, _ accounts: BytePath) {
        let system: [BytePath] = ["/etc", "/usr", "/lib", "/lib64", "/proc", "/sys", "/dev"]
        // A rule is for a directory that exists.
        try? openDirectory(inbox).makeDirectory(DropStore.directory, mode: 0o700)
        do throws(SystemCallError) {
            try Confinement.keep(
                reading: system + [accounts], writing: [inbox.appending(DropStore.directory)], adding: [inbox])
        } catch { program.log("could not restrict its access to the inbox, continuing: \(error)") }
    }
}

/// What receives photos for `photoinbox web`, opened when it is first asked: the daemon may start after it.
actor OwnDrop {
    private let queue = MonitorQueue(label: "photo-inbox.web.drop")
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.executor.asUnownedSerialExecutor() }

    private let places: Places
    private let wanted: String?
    private let log: @Sendable (String) -> Void
    private var opened: DropProgram.Opened?
    /// How often it was opened.
    private var openings = 0

    init(_ places: Places, inbox: String?, log: @escaping @Sendable (String) -> Void) {
        (self.places, wanted, self.log) = (places, inbox, log)
    }

    /// The way to it from the pages.
    nonisolated var way: PageServer.Drop {
        { request, body in await (try await self.server()).answer(to: request, &body) }
    }

    private func server() throws(CommandFailure) -> DropServer {
        if let opened { return opened.server }
        let (name, path) = try inbox()
        openings += 1
        let number = openings
        do {
            let new = try DropProgram.open(
                name, path, places, pages: geteuid(),
                accounts: WebProgram.people(of: places).parent,
                restart: { [weak self] reason in Task { await self?.close(number, reason) } }, log: log)
            opened = new
            return new.server
        } catch let error as SystemCallError {
            throw CommandFailure(
                .unavailable, "photos cannot be received in \(path)",
                action: error.code == .wouldBlock ? "Another program does that: photoinbox-drop.service?" : "\(error)")
        } catch { throw CommandFailure(.unavailable, "photos cannot be received in \(path): \(error)") }
    }

    /// Nothing is received any more: the next request opens what is there then.
    private func close(_ number: Int, _ reason: String) {
        guard let opened, number == openings else { return }
        log("\(reason); starting anew")
        opened.care.cancel()
        opened.server.close()
        self.opened = nil
    }

    /// Throws if the inbox that was named is known not to be there. Without a configuration the daemon knows, which may start later.
    nonisolated func requireInbox() throws(CommandFailure) {
        do throws(CommandFailure) { _ = try inbox() } catch { if error.status == .noMatch { throw error } }
    }

    private nonisolated func inbox() throws(CommandFailure) -> (name: String, path: BytePath) {
        var all: [(name: String, path: BytePath)] = []
        if let settings = places.settings {
            if wanted == nil, let inbox = settings.dropInbox { return (inbox.name, inbox.path) }
            all = settings.inboxes.map { ($0.name, $0.path) }
        } else {
            // Started with directories, as by `make run`.
            let state = try ControlContact(runtime: places.runtime).daemonState(within: 5)
            all = state.inboxes.compactMap { inbox in BytePath(escaped: inbox.path).map { (inbox.name, $0) } }
        }
        let fitting = wanted.map { name in all.filter { $0.name == name } } ?? all
        if fitting.count == 1 { return fitting[0] }
        let names = all.isEmpty ? "there are none" : "inboxes: " + all.map(\.name).joined(separator: ", ")
        if let wanted {
            throw CommandFailure(
                .noMatch, "there is no inbox \(printable(wanted)); \(names)", action: "Correct --inbox.")
        }
        throw CommandFailure(
            .configuration, "it is not said which inbox photos go into; \(names)",
            action: "photoinbox web --inbox NAME, or in the configuration: [web] inbox = \"NAME\"")
    }
}
