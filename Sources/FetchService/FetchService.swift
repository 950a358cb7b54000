import ControlProtocol
package import Fetching
import FileValues
import Glibc
import HTTPValues
package import LinuxKernel
import QueueActors
import Settings
import SystemMonitor
import SystemPackage

/// Serves one connection, which is one batch: reads the request, downloads, reports, and exits. When the client disconnects
/// or the process gets SIGTERM, the batch is cancelled and leaves nothing incomplete. All of it on one queue.
package final class FetchService: Sendable {
    /// Returns where the photos of a request go, and the limits; throws a ``FetchProblem`` if it is refused.
    package typealias Resolver = @Sendable (FetchRequest) throws -> FetchPlace

    private struct State {
        var frames = FrameReader(limit: FetchRequest.longest)
        var run: FetchRun?
        /// The index in the request of each valid address.
        var places: [Int] = []
        var reported: FetchProgress?
    }

    /// Its timer has the interval of progress reports between the request and the answer.
    private let connection: RequestConnection
    private let resolve: Resolver
    private let date: String
    private let state: QueueBound<State>
    private let log: @Sendable (String) -> Void

    /// Serves the other end of `socket`; `date` names the directory of the photos, `log` is called with lines for the
    /// log, and `exit` is called at the end. SIGTERM must be blocked. From any thread.
    package init(
        owning socket: consuming OwnedDescriptor, date: String, log: @escaping @Sendable (String) -> Void,
        exit: @escaping @Sendable (Int32) -> Void, resolve: @escaping Resolver
    ) throws {
        (self.date, self.log, self.resolve) = (date, log, resolve)
        connection = try RequestConnection(owning: socket, limit: FetchReport.longest, label: "photo-inbox.fetch") {
            exit(EX_OK)
        }
        state = QueueBound(State(), queue: connection.queue)
    }

    /// Starts serving; from any thread.
    package func start() {
        connection.start(
            received: { self.read($0) }, fired: { self.tick() }, abandoned: { self.cancelAndEnd() })
    }

    private func read(_ bytes: [UInt8]) {
        state.onQueue { $0.frames.add(bytes) }
        while true {
            do {
                guard let frame = try state.onQueue({ state throws(FrameRefusal) in try state.frames.next() }) else {
                    return
                }
                try handle(frame)
            } catch {
                log("\(error); the request is refused")
                return refuse("\(error)")
            }
        }
    }

    private func handle(_ frame: [UInt8]) throws {
        guard let run = state.onQueue({ $0.run }) else {
            guard let request = FetchRequest(json: frame) else {
                throw FetchProblem("this is not a request of version \(FetchRequest.currentVersion)")
            }
            return try begin(request)
        }
        guard frame.count <= FetchWord.longest, let word = FetchWord(json: frame) else {
            throw FetchProblem("this is not a cancellation")
        }
        guard let wanted = word.cancel else { return run.cancel(nil) }
        // By its index in the request, which may have had invalid addresses.
        if let member = state.onQueue({ $0.places.firstIndex(of: wanted) }) { run.cancel(member) }
    }

    private func begin(_ request: FetchRequest) throws {
        guard !request.addresses.isEmpty, request.addresses.count <= FetchLimits.mostAddresses else {
            throw FetchProblem("a request has 1 to \(FetchLimits.mostAddresses) addresses")
        }
        let place = try resolve(request)
        var limits = place.limits
        if let fewer = request.atOnce { limits.atOnce = min(limits.atOnce, max(1, fewer)) }
        var addresses: [WebAddress] = []
        var places: [Int] = []
        var refused: [(Int, AddressRefusal)] = []
        for (index, text) in request.addresses.enumerated() {
            do throws(AddressRefusal) {
                addresses.append(try WebAddress(text))
                places.append(index)
            } catch { refused.append((index, error)) }
        }
        let store = try FetchStore(BytePath(place.path), minFree: place.minFree, date: date)
        let failed = refused.count
        let map = places
        let run = try FetchRun(addresses, limits, store: store, queue: connection.queue) { report in
            self.report(report, map, failed: failed)
        }
        state.onQueue { state in
            state.places = map
            state.run = run
        }
        for (index, refusal) in refused { send(.ended(index, FetchEnd(.failed, "\(refusal)"))) }
        connection.timer.reschedule(.every(.milliseconds(200)))
        log("fetching \(addresses.count) addresses into the inbox \(request.inbox)")
        run.start()
    }

    /// Sends a report of the run, with the indices of the request.
    private func report(_ report: FetchReport, _ places: [Int], failed: Int) {
        switch report {
        case .ended(let member, let end): send(.ended(places[member], end))
        case .outcome(var outcome):
            outcome.failed += failed
            log("\(outcome.arrived) arrived, \(outcome.failed) failed, \(outcome.cancelled) cancelled")
            answer(.outcome(outcome))
        case .refused, .progress: break
        }
    }

    /// Sends the progress, if it has changed and the client reads; before the request and after the answer, the time
    /// limit is over.
    private func tick() {
        guard let run = state.onQueue({ $0.run }) else { return connection.leave() }
        let progress = run.progress
        let isNews = state.onQueue { state in
            guard !connection.isSlow, state.reported != progress else { return false }
            state.reported = progress
            return true
        }
        if isNews { send(.progress(progress)) }
    }

    private func send(_ report: FetchReport) {
        if connection.send(report.frame) == .refused { cancelAndEnd() }
    }

    private func refuse(_ reason: String) {
        if let run = state.onQueue({ $0.run }) { return run.cancel(nil) }
        answer(.refused(reason))
    }

    private func answer(_ report: FetchReport) {
        state.onQueue { $0.run = nil }
        connection.answer(report.frame)
    }

    /// The client has disconnected, or the process is to exit.
    private func cancelAndEnd() {
        guard let run = state.onQueue({ $0.run }) else { return connection.leave() }
        // Asynchronously: a report of the run may be the caller.
        if connection.abandon() { connection.queue.async { run.cancel(nil) } }
    }
}

/// Why downloading is not possible; a clause for people.
package struct FetchProblem: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}
