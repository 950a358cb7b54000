package import FileValues
import LinuxKernel
package import PhotoModel
import SystemPackage

/// What one look at an arrival showed: the evidence on which ``Proof`` decides.
package struct Examination: Sendable {
    /// The file as it was before and after the look.
    package let identity: FileIdentity
    /// Whether somebody is still writing.
    package let writer: WriterVerdict
    /// What the bytes say; the format, dates and dimensions too.
    package let report: PhotoReport
    /// Whether parts of it have no data on the medium.
    package let hasHoles: Bool
    /// Whether a block's worth of it, wherever it begins, is zeros. Some programs make room by writing them, or write
    /// pieces in any order, and close the file in between; a
    /// structure that can be walked past them shows nothing then. Known once it was read through.
    package var hasEmptyBlocks = false

    package init(identity: FileIdentity, writer: WriterVerdict, report: PhotoReport, hasHoles: Bool) {
        self.identity = identity
        self.writer = writer
        self.report = report
        self.hasHoles = hasHoles
    }

    /// Looks at `source`: asks for writers first, so that what is read afterwards is what they left. With `sidecar` it
    /// is read as one of that kind.
    ///
    /// Throws ``FilingError/Cause/sourceChanged(_:)`` if it changed meanwhile.
    package init(
        of source: SourceFile, probe: WriterProbe, sidecar: SidecarKind? = nil
    ) throws(FilingError) {
        writer = probe.probe(source)
        hasHoles = try filing(.openSource, .source, source.path) { () throws(SystemCallError) in
            try source.content.hasHoles(size: source.identity.size)
        }
        var bytes = DescriptorByteSource(source)
        do {
            report =
                if let sidecar {
                    try SidecarReader.read(&bytes, kind: sidecar)
                } else {
                    try PhotoReader.read(&bytes, name: source.name)
                }
        } catch {
            let failure = SystemCallError("pread", Errno(rawValue: error.code), path: source.name)
            throw FilingError(.openSource, .source, .system(failure), path: source.path)
        }
        identity = source.identity
        try source.requireUnchanged(.openSource)
    }
}

/// The decision on one examination. Pure.
package enum Proof: Hashable, Sendable {
    /// Complete; the words say what showed it, for the catalogue and for people.
    case complete(evidence: String)
    /// Not yet to be decided: somebody writes, or the window is not over. `wait` is when to look again at the latest;
    /// a change of the file makes the caller look sooner.
    case wait(reason: String, wait: Duration)
    /// Nobody writes, or it was quiet long enough, and it is still cut short or empty: deferred until its bytes
    /// change, quarantined after the caller's limit.
    case incomplete(reason: String)
    /// Its structure contradicts itself: for quarantine.
    case damaged(reason: String)
    /// No format that is filed.
    case notAPhoto(reason: String)
}

/// For how long a file must stay unchanged where evidence is weak.
package struct QuietWindows: Hashable, Sendable {
    /// On local file systems.
    package var local: Duration
    /// On network mounts and FUSE, whose times and sizes may lag behind the writer.
    package var remote: Duration
    /// How soon to ask again while a writer has it open and its close event may be missed.
    package var writerRetry: Duration

    package init(local: Duration = .seconds(5), remote: Duration = .seconds(30), writerRetry: Duration = .seconds(60)) {
        self.local = local
        self.remote = remote
        self.writerRetry = writerRetry
    }

    /// The window that fits what is not known.
    func window(for writer: WriterVerdict) -> Duration {
        switch writer {
        case .cannotTell(.fileSystem(let kind)) where kind.events == .ownChangesOnly: remote
        case .noWriter, .writerOpen, .cannotTell: local
        }
    }
}

extension Examination {
    /// Complete = no writer and whole structure; quiet only where one of the two is weak. `quiet` must have observed
    /// ``identity``.
    package func decide(
        _ quiet: QuietCheck, windows: QuietWindows, at now: ContinuousClock.Instant
    ) -> Proof {
        if writer == .writerOpen {
            return .wait(reason: "a program still has it open for writing", wait: windows.writerRetry)
        }
        let window = windows.window(for: writer)
        let remaining = quiet.identity == identity ? quiet.remaining(of: window, at: now) : window
        guard needsQuiet, remaining > .zero else { return settled(window) }
        return .wait(reason: "\(doubts.joined(separator: ", ")); it must stay unchanged for \(window)", wait: remaining)
    }

    /// Whether quiet time has to stand in for something.
    private var needsQuiet: Bool { !doubts.isEmpty }

    /// What quiet time has to stand in for, each a clause.
    private var doubts: [String] {
        var doubts: [String] = []
        if case .cannotTell(let doubt) = writer { doubts.append(doubt.description) }
        if case .weak(let reason) = report.completeness { doubts.append(reason) }
        if hasHoles { doubts.append("parts of it are not written") }
        if hasEmptyBlocks { doubts.append("whole blocks of it are zeros") }
        return doubts
    }

    private func settled(_ window: Duration) -> Proof {
        switch report.completeness {
        case .whole(let evidence): return .complete(evidence: words(evidence, window))
        case .weak(let reason): return .complete(evidence: words(reason, window))
        case .cutShort(let reason): return .incomplete(reason: reason)
        case .empty: return .incomplete(reason: report.completeness.words)
        case .malformed(let reason): return .damaged(reason: reason)
        case .notAPhoto(let reason): return .notAPhoto(reason: reason)
        }
    }

    /// `no writer left (lease), ends with its end marker`.
    private func words(_ structure: String, _ window: Duration) -> String {
        var words: [String] = []
        switch writer {
        case .noWriter: words.append("no writer left (lease)")
        case .writerOpen, .cannotTell: break
        }
        words.append(structure)
        if hasHoles { words.append("with holes") }
        if hasEmptyBlocks { words.append("with blocks of zeros") }
        if needsQuiet { words.append("unchanged for \(window)") }
        return words.joined(separator: ", ")
    }
}
