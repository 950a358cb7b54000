import Catalogue
import ControlProtocol
package import DaemonSupport
import Dispatch
import FileValues
import Filing
import Glibc
import Ingest
import LibraryCare
import LinuxKernel
import PhotoModel
import QueueActors
import Reporting
import Settings
import SystemMonitor

/// Carries out what needs no running daemon, by the daemon's code: under the state's lock, so that none can start
/// meanwhile, and as the daemon's own user, so that no file gets another owner.
package enum OfflineRequests {
    /// Why it is not done.
    private struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    /// Answers the one request that comes on standard input, a socket. Throws where none comes, or nobody reads the
    /// answer. Call it before there are other threads: a signal must be blocked in all of them.
    package static func serve(_ options: DaemonOptions) throws {
        let request = try ControlRequest(json: try receive())
        var answer: ControlAnswer
        do { answer = try carryOut(request, try options.read().build()) } catch {
            answer = ControlAnswer(status: ExitStatus.failed.rawValue, "\(error)")
        }
        answer.id = request.id
        var rest = framed(answer.json())[...]
        while !rest.isEmpty {
            let count = try systemCall("send") {
                rest.withUnsafeBytes { send(STDIN_FILENO, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            }
            rest = rest.dropFirst(count)
        }
    }

    private static func receive() throws -> [UInt8] {
        var frames = FrameReader(limit: ControlRequest.limit)
        var buffer = [UInt8](repeating: 0, count: ControlRequest.limit)
        while true {
            if let frame = try frames.next() { return frame }
            let count = try systemCall("recv") { recv(STDIN_FILENO, &buffer, buffer.count, 0) }
            guard count > 0 else { throw Refusal(description: "no request came on standard input") }
            frames.add(Array(buffer[..<count]))
        }
    }

    /// Waits until it is done.
    private static func carryOut(_ request: ControlRequest, _ settings: Settings) throws -> ControlAnswer {
        guard try FileStatus(at: settings.state, followingLinks: true).user == geteuid() else {
            throw Refusal(description: "only the daemon's own user can do this while it does not run")
        }
        // A lease that is broken while it is asked for would end the process.
        ProcessSignals.block([.io])
        let lock: StateLock
        do { lock = try StateLock(settings.state) } catch is StateLock.Taken {
            return ControlAnswer(
                status: ExitStatus.busy.rawValue, "photoinboxd is starting or stopping", action: "Try again.")
        }
        let result = Locked<Result<ControlAnswer, any Error>?>(nil)
        let done = DispatchSemaphore(value: 0)
        TaskQueue.start {
            do {
                let answer = try await answer(request, settings, lock)
                result.withLock { $0 = .success(answer) }
            } catch { result.withLock { $0 = .failure(error) } }
            done.signal()
        }
        done.wait()
        return try withExtendedLifetime(lock) {
            guard let result = result.withLock({ $0 }) else { preconditionFailure("a task ended without a result") }
            return try result.get()
        }
    }

    private static func answer(
        _ request: ControlRequest, _ settings: Settings, _ lock: StateLock
    ) async throws -> ControlAnswer {
        let file = try lock.openCatalogue(at: settings.catalogue)
        if let path = settings.catalogue.file { try allowGroupToRead(path) }
        let catalogue = Catalogue(
            file,
            subsystem: Subsystem(
                name: "catalogue", queue: MonitorQueue(label: "photo-inbox.catalogue"), isVital: false))
        let requester = Requester(lookingUp: geteuid())
        defer { file.close() }
        switch request.command {
        case .pause(let inbox):
            return try await setPaused(true, inbox, request.isDryRun, settings, catalogue, requester)
        case .resume(let inbox):
            return try await setPaused(false, inbox, request.isDryRun, settings, catalogue, requester)
        case .release(let id, let asIs):
            return try await move(id, .release(asIs: asIs), request, settings, catalogue, requester)
        case .discard(let id):
            return try await move(id, .discard, request, settings, catalogue, requester)
        case .undo(let id, let alone):
            return try await move(id, .undo(alone: alone), request, settings, catalogue, requester)
        case .verify(let photos, let isComplete):
            return try verify(photos, isComplete, request.isDryRun, settings, file)
        case .hello, .state, .metrics, .reload, .rescan, .retry, .store, .known, .outcomes:
            throw Refusal(description: "Only the running daemon can do this")
        }
    }

    private static func verify(
        _ photos: [Int64], _ isComplete: Bool, _ isDryRun: Bool, _ settings: Settings, _ catalogue: CatalogueFile
    ) throws -> ControlAnswer {
        guard let library = settings.library?.path else { throw Refusal(description: "No library is configured") }
        let reading = try LibraryReading(library, LibraryGuard(catalogue))
        let words = HumanText.count(photos.count, "photo", "photos")
        if isDryRun { return ControlAnswer("would be read again: \(words)") }
        var found: [Int64: String?] = [:]
        for id in photos {
            guard let stored = try catalogue.photo(id: id), reading.concerns(stored) else { continue }
            found.updateValue(try reading.damage(of: stored)?.description, forKey: id)
        }
        try catalogue.record(damage: found, at: Moment.now.wall)
        if isComplete { try catalogue.noteVerified(library, at: Moment.now.wall) }
        return ControlAnswer("read \(words) again")
    }

    private static func setPaused(
        _ pauses: Bool, _ inbox: String, _ isDryRun: Bool, _ settings: Settings, _ catalogue: Catalogue,
        _ requester: Requester
    ) async throws -> ControlAnswer {
        guard settings.inboxes.contains(where: { $0.name == inbox }) else {
            if let host = try catalogue.file.otherHost(ofInbox: inbox) {
                return ControlAnswer(RequestRefusal.ofAnotherHost(inbox, host))
            }
            return ControlAnswer(
                RequestRefusal(
                    .noMatch, "there is no inbox \(escapeForDisplay(inbox.utf8))",
                    action: "Inboxes: \(settings.inboxes.map(\.name).joined(separator: ", "))."))
        }
        let store = try PauseStore(in: settings.state, queue: MonitorQueue(label: "photo-inbox.settled"))
        let what = pauses ? "paused" : "resumed"
        if (store.pause(of: inbox) != nil) == pauses {
            return ControlAnswer("\(inbox) is \(pauses ? "paused already" : "not paused")")
        }
        var item = ControlAnswer.Item(what, inbox: inbox)
        if isDryRun { return ControlAnswer("would be \(what): \(inbox)", items: [item]) }
        try await store.set(inbox, pauses ? InboxPause(since: Moment.now.wall, by: requester) : nil)
        let record = RequestRecord(
            at: Moment.now.wall, what: pauses ? .pause : .resume, user: requester.user, userName: requester.name,
            inbox: inbox)
        item.request = try await catalogue.perform("recording a request") { try $0.recordRequest(record, step: .done) }
        return ControlAnswer("\(what) \(inbox); photoinboxd is not running", items: [item])
    }

    private static func move(
        _ operation: Int64, _ what: FileRequest.What, _ asked: ControlRequest, _ settings: Settings,
        _ catalogue: Catalogue,
        _ requester: Requester
    ) async throws -> ControlAnswer {
        let missing = ControlAnswer(
            RequestRefusal(
                .noMatch, "there is no operation \(operation)", action: "See what there is: photoinbox list"))
        let named = try catalogue.file.outcome(id: operation)
        guard let name = named?.outcome.inbox else { return missing }
        guard let library = settings.library, let inbox = settings.inboxes.first(where: { $0.name == name }) else {
            if let host = try catalogue.file.otherHost(ofInbox: name) {
                return ControlAnswer(RequestRefusal.ofAnotherHost(name, host))
            }
            return ControlAnswer(RequestRefusal(.noMatch, "there is no inbox \(escapeForDisplay(name.utf8)) any more"))
        }
        let worker = InboxWorker(
            spec: InboxSpec(inbox, sets: settings.sets), places: Places(library), attributes: FiledAttributes(library),
            catalogue: catalogue, libraryGuard: LibraryGuard(catalogue.file),
            subsystem: Subsystem(
                name: Subsystem.files(of: name), queue: MonitorQueue(label: "photo-inbox.files.\(name)"), isVital: false
            ))
        // What was under way when the daemon ended comes first, and only then what is known of the operation.
        if !asked.isDryRun { _ = await worker.recover() }
        let facts = try catalogue.file.facts(of: operation, for: what)
        if facts.isEmpty { return missing }
        return ControlAnswer(
            await worker.carryOut(
                FileRequest(
                    what: what, requester: requester, isDryRun: asked.isDryRun, expected: asked.expected), facts))
    }
}
