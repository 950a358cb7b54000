import ControlProtocol
import Fetching
import FileValues
import Glibc
import LinuxKernel
import Settings
import SystemMonitor
import SystemPackage
import Systemd

/// The program `photoinbox-fetch`; see docs/decisions/0025.
package enum FetchProgram {
    /// How the program was started.
    private enum Mode: Hashable {
        /// As a child, with a connection as its standard input: it trusts the request, since its parent has
        /// the same rights.
        case child
        /// By the service manager, for members of the operators' group and the user `client`: it uses only the
        /// inbox's name and the addresses of a request; everything else is in the configuration.
        case service(client: String, configuration: BytePath?)
    }

    /// The program's main function: `photoinbox fetch` starts it with a connection as its standard input, or
    /// photoinboxd-fetch@.service does.
    package static func main() -> Never {
        // libcurl's libraries write to sockets that may be gone.
        signal(SIGPIPE, SIG_IGN)
        setenv("LIBDISPATCH_LOG", "NO", 0)
        // Before any thread exists, so that it is waited for and never lost.
        ProcessSignals.block([.term])
        let service = ServiceManager.takeFromEnvironment()
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            switch (arguments.first, arguments.count) {
            case ("--child", 1):
                let connection = try descriptorCall("fcntl") { fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) }
                // Nobody else is to hold the connection open.
                _ = dup2(STDERR_FILENO, STDIN_FILENO)
                try run(.child, connection)
            case ("--for", 2), ("--for", 3):
                guard let connection = service.activatedDescriptors.first?.take() else {
                    writeToStandardError(
                        "photoinbox-fetch: no connection was handed over; photoinboxd-fetch.socket does that")
                    exit(EX_USAGE)
                }
                let configuration = arguments.count > 2 ? BytePath(arguments[2]) : nil
                try run(.service(client: arguments[1], configuration: configuration), connection)
            default:
                writeToStandardError(
                    "usage: photoinbox-fetch --child | --for USER [CONFIGURATION]   (see photoinbox fetch --help)")
                exit(EX_USAGE)
            }
        } catch {
            writeToStandardError("photoinbox-fetch: \(error)")
            exit(EX_NOPERM)
        }
    }

    /// Serves `connection`, then exits.
    private static func run(_ mode: Mode, _ connection: consuming OwnedDescriptor) throws -> Never {
        let resolve: FetchService.Resolver
        switch mode {
        case .child:
            resolve = { request in
                guard let place = request.place else { throw FetchProblem("the request has no place") }
                return place
            }
        case .service(let client, let named):
            var named = named
            if named == nil, let socket = try? localPath(of: connection) {
                named = StandardPlaces.configuration(ofSocket: socket)
            }
            let settings = try read(named ?? StandardPlaces.systemFile)
            try check(PeerCredentials(of: connection), client, settings)
            confine(to: settings)
            resolve = { try place(of: $0, settings) }
        }
        let service = try FetchService(
            owning: connection, date: LocalClock.today(),
            // The parent of a child process reports to people itself.
            log: { if mode != .child { writeToStandardError("photoinbox-fetch: \($0)") } }, exit: { Glibc.exit($0) },
            resolve: resolve)
        service.start()
        withExtendedLifetime(service) { ProcessSignals.parkMainThread() }
    }

    private static func check(_ peer: PeerCredentials, _ client: String, _ settings: Settings) throws {
        let user = userNumber(client)
        let group = settings.operators.map { groupNumber($0) } ?? chosenGroup()
        guard peer.user == 0 || peer.user == user || group.map({ peer.isIn(group: $0) }) == true else {
            throw FetchProblem("requested by \(peer), who is not an operator")
        }
    }

    /// Restricts the file system to the inboxes and what name resolution and certificates need, so that
    /// a vulnerability in libcurl cannot reach the library.
    private static func confine(to settings: Settings) {
        let needed: [BytePath] = [
            "/etc", "/usr", "/lib", "/lib64", "/dev", "/proc", "/sys", "/run/systemd/resolve", "/run/NetworkManager",
            "/run/resolvconf", "/var/lib/ca-certificates", "/nix/store", "/gnu/store",
        ]
        do throws(SystemCallError) {
            try Confinement.keep(reading: needed, writing: settings.inboxes.map(\.path))
        } catch {
            writeToStandardError("photoinbox-fetch: could not restrict its access to the inboxes, continuing: \(error)")
        }
    }

    private static func place(of request: FetchRequest, _ settings: Settings) throws -> FetchPlace {
        guard request.place == nil else { throw FetchProblem("only the configuration may set the place") }
        guard let inbox = settings.inboxes.first(where: { $0.name == request.inbox }) else {
            throw FetchProblem("the configuration has no inbox \(escapeForDisplay(Array(request.inbox.utf8)))")
        }
        return FetchPlace(
            path: inbox.path.bytes, limits: settings.fetch, minFree: settings.library?.minFree ?? 0)
    }

    private static func read(_ path: BytePath) throws -> Settings {
        var builder = SettingsBuilder(context: .ofProcess())
        builder.addFile(try contents(of: path, most: 1 << 20), path: path)
        do throws(SettingsError) { return try builder.build() } catch {
            throw FetchProblem("the configuration is wrong: \(error.issues.first.map { "\($0)" } ?? "")")
        }
    }
}
