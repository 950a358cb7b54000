import FileValues
import Filing
import LinuxKernel

/// What failures and refusals amount to.
extension InboxWorker {
    /// What stands under the name is nothing that is filed.
    func refused(_ arrival: Arrival, _ refusal: SourceRefusal) -> Conclusion {
        switch refusal {
        case .gone: ended(arrival, .withdrawn, "gone before it was filed")
        case .leased: postponed("\(refusal)")
        case .symbolicLink: leave(arrival, "it is a symbolic link, which is never followed")
        // Some programs give a file its final name as a second one, and take the first away a moment later, of which no
        // event tells here.
        case .hardLinks where Moment.now.seconds(since: arrival.firstSeen) < spec.patience / .seconds(1):
            postponed("\(refusal)")
        case .hardLinks, .fifo, .socket, .device, .directory: leave(arrival, "\(refusal)")
        }
    }

    /// A step failed: the source is where it was, what was ours is gone. Whose fault it was decides what is told.
    func conclusion(of error: FilingError, _ arrival: Arrival) -> Conclusion {
        if case .refused(let refusal) = error.cause { return refused(arrival, refusal) }
        if case .noOtherCopy(.sameFile) = error.cause {
            // A library that is reached through its inbox: to move or remove this file would take it out of the library.
            var conclusion = leave(arrival, "\(error.cause)")
            conclusion.symptoms = [
                .sourceKept(inbox: spec.name, directory: arrival.key.path.parent, reason: "\(error.cause)")
            ]
            return conclusion
        }
        if case .sourceChanged(let how) = error.cause { return postponed("it changed while it was read: \(how)") }
        // Whatever was open may be what went away; it is opened anew at the next try.
        forgetRoots()
        guard let failure = libraryFailure(error, arrival.key.path) else { return postponed("\(error)") }
        return postponed("\(error)", [.library(failure: failure)])
    }

    /// An earlier try has left something that is taken back first, or another file of the same content is just being filed.
    func untilUndone() -> Conclusion {
        guard owed.withLock({ $0.isOwed }) else { return postponed("the same content is being filed just now") }
        return whileOwed("what an earlier try began is still to be taken back")
    }

    /// What is owed must be finished first: the cause is that of its last failure.
    func whileOwed(_ what: String) -> Conclusion {
        let (reason, storage) = owed.withLock { ($0.reason, $0.refusedBy) }
        var conclusion = postponed(reason.map { "\(what): \($0)" } ?? what)
        conclusion.refusedBy = storage
        return conclusion
    }

    /// Something is half done, and recovery is to see to it.
    func owe(_ error: any Error) {
        let storage = symptoms(of: error).refusal
        owed.withLock { $0.owe(refusedBy: storage, because: "\(error)") }
    }

    /// What `error` says of the library; nil where it is about the source, which lies at `path` of the inbox.
    func libraryFailure(_ error: FilingError, _ path: BytePath? = nil) -> LibraryFailure? {
        // The library takes what others put there just now.
        if error.side == .source || error.cause == .noFreeName { return nil }
        switch error.kind {
        case .noSpace:
            let size = path.flatMap { try? FileStatus(at: spec.path.appending($0)) }?.identity.size
            let status = try? FileSystemStatus(of: openDirectory(places.library))
            return .full(needed: size.map { $0 + places.minFree }, free: status?.available)
        case .readOnly: return .readOnly
        case .inputOutput, .damagedCopy: return .inputOutput
        case .unsuitableFileSystem: return .unsuitable("\(error.cause)")
        case .gone where error.step == .openDestination && error.path == places.library: return .missing
        default: return error.side == .destination ? .other("\(error)") : nil
        }
    }
}
