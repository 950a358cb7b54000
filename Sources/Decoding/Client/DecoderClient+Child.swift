import FileValues
import Glibc
import LinuxKernel
import SystemMonitor
import SystemPackage

// The decoder's messages, and its exit.

extension DecoderClient {
    func receive(_ event: DescriptorEvent) {
        guard let socket = state.onQueue({ $0.child?.socket }) else { return }
        do throws(SystemCallError) {
            let received = try socket.withDescriptor { raw throws(SystemCallError) in
                try MessageSocket.receive(limit: DecoderWire.longestMessage, from: raw)
            }
            switch received {
            // Messages of a killed decoder are ignored.
            case .message where state.onQueue({ $0.child?.endReason != nil }): break
            case .message(let bytes):
                do throws(WireError) {
                    try handle(DecoderMessage(encoded: bytes))
                } catch {
                    end(.invalidMessage(error.description))
                }
            case .tooLong: end(.invalidMessage(WireError.length.description))
            // It is ending, or has only closed its socket, and would keep running.
            case .end, nil: if event.isLast { end(.unwanted) }
            }
        } catch {
            if error.code != .wouldBlock { end(.invalidMessage(error.description)) }
        }
    }

    private func handle(_ message: DecoderMessage) throws(WireError) {
        switch message {
        case .hello(let hello):
            let isFirst = state.onQueue { state in
                defer { state.child?.isReady = true }
                return state.child?.isReady == false
            }
            guard isFirst else { throw .contradiction("a second greeting") }
            note { $0.gaps = hello.gaps }
            if !hello.gaps.isEmpty, options.isConfinementRequired {
                end(.unconfined(hello.gaps))
            } else {
                note { $0.trouble = nil }
                proceed()
            }
        case .refusal(let refusal):
            guard state.onQueue({ $0.current?.request.id }) == refusal.id else {
                throw .contradiction("an answer to another question")
            }
            note { $0.refused += 1 }
            finishCurrent(.refused(refusal), memory: 0)
        case .answer(let answer):
            guard let job = state.onQueue({ $0.current }) else { throw .contradiction("an answer to no question") }
            let size: UInt64
            do throws(SystemCallError) {
                size = UInt64(clamping: try FileStatus(of: job.answer.descriptor).identity.size)
            } catch { throw .contradiction(error.description) }
            try answer.check(against: job.request, fileSize: size)
            note { $0.made += 1 }
            finishCurrent(.made(DecodedPicture(facts: answer, file: job.answer)), memory: answer.memory)
        }
    }

    /// Finishes the current picture, whose decoder still runs.
    private func finishCurrent(_ outcome: DecoderOutcome, memory: UInt64) {
        let (job, isSpent) = state.onQueue { state in
            defer { state.current = nil }
            state.child?.made += 1
            let made = state.child?.made ?? 0
            return (state.current, made >= options.recycleAfter || memory >= options.memoryMark)
        }
        stopTimer()
        if isSpent { end(.unwanted) }
        job?.done(outcome)
        proceed()
    }

    func ended(_ exit: ProcessExit) {
        guard let child = state.onQueue({ $0.child }) else { return }
        stopTimer()
        // A message may have come right before its end.
        if child.endReason == nil { drain(child) }
        child.socket.invalidate { [self] in
            child.monitor.invalidate { [self] in
                state.onQueue { $0.child = nil }
                finishRequests(of: child, exit)
                proceed()
            }
        }
    }

    private func drain(_ child: Child) {
        guard
            let received = try? child.socket.withDescriptor({ raw throws(SystemCallError) in
                try MessageSocket.receive(limit: DecoderWire.longestMessage, from: raw)
            }), case .message(let bytes) = received, let message = try? DecoderMessage(encoded: bytes)
        else { return }
        try? handle(message)
    }

    /// Ends the requests that depended on `child`.
    private func finishRequests(of child: Child, _ exit: ProcessExit) {
        let wasReady = child.isReady || state.onQueue { $0.current != nil }
        switch child.endReason {
        case .unwanted where state.onQueue({ $0.isStopped }): unavailable(.stopped)
        case .unconfined(let gaps): unavailable(.cannotBeConfined(gaps: gaps))
        case .deadline where !wasReady: unavailable(.cannotStart(reason: "it was not ready in time"))
        case .deadline: failFatally("no answer within \(options.deadline)")
        case .invalidMessage(let what) where wasReady: failFatally("the decoder sent \(what)")
        case .invalidMessage(let what): unavailable(.cannotStart(reason: "it sent \(what)"))
        case .unwanted, nil:
            if wasReady {
                failFatally("the decoder \(exit.explained)")
            } else {
                unavailable(.cannotStart(reason: "the decoder \(exit.explained) before it was ready"))
            }
        }
    }

    private func failFatally(_ reason: String) {
        let job = state.onQueue { $0.current.take() }
        guard let job else { return }
        note { $0.lost += 1 }
        job.done(.fatal(reason: reason))
    }
}

extension ProcessExit {
    /// The exit in words, with the meaning of the decoder's limits and statuses.
    var explained: String {
        switch self {
        case .killed(SIGPROF, _): "used up its processor time"
        case .killed(SIGXFSZ, _): "wanted to write too much"
        case .killed(SIGABRT, _): "gave up, most likely without memory (\(self))"
        case .exited(70): "could not start its libraries"
        default: description.hasPrefix("exited") ? description : "was \(description)"
        }
    }
}

/// The state of a client.
package struct DecoderSnapshot: Hashable, Sendable {
    /// Its decoder's process; nil while there is none.
    package var process: Int32?
    package var isBusy = false
    /// Pictures that are waiting.
    package var waiting = 0
    /// Decoders started so far.
    package var started = 0
    /// Pictures with renditions.
    package var made = 0
    /// Pictures that a decoder refused.
    package var refused = 0
    /// Pictures that ended their decoder.
    package var lost = 0
    /// The gaps in the last decoder's confinement; empty if it is complete.
    package var gaps = ""
    /// Why there is no decoder; nil if there is one, or was not needed yet.
    package var trouble: DecoderTrouble?

    package init() {}
}
