import ControlProtocol
package import DaemonSupport
import FileValues
import Glibc
package import LinuxKernel
import Logging
import QueueActors
import Settings
import SystemMonitor

/// The other side of ``HookConnection``: one run of one hook, in a process that the service manager started for it.
///
/// The daemon sends the name of the hook and its input. This process reads in the configuration itself what to run, and
/// checks its owner once more: whoever controls the daemon can run nothing that root has not configured. It ends the hook
/// when the daemon goes away, or on SIGTERM.
package final class HookService: Sendable {
    private struct State {
        var frames = FrameReader(limit: HookRequest.longestInput)
        var hook: String?
        var run: HookChild?
    }

    private let connection: RequestConnection
    private let options: DaemonOptions
    private let log: HookLog
    private let state: QueueBound<State>

    /// Serves a connection of the daemon, which runs as the user `client`; `exit` is called at the end. SIGTERM must be
    /// blocked. Throws why it is not served.
    package init(
        owning socket: consuming OwnedDescriptor, client: UInt32, options: DaemonOptions, log: DaemonLog,
        exit: @escaping @Sendable (Int32) -> Void
    ) throws {
        let peer = try PeerCredentials(of: socket)
        guard peer.user == 0 || peer.user == client else {
            throw SetupError("asked by \(peer), who is not the daemon's user")
        }
        self.options = options
        self.log = HookLog(logger: log.logger)
        connection = try RequestConnection(owning: socket, label: "photo-inbox.hook") { exit(EX_OK) }
        state = QueueBound(State(), queue: connection.queue)
    }

    /// Begins; from any thread.
    package func start() {
        connection.start(
            received: { self.receive($0) }, fired: { self.connection.leave() }, abandoned: { self.giveUp() })
    }

    private func receive(_ bytes: [UInt8]) {
        do {
            if let input = try read(bytes) { run(input) }
        } catch {
            log.logger.warning("hooks: \(error); it is not served")
            connection.leave()
        }
    }

    /// The input, once the hook's name and all of it are there.
    private func read(_ bytes: [UInt8]) throws -> [UInt8]? {
        try state.onQueue { state in
            guard state.run == nil, !connection.isAnswered else { throw SetupError("more than one request came") }
            state.frames.add(bytes)
            if state.hook == nil {
                guard let frame = try state.frames.next() else { return nil }
                guard frame.count <= HookRequest.longestHeader, let request = HookRequest(json: frame) else {
                    throw SetupError("what came is no request of version \(HookRequest.currentVersion)")
                }
                state.hook = request.hook
            }
            return try state.frames.next()
        }
    }

    private func run(_ input: [UInt8]) {
        let name = state.onQueue { $0.hook } ?? ""
        // The hook has its own deadline.
        connection.timer.reschedule(.never)
        do {
            let (hook, owners) = try options.hook(named: name)
            let order = HookChild.Order(hook: hook, input: input, owners: owners, log: log)
            let run = try HookChild.start(order, queue: connection.queue) { self.answer($0) }
            state.onQueue { $0.run = run }
        } catch {
            answer(.refused("could not be started: \(error)"))
        }
    }

    private func answer(_ ending: HookResult) {
        state.onQueue { $0.run = nil }
        connection.answer(HookAnswer(ending: ending).frame)
    }

    /// The daemon waits for no answer any more, or this process is to end.
    private func giveUp() {
        guard let run = state.onQueue({ $0.run }) else { return connection.leave() }
        connection.abandon()
        run.stop(hurrying: false)
    }
}

extension DaemonOptions {
    /// The hook of this name as the configuration has it now, and whose programs are run. Throws where there is none, or
    /// the configuration is wrong or could have been changed by somebody else.
    func hook(named name: String) throws -> (hook: HookSettings, owners: Set<UInt32>) {
        let owners = programOwners()
        if let file = effectiveFile {
            let place = file.isAbsolute ? file : context.workingDirectory.appending(file)
            try checkTrusted(place, owners: owners, isProgram: false)
        }
        let settings: Settings
        do throws(SettingsError) { settings = try read().build() } catch {
            throw SetupError("the configuration is wrong: \(error.issues.first.map { "\($0)" } ?? "")")
        }
        guard let hook = settings.hook(named: name) else {
            throw SetupError("the configuration has no hook of this name")
        }
        return (hook, owners)
    }
}
