import Catalogue
import ControlProtocol
import DaemonSupport
import DirectoryWatch
import FileValues
import Filing
import Glibc
import Ingest
import LibraryCare
import LinuxKernel
import Logging
import Reporting
import Settings
import SystemMonitor

/// Carries out the requests of the control socket, for those who may make them.
///
/// Any thread. What touches files or the catalogue is done on their queues.
final class RequestHandler: Sendable {
    private let state: LiveState
    private let catalogue: Catalogue
    private let generation: Locked<Generation?>
    private let log: DaemonLog
    /// Called when files were set aside or removed.
    private let onChange: @Sendable () -> Void
    /// Reads again what an answer reports as it is at that moment, such as the free space.
    private let refresh: @Sendable () async -> Void
    /// Has photos of the library read again, after all of it was read or a part; returns at once.
    private let recheck: @Sendable ([Int64], _ isComplete: Bool) -> Void
    /// Who may request what, as of the running configuration.
    private let rights = Locked(
        ControlRights(
            own: geteuid(), downloads: userNumber("_photoinbox-fetch"), pages: userNumber("_photoinbox-web"),
            drop: userNumber("_photoinbox-drop"), operators: chosenGroup()))
    private let reports: ArrivalReports
    /// Who reloads.
    private let reloader = Locked<Reloader?>(nil)
    /// The state as JSON; nil where it is too large for an answer.
    private let stateReading: SharedReading<[UInt8]?>
    private let metricsReading: SharedReading<String>
    /// How many arrivals in hand an answer lists; the state dump in the file lists all.
    private static let listedInHand = [2_000, 500, 100, 0]

    init(
        state: LiveState, catalogue: Catalogue, libraryGuard: LibraryGuard, generation: Locked<Generation?>,
        log: DaemonLog,
        onChange: @escaping @Sendable () -> Void, refresh: @escaping @Sendable () async -> Void,
        recheck: @escaping @Sendable ([Int64], _ isComplete: Bool) -> Void
    ) {
        self.state = state
        self.catalogue = catalogue
        self.generation = generation
        self.log = log
        self.onChange = onChange
        self.refresh = refresh
        self.recheck = recheck
        stateReading = SharedReading { Self.json(of: state) }
        reports = ArrivalReports(state: state, catalogue: catalogue, library: LibrarySight(libraryGuard, catalogue))
        metricsReading = SharedReading { state.metrics(.openMetrics) }
    }

    /// A configuration came into force. Looks the group up, which may wait.
    func adopt(_ settings: Settings) {
        let group = settings.operators.flatMap { groupNumber($0) } ?? chosenGroup()
        rights.withLock { ($0.operators, $0.dropInbox) = (group, settings.dropInbox?.name) }
        reports.library.adopt(settings)
    }

    struct Reloader {
        /// Nil where the daemon is ending.
        let reload: @Sendable (_ requester: Requester, _ isDryRun: Bool) async -> ReloadOutcome?
    }

    /// Before the first request.
    func reload(by new: Reloader) { reloader.withLock { $0 = new } }

    /// The group of the control socket; nil where it is for the daemon's own user and root alone.
    var operatorGroup: UInt32? { rights.withLock { $0.operators } }

    /// Carries out a request.
    func carryOut(_ request: ControlRequest, for peer: PeerCredentials) async -> ControlAnswer {
        let asker = Asker(user: peer.user, person: request.person)
        let rights = rights.withLock { $0 }
        guard rights.allow(request, by: peer) else {
            let isForDrop = request.command.isForDrop || rights.isDrop(peer)
            return ControlAnswer(
                RequestRefusal(
                    .permission,
                    "\(asker.words) may \(isForDrop ? "not request \(request.command.verb)" : "only look")",
                    action: "Use sudo, or join the group of operators: see operators in photoinbox.toml(5)."))
        }
        let isDryRun = request.isDryRun
        switch request.command {
        case .hello: return ControlAnswer("photoinboxd \(state.version)")
        case .state: return await stateAnswer()
        case .metrics: return await metricsAnswer()
        case .reload: return await reload(asker, isDryRun)
        case .pause(let inbox): return await setPaused(true, inbox, asker, isDryRun)
        case .resume(let inbox): return await setPaused(false, inbox, asker, isDryRun)
        case .rescan(let subject): return await rescan(subject, asker, isDryRun)
        case .retry(let subject): return await retry(subject, asker, isDryRun)
        case .verify(let photos, let isComplete): return verify(photos, isComplete, isDryRun)
        case .release(let operation, let asIs):
            return await move(operation, .release(asIs: asIs), asker, request)
        case .discard(let operation): return await move(operation, .discard, asker, request)
        case .undo(let operation, let alone): return await move(operation, .undo(alone: alone), asker, request)
        case .store(let photo, let path, let bucket, let hash):
            return await report {
                guard let hash = ContentHash(hash), let operation = try await self.filing(of: photo) else {
                    throw RequestRefusal(.noMatch, "there is no photo \(photo)")
                }
                return await self.move(operation, .store(bucket, at: path, hash), asker, request)
            }
        case .known(let hashes):
            return await report {
                var answer = ControlAnswer("what is known")
                answer.known = try await self.reports.known(hashes)
                return answer
            }
        case .outcomes(let inbox, let files, let after):
            return await report {
                try await self.require(inbox)
                var answer = ControlAnswer("what has become of files")
                answer.arrivals = try await self.reports.outcomes(of: files, in: inbox, after: after)
                return answer
            }
        }
    }

    private func report(_ body: () async throws -> ControlAnswer) async -> ControlAnswer {
        do { return try await body() } catch { return Self.answer(to: error) }
    }

    /// Who is recorded as having asked.
    private struct Asker: Sendable {
        let user: UInt32
        /// The person for whom the pages ask.
        let person: String?

        var words: String { "user \(user)" + (person.map { ", for \($0)," } ?? "") }
    }

    // MARK: - Looking

    private func stateAnswer() async -> ControlAnswer {
        await refresh()
        guard let json = await stateReading.value else {
            return ControlAnswer(
                RequestRefusal(.failed, "the state is too large for an answer", action: "photoinbox dump"))
        }
        var answer = ControlAnswer("the state")
        answer.state = json
        return answer
    }

    private static func json(of state: LiveState) -> [UInt8]? {
        var captured = state.capture()
        for limit in listedInHand {
            // Those that wait longest come first, and matter most.
            let omitted = captured.inHand.count - limit
            if omitted > 0 {
                captured.inHandOmitted = (captured.inHandOmitted ?? 0) + omitted
                captured.inHand.removeLast(omitted)
            }
            guard let bytes = try? JSONCoding.write(captured) else { return nil }
            if bytes.count < ControlAnswer.limit - 1_024 { return bytes }
        }
        return nil
    }

    private func metricsAnswer() async -> ControlAnswer {
        await refresh()
        let text = await metricsReading.value
        // As JSON each quotation mark and each line's end is one byte more.
        guard text.utf8.count < ControlAnswer.limit / 2 else {
            return ControlAnswer(
                RequestRefusal(.failed, "the metrics are too large for an answer", action: "Write them to a textfile."))
        }
        var answer = ControlAnswer("the metrics")
        answer.text = text
        return answer
    }

    // MARK: - Configuration

    private func reload(_ asker: Asker, _ isDryRun: Bool) async -> ControlAnswer {
        let requester = await requester(asker)
        guard let outcome = await reloader.withLock({ $0 })?.reload(requester, isDryRun) else {
            return ControlAnswer(Self.notReady)
        }
        return ControlAnswer(outcome, isDryRun)
    }

    // MARK: - Inboxes

    /// Throws unless this daemon has the inbox.
    private func require(_ inbox: String) async throws(RequestRefusal) {
        if state.settings.inboxes.contains(where: { $0.name == inbox }) { return }
        let host = try? await catalogue.perform("looking for an inbox") { try $0.otherHost(ofInbox: inbox) }
        if let host { throw RequestRefusal.ofAnotherHost(inbox, host) }
        let names = state.settings.inboxes.map(\.name).joined(separator: ", ")
        throw RequestRefusal(
            .noMatch, "there is no inbox \(escapeForDisplay(inbox.utf8))",
            action: names.isEmpty ? "None is configured." : "Inboxes: \(names).")
    }

    private func setPaused(
        _ pauses: Bool, _ inbox: String, _ asker: Asker, _ isDryRun: Bool
    ) async -> ControlAnswer {
        do {
            try await require(inbox)
            let before = state.pauses.pause(of: inbox)
            if pauses, let before {
                return ControlAnswer("\(inbox) is paused already, by \(before.by.words) since \(before.since.rfc3339)")
            }
            if !pauses, before == nil { return ControlAnswer("\(inbox) is not paused") }
            let what = pauses ? "paused" : "resumed"
            var item = ControlAnswer.Item(what, inbox: inbox)
            if isDryRun { return ControlAnswer("would be \(what): \(inbox)", items: [item]) }
            let requester = await requester(asker)
            try await state.pauses.set(inbox, pauses ? InboxPause(since: Moment.now.wall, by: requester) : nil)
            await generation.withLock { $0 }?.pipeline.admissionChanged()
            state.problems.paused(state)
            let recorded = await record(pauses ? .pause : .resume, inbox, nil, requester)
            item.request = recorded.id
            let waiting = state.current.pipeline?.arrivals.withLock { $0.counts(of: inbox).inHand } ?? 0
            item.count = waiting
            let text =
                pauses
                ? "paused \(inbox): new files wait, until photoinbox resume \(inbox)"
                : "resumed \(inbox): \(waiting) waiting"
            return ControlAnswer(text + recorded.remark, items: [item])
        } catch { return Self.answer(to: error) }
    }

    private func rescan(_ subject: ControlSubject, _ asker: Asker, _ isDryRun: Bool) async -> ControlAnswer {
        do {
            let current = try running()
            if case .file(let inbox, let path) = subject {
                try await require(inbox)
                return try await rescan(path, inbox, current, asker, isDryRun)
            }
            var inboxes = current.settings.inboxes.map(\.name)
            if case .inbox(let name) = subject {
                try await require(name)
                inboxes = [name]
            }
            if isDryRun { return ControlAnswer("would be rescanned: \(inboxes.joined(separator: ", "))") }
            var answer = ControlAnswer("")
            let requester = await requester(asker)
            var (found, deleted, remark) = (0, 0, "")
            for inbox in inboxes {
                guard let report = await current.rescan(inbox) else { continue }
                var item = ControlAnswer.Item("rescanned", inbox: inbox)
                item.count = report.found
                found += report.found
                let recorded = await record(.rescan, inbox, nil, requester)
                item.request = recorded.id
                // As the reason beside what is in quarantine proposes. Without the catalogue it is closed another time.
                let closed = await current.pipeline.perform(inbox) { try? await $0.closeDeleted(for: requester) }
                deleted += (closed ?? nil) ?? 0
                if !recorded.remark.isEmpty { remark = recorded.remark }
                answer.items.append(item)
                if !report.isComplete {
                    answer.status = ExitStatus.someLeft.rawValue
                    answer.action = "photoinbox status"
                }
            }
            onChange()
            let quarantined = HumanText.count(deleted, "quarantined file", "quarantined files")
            answer.message =
                "rescanned \(inboxes.joined(separator: ", ")): \(found) file\(found == 1 ? "" : "s") that no event had reported"
                + (answer.status == 0 ? "" : "; not all of it can be reached")
                + (deleted == 0 ? "" : "; closed \(quarantined), deleted by hand")
                + remark
            return answer
        } catch { return Self.answer(to: error) }
    }

    private func rescan(
        _ path: BytePath, _ inbox: String, _ current: Generation, _ asker: Asker, _ isDryRun: Bool
    ) async throws -> ControlAnswer {
        let name = "\(inbox)/\(path.escaped)"
        let settings = current.settings.inboxes.first { $0.name == inbox }
        if let pattern = settings?.exclusion(of: path) {
            throw RequestRefusal(.failed, "\(name) is left alone: excluded by \(pattern)")
        }
        if FileNames.isOurs(path.name) { throw RequestRefusal(.failed, "\(name) is a temporary of photoinboxd") }
        if isDryRun { return ControlAnswer("would be examined: \(name)") }
        let found: Result<FileStatus?, any Error>? = await current.pipeline.perform(inbox) { worker in
            do { return .success(try await worker.rescan(path)) } catch { return .failure(error) }
        }
        guard let found else { throw Self.notReady }
        guard let status = try found.get() else { throw RequestRefusal(.noMatch, "there is no \(name)") }
        guard status.kind != .directory else { throw RequestRefusal(.failed, "\(name) is a directory") }
        await current.pipeline.examine(
            ArrivalKey(inbox: inbox, path: path), as: status.kind == .regular ? status.identity : nil)
        var item = ControlAnswer.Item("rescanned", inbox: inbox, file: path)
        let recorded = await record(.rescan, inbox, path, await requester(asker))
        item.request = recorded.id
        return ControlAnswer(
            "examining \(name)\(recorded.remark); see: photoinbox explain \(shellQuoted(name))", items: [item])
    }

    private func retry(_ subject: ControlSubject, _ asker: Asker, _ isDryRun: Bool) async -> ControlAnswer {
        do {
            let current = try running()
            let (what, inbox, path, isMeant) = try await meaning(of: subject)
            var skipped = 0
            if subject == .everything {
                for part in state.parts { skipped += await part.giveAgain(isDryRun: isDryRun) }
            }
            let again = skipped == 0 ? "" : ", and \(skipped) by the hooks that skipped \(skipped == 1 ? "it" : "them")"
            if isDryRun {
                let count = current.pipeline.arrivals.withLock { table in
                    table.arrivals.values.count { $0.waitsUntil != nil && isMeant($0.key) }
                }
                return ControlAnswer("would be tried now: \(count) of \(what)\(again)")
            }
            let count = await current.pipeline.retry(where: isMeant)
            guard count + skipped > 0 else {
                throw RequestRefusal(
                    .noMatch, "nothing of \(what) is deferred",
                    action: path == nil ? nil : "Look at it again all the same: photoinbox rescan \(what)")
            }
            var item = ControlAnswer.Item("retried", inbox: inbox, file: path)
            item.count = count + skipped
            let recorded = await record(.retry, inbox, path, await requester(asker))
            item.request = recorded.id
            let files = count == 1 ? "1 file" : "\(count) files"
            return ControlAnswer("trying \(files) of \(what) now\(again)\(recorded.remark)", items: [item])
        } catch { return Self.answer(to: error) }
    }

    private func meaning(
        of subject: ControlSubject
    ) async throws(RequestRefusal) -> (String, String?, BytePath?, @Sendable (ArrivalKey) -> Bool) {
        switch subject {
        case .everything: return ("all inboxes", nil, nil, { _ in true })
        case .inbox(let inbox):
            try await require(inbox)
            return (inbox, inbox, nil, { $0.inbox == inbox })
        case .file(let inbox, let path):
            try await require(inbox)
            return ("\(inbox)/\(path.escaped)", inbox, path, { $0 == ArrivalKey(inbox: inbox, path: path) })
        }
    }

    // MARK: - Files

    private func verify(_ photos: [Int64], _ isComplete: Bool, _ isDryRun: Bool) -> ControlAnswer {
        let words = HumanText.count(photos.count, "photo", "photos")
        if isDryRun { return ControlAnswer("would be read again: \(words)") }
        recheck(photos, isComplete)
        return ControlAnswer("reading \(words) again; see: photoinbox status")
    }

    /// The operation that filed a photo.
    private func filing(of photo: Int64) async throws -> Int64? {
        try await catalogue.perform("looking up a photo") {
            try $0.outcomes(ofPhoto: photo).first { $0.outcome.outcome == .filed }?.id
        }
    }

    private func move(
        _ operation: Int64, _ what: FileRequest.What, _ asker: Asker, _ asked: ControlRequest
    ) async -> ControlAnswer {
        let isDryRun = asked.isDryRun
        do {
            let current = try running()
            let facts = try await catalogue.perform("looking up an operation") {
                try $0.facts(of: operation, for: what)
            }
            guard let inbox = facts.first?.outcome.outcome.inbox else {
                throw RequestRefusal(
                    .noMatch, "there is no operation \(operation)", action: "See what there is: photoinbox list")
            }
            // What waits for a decision is at the inbox's host; what is in the library is taken back by any of them.
            if [.release, .discard].contains(what.kind),
                let host = try await catalogue.perform("looking for an inbox", { try $0.otherHost(ofInbox: inbox) })
            {
                throw RequestRefusal.ofAnotherHost(inbox, host)
            }
            // What belongs to an inbox that is configured no longer can still be discarded or taken back.
            if case .release = what { try await require(inbox) }
            let isKnown = current.settings.inboxes.contains { $0.name == inbox }
            let requester = await requester(asker)
            let request = FileRequest(
                what: what, requester: requester, isDryRun: isDryRun, expected: asked.expected)
            let carried = await current.pipeline.perform(isKnown ? inbox : nil) { worker in
                await worker.carryOut(request, facts)
            }
            guard let parts = carried else { throw Self.notReady }
            let answer = ControlAnswer(parts)
            let done = isDryRun ? [] : parts.filter { $0.answer.status == 0 }
            for part in done {
                if let key = part.lookAt { await current.pipeline.examine(key, as: nil) }
                log.moved(what.kind, part.answer, by: requester)
            }
            if done.isEmpty { return answer }
            state.measures.moved(done.count)
            if what == .discard { current.trashGrew() }
            onChange()
            return answer
        } catch { return Self.answer(to: error) }
    }

    // MARK: - Common

    private func requester(_ asker: Asker) async -> Requester {
        if let person = asker.person { return Requester(user: asker.user, name: "\(person) (web)") }
        return await state.pauses.requester(asker.user)
    }

    private func running() throws(RequestRefusal) -> Generation {
        guard let current = generation.withLock({ $0 }) else { throw Self.notReady }
        return current
    }

    /// Records what was done. It stays done where the catalogue cannot be written now: then the log alone has it, and the remark
    /// for the answer says so.
    private func record(
        _ what: RequestKind, _ inbox: String?, _ path: BytePath?, _ requester: Requester
    ) async -> (id: Int64?, remark: String) {
        log.asked(what, inbox, path, by: requester)
        let record = RequestRecord(
            at: Moment.now.wall, what: what, user: requester.user, userName: requester.name, inbox: inbox, path: path)
        do {
            let id = try await catalogue.perform("recording a request") { try $0.recordRequest(record, step: .done) }
            return (id, "")
        } catch {
            return (nil, "; the catalogue cannot be written now, so that the log alone records it: \(error)")
        }
    }

    private static let notReady = RequestRefusal(
        .busy, "photoinboxd is starting, reloading or stopping", action: "Try again.")

    private static func answer(to error: any Error) -> ControlAnswer {
        if let refusal = error as? RequestRefusal { return ControlAnswer(refusal) }
        let status: ExitStatus =
            switch (error as? CatalogueError)?.code {
            case .unreachable, .unknownOutcome: .unavailable
            case .busy: .busy
            default: .failed
            }
        return ControlAnswer(status: status.rawValue, "\(error)")
    }
}

extension RequestRefusal {
    /// What is asked for is of an inbox that another host of the catalogue has.
    static func ofAnotherHost(_ inbox: String, _ host: String) -> RequestRefusal {
        let host = escapeForDisplay(host.utf8)
        return RequestRefusal(
            .noMatch, "the inbox \(escapeForDisplay(inbox.utf8)) is that of the host \(host)",
            action: "Run this on \(host).")
    }
}

extension ControlAnswer {
    /// The result of a reload.
    fileprivate init(_ outcome: ReloadOutcome, _ isDryRun: Bool) {
        switch outcome {
        case .applied(let settings, let file, let warnings):
            let count = settings.inboxes.count
            let inboxes = "\(count) inbox\(count == 1 ? "" : "es")"
            let words = isDryRun ? "would be loaded" : "in force"
            self.init("\(words): the configuration from \(file?.escaped ?? "flags alone"), \(inboxes)")
            if !warnings.isEmpty { text = warnings.map(\.description).joined(separator: "\n") }
        case .refused(let issues):
            self.init(
                status: ExitStatus.configuration.rawValue,
                isDryRun
                    ? "the configuration would be refused"
                    : "the configuration is refused; the running one is kept")
            text = issues.map(\.description).joined(separator: "\n")
        case .failed(let reason):
            self.init(
                status: ExitStatus.configuration.rawValue,
                "the configuration cannot be set up; the running one is kept")
            text = reason
        }
    }
}
