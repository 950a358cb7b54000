import CommandSupport
import Glibc
import LinuxKernel
import Reporting
import Systemd
import WebServing

/// What programs that a socket of the service manager starts have in common. They end when nobody has been there for a minute.
struct SocketProgram: Sendable {
    let name: String
    /// Each has a value.
    let options: [(name: String, value: String)]

    static let idle = Duration.seconds(60)

    /// What is served, and what is done when the server has ended by itself.
    struct Service: Sendable {
        let server: WebServer
        var end: @Sendable () async -> Void = {}
    }

    /// Ends a server soon, so that the next one starts anew: whoever waits is answered first.
    struct Ending: Sendable {
        /// The server, once there is one.
        let running = Locked<WebServer?>(nil)
        private let isEnding = Locked(false)

        /// Whether this is the first call.
        @discardableResult
        func begin() -> Bool {
            let isFirst = isEnding.withLock { isEnding in
                defer { isEnding = true }
                return !isEnding
            }
            guard isFirst else { return false }
            Task {
                try? await Task.sleep(for: .seconds(2))
                running.withLock { $0 }?.stop()
            }
            return true
        }
    }

    /// The program's main function: serves the sockets that the service manager has opened, by what `prepare` makes of the
    /// options before any thread exists.
    func main(_ prepare: ([String: String]) throws -> Service) -> Never {
        signal(SIGPIPE, SIG_IGN)
        // Its priorities for threads, which a service may not have.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        // A heap for each thread would hold what twenty people have once asked for. Pieces of uploads are not mapped singly.
        HeapMemory.keepSmall(mapping: 1 << 20)
        let service = ServiceManager.takeFromEnvironment()
        // They are this unit's, and not the daemon's, whose places the configuration has.
        let own = getenv("STATE_DIRECTORY").map { String(cString: $0) }
        for name in ["STATE_DIRECTORY", "RUNTIME_DIRECTORY"] { unsetenv(name) }
        do {
            var given = try parse(CommandLine.arguments.dropFirst())
            given["STATE_DIRECTORY"] = own
            var listeners: [WebListener] = []
            for handed in service.activatedDescriptors {
                if let socket = handed.take() { listeners.append(try WebListener(taking: socket)) }
            }
            if listeners.isEmpty {
                throw CommandFailure(
                    .usage, "no socket was handed over; \(name).socket does that",
                    action: "To try it in a terminal: photoinbox web")
            }
            serve(try prepare(given), listeners)
        } catch {
            log((error as? CommandFailure)?.text ?? "\(error)")
            // A connection that waits starts it again at once, without a limit: not in a busy loop.
            sleep(1)
            exit((error as? CommandFailure)?.status.rawValue ?? EX_OSERR)
        }
    }

    private func parse(_ words: ArraySlice<String>) throws(CommandFailure) -> [String: String] {
        var (words, given) = (words, [String: String]())
        while let word = words.popFirst() {
            guard options.contains(where: { $0.name == word }), let value = words.popFirst() else {
                let usage = options.map { " [\($0.name) \($0.value)]" }.joined()
                throw CommandFailure(.usage, "usage: \(name)\(usage)")
            }
            given[word] = value
        }
        return given
    }

    /// Serves until the server ends by itself, or the process is ended.
    func serve(_ service: Service, _ listeners: [WebListener]) -> Never {
        Task {
            do {
                try await service.server.run(listeners)
                await service.end()
                exit(EX_OK)
            } catch {
                log("\(error)")
                exit(EX_OSERR)
            }
        }
        while true { pause() }
    }

    /// Writes a line to standard error.
    func log(_ line: String) { writeToStandardError("\(name): \(line)") }
}
