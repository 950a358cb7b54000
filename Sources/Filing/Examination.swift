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
    /// Whether parts of it have no data on the medium, and no check sum in the file says that they are zeros.
    package private(set) var hasHoles: Bool
    /// The same of blocks that are zeros, wherever they begin. Some programs make room by writing them, or write pieces in
    /// any order, and close the file in between; a structure that can be walked past them shows nothing then. Known once
    /// the file was read through.
    package private(set) var hasEmptyBlocks: Bool
    /// Whether its only usable date is the file's modification time. Set by the caller, which knows which dates count.
    package var isDatedByFile = false
    /// The first part of its pixels that cannot have been written yet: zeros where the format has none.
    package private(set) var unwritten: Range<UInt64>?

    package init(
        identity: FileIdentity, writer: WriterVerdict, report: PhotoReport, hasHoles: Bool = false,
        hasEmptyBlocks: Bool = false, unwritten: Range<UInt64>? = nil
    ) {
        self.identity = identity
        self.writer = writer
        self.report = report
        self.hasHoles = hasHoles
        self.hasEmptyBlocks = hasEmptyBlocks
        self.unwritten = unwritten
    }

    /// Looks at `source`: asks for writers first, so that what is read afterwards is what they left. With `sidecar` it
    /// is read as one of that kind.
    ///
    /// Throws ``FilingError/Cause/sourceChanged(_:)`` if it changed meanwhile.
    package init(
        of source: SourceFile, probe: WriterProbe, sidecar: SidecarKind? = nil
    ) throws(FilingError) {
        writer = probe.probe(source)
        let holes = try filing(.openSource, .source, source.path) { () throws(SystemCallError) in
            try source.content.holes(size: source.identity.size)
        }
        report = try reading(source) { bytes throws(ByteSourceError) in
            if let sidecar {
                try SidecarReader.read(&bytes, kind: sidecar)
            } else {
                try PhotoReader.read(&bytes, name: source.name)
            }
        }
        identity = source.identity
        (hasHoles, hasEmptyBlocks) = (false, false)
        (hasHoles, unwritten) = try judge(holes, of: source, areHoles: true)
        try source.requireUnchanged(.openSource)
    }

    /// Takes note of the blocks of zeros that reading `source` through has shown.
    ///
    /// Throws ``FilingError/Cause/sourceChanged(_:)`` if it changed meanwhile.
    package mutating func note(_ emptyBlocks: [Range<UInt64>], of source: SourceFile) throws(FilingError) {
        let (remain, found) = try judge(emptyBlocks, of: source, areHoles: false)
        hasEmptyBlocks = remain
        unwritten = unwritten ?? found
        if !emptyBlocks.isEmpty { try source.requireUnchanged(.hashSource) }
    }

    /// Whether any of `zeros` may be what was not written, and which one must be. They are ordered, and do not overlap.
    private func judge(
        _ zeros: [Range<UInt64>], of source: SourceFile, areHoles: Bool
    ) throws(FilingError) -> (remain: Bool, unwritten: Range<UInt64>?) {
        guard !zeros.isEmpty, report.format != nil else { return (!zeros.isEmpty, nil) }
        let name = source.name
        let pixels = try reading(source) { bytes throws(ByteSourceError) in
            try PhotoReader.pixelRanges(of: &bytes, name: name)
        }
        var remaining = zeros
        for range in pixels {
            let met = zeros.filter { $0.overlaps(range.bytes) }
            guard !met.isEmpty else { continue }
            switch range.rule {
            case .checked:
                let isSound = try reading(source) { bytes throws(ByteSourceError) in
                    try PhotoReader.isSound(range, of: &bytes)
                }
                if !isSound { return (true, met[0].clamped(to: range.bytes)) }
                // A hole begins and ends with blocks of the file system, so it may go on in the next chunk.
                remaining.removeAll {
                    range.bytes.lowerBound <= $0.lowerBound && $0.upperBound <= range.bytes.upperBound
                }
            case .neverZeros:
                // Some encoders fill up the last block of a picture with zeros before its end marker.
                let inside = met.map { $0.clamped(to: range.bytes) }.first {
                    let isFilling = !areHoles && range.bytes.upperBound - $0.upperBound < SourceContent.pieceSize
                    return $0.count >= Self.leastUnwritten && !isFilling
                }
                if let inside { return (true, inside) }
            }
        }
        return (!remaining.isEmpty, nil)
    }

    /// So many zeros are no chance at the borders of what is coded.
    private static let leastUnwritten = 64
}

/// Reads `source`; its file system's refusals become errors of filing.
private func reading<Answer>(
    _ source: SourceFile, _ body: (inout DescriptorByteSource) throws(ByteSourceError) -> Answer
) throws(FilingError) -> Answer {
    var bytes = DescriptorByteSource(source)
    do { return try body(&bytes) } catch {
        let failure = SystemCallError("pread", Errno(rawValue: error.code), path: source.name)
        throw FilingError(.openSource, .source, .system(failure), path: source.path)
    }
}

/// The decision on one examination. Pure.
package enum Proof: Hashable, Sendable {
    /// Complete; the words say what showed it, for the catalogue and for people.
    case complete(evidence: String)
    /// Not yet to be decided: somebody writes, or the window is not over. `wait` is when to look again at the latest;
    /// a change of the file makes the caller look sooner.
    case wait(reason: String, wait: Duration)
    /// Nobody writes, and it could be filed as it is, but parts of it are missing or may never have been written: it is
    /// complete once it was quiet for the caller's patience.
    case lacking(reason: String)
    /// Nobody writes, or it was quiet long enough, and it is still cut short or empty: deferred until its bytes
    /// change, quarantined after the caller's patience.
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
    /// Where something is known to be missing, or not to be written.
    package var patience: Duration

    package init(
        local: Duration = .seconds(5), remote: Duration = .seconds(30), writerRetry: Duration = .seconds(60),
        patience: Duration = .seconds(600)
    ) {
        self.local = local
        self.remote = remote
        self.writerRetry = writerRetry
        self.patience = patience
    }

    /// The window that fits what is not known of who writes.
    func window(for writer: WriterVerdict) -> Duration {
        switch writer {
        case .cannotTell(.fileSystem(let kind)) where kind.events == .ownChangesOnly: remote
        case .cannotTell(.exported): remote
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
        func remaining(_ window: Duration) -> Duration {
            quiet.identity == identity ? quiet.remaining(of: window, at: now) : window
        }
        // Zeros are what network writers leave, whatever file system they write to.
        let window = max(windows.window(for: writer), hasEmptyBlocks ? windows.remote : .zero)
        if needsQuiet, remaining(window) > .zero {
            return .wait(
                reason: "\(doubts.joined(separator: ", ")); it must stay unchanged for \(window)",
                wait: remaining(window))
        }
        let longest = max(window, windows.patience)
        if needsPatience, case .complete = settled(window), remaining(longest) > .zero {
            return .lacking(
                reason: "\(doubts.joined(separator: ", ")); it is filed once it was unchanged for \(longest)")
        }
        return settled(needsPatience ? longest : window)
    }

    /// Whether only the caller's patience can tell that nothing more comes.
    private var needsPatience: Bool {
        if case .lacking = report.completeness { return !wasFinished }
        return hasHoles
    }

    /// Whether somebody set its time, or renamed it, long after its last write: programs that copy do that when they have
    /// written all (cp -p, rsync, unzip, FTP's MFMT), and one that was broken off does not.
    private var wasFinished: Bool {
        let (age, isFar) = identity.changed.seconds.subtractingReportingOverflow(identity.modified.seconds)
        return !isFar && age >= Self.leastAge
    }

    /// In seconds: longer than network mounts let times lag behind.
    private static let leastAge: Int64 = 60

    /// Whether quiet time has to stand in for something.
    private var needsQuiet: Bool { !doubts.isEmpty }

    /// What quiet time has to stand in for, each a clause.
    private var doubts: [String] {
        var doubts: [String] = []
        if case .cannotTell(let doubt) = writer { doubts.append(doubt.description) }
        switch report.completeness {
        case .weak(let reason), .lacking(let reason): doubts.append(reason)
        case .whole where isDatedByFile && !wasFinished:
            doubts.append("its only date is the file's time, which its writer may still set")
        case .whole, .cutShort, .malformed, .notAPhoto, .empty: break
        }
        if hasHoles { doubts.append("parts of it are not written") }
        if hasEmptyBlocks { doubts.append("whole blocks of it are zeros") }
        return doubts
    }

    private func settled(_ window: Duration) -> Proof {
        switch report.completeness {
        case .whole(let words), .weak(let words), .lacking(let words):
            if let unwritten {
                return .incomplete(
                    reason: "nothing was written to its bytes \(grouped(unwritten.lowerBound)) to "
                        + "\(grouped(unwritten.upperBound - 1)), where pixels should be")
            }
            return .complete(evidence: evidence(words, window))
        case .cutShort(let reason): return .incomplete(reason: reason)
        case .empty: return .incomplete(reason: report.completeness.words)
        case .malformed(let reason): return .damaged(reason: reason)
        case .notAPhoto(let reason): return .notAPhoto(reason: reason)
        }
    }

    /// `no writer left (lease), ends with its end marker`.
    private func evidence(_ structure: String, _ window: Duration) -> String {
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
