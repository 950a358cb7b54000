import ControlProtocol
import DaemonSupport
import Fetching
import FileValues
import LinuxKernel
import Settings
import SystemMonitor

/// One batch of addresses to fetch: a connection to photoinboxd-fetch.socket, since this process has no
/// network; where nothing listens there and no service manager confines us, to a child. All of it on one queue.
struct LinkRun: Sendable {
    /// What a run needs.
    struct Order: Sendable {
        var request: FetchRequest
        /// Sent to a child; a service knows it by itself.
        var place: FetchPlace
        var socket: BytePath
        var mayHaveChild: Bool
        /// For how long the outcome is waited for.
        var deadline: Duration
        var program = LinkRun.standardProgram
    }

    /// How a run ended; reported once.
    enum Ending: Hashable, Sendable {
        /// Every address has ended.
        case over(FetchOutcome)
        /// Nothing was begun; why.
        case refused(String)
        /// Unknown for the addresses that had not ended.
        case lost(String)
    }

    private let session: WorkerSession<Ending>

    /// Connects and sends the request; waits for nothing but the start of a child. `ended` is called with addresses, by their numbers
    /// in the request, that have ended; `done` when nothing of the run is left. Both on the queue. Throws why it could not
    /// begin; then neither is called.
    init(
        _ order: Order, queue: MonitorQueue, ended: @escaping @Sendable ([(Int, FetchEnd)]) -> Void,
        done: @escaping @Sendable (Ending) -> Void
    ) throws {
        var request = order.request
        let options = WorkerOptions(
            label: "links of \(request.inbox)", socket: order.socket,
            advice: "photoinboxd-fetch.socket is not started, or does not answer",
            program: order.mayHaveChild ? order.program : nil, longestRequest: FetchRequest.longest,
            longestAnswer: FetchReport.longest, deadline: order.deadline)
        session = try WorkerSession(options, queue: queue, lost: { .lost($0.text(of: "photoinbox-fetch")) }, done: done)
        if session.isWithChild { request.place = order.place }
        session.begin(request.frame) { frames throws(WorkerFailure) in try Self.read(frames, ended) }
    }

    /// Downloads under way are cancelled, and the outcome comes all the same; `hurrying`, it is not
    /// waited for. On the queue.
    func stop(hurrying: Bool) {
        if hurrying || !session.send(FetchWord(cancel: nil).frame) { session.end(.lost("was ended")) }
    }

    private static func read(
        _ frames: [[UInt8]], _ ended: ([(Int, FetchEnd)]) -> Void
    ) throws(WorkerFailure) -> Ending? {
        var ends: [(Int, FetchEnd)] = []
        // Each call is written down, and synced.
        defer { if !ends.isEmpty { ended(ends) } }
        for frame in frames {
            switch FetchReport(json: frame) {
            case .ended(let number, let end): ends.append((number, end))
            case .outcome(let outcome): return .over(outcome)
            case .refused(let reason): return .refused(reason)
            case .progress: break
            case nil: throw .otherVersion
            }
        }
        return nil
    }

    /// `photoinbox-fetch` beside the running program, or where `make install` puts it.
    static var standardProgram: BytePath { programBeside("photoinbox-fetch") }
}
