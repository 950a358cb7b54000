package import FileValues
import LinuxKernel
package import PhotoFormats
package import PhotoModel
import SystemPackage

/// The evidence from one examination of an arrival, on which ``Proof`` decides.
package struct Examination: Sendable {
    /// The file's identity before and after the examination.
    package let identity: FileIdentity
    package let writer: WriterVerdict
    /// The content's structure, format, dates and dimensions.
    package let report: PhotoReport
    /// Whether it has holes that no checksum in the file confirms to be zeros.
    package private(set) var hasHoles: Bool
    /// Whether it has blocks of zeros, at any offset, that no checksum confirms. Some programs allocate space by
    /// writing zeros, or write pieces in any order and close the file in between, so a structure that continues behind
    /// them proves nothing. Known after the file was read.
    package private(set) var hasEmptyBlocks: Bool
    /// Whether its only usable date is the file's modification time. Set by the caller, which knows the rules for
    /// dates.
    package var isDatedByFile = false
    /// The first range of its pixels that is certainly unwritten: zeros where the format has none.
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

    /// Examines `source`, as a sidecar of the kind `sidecar` if given. Probes for writers before it reads, so that it
    /// reads their final bytes.
    ///
    /// Throws ``FilingError/Cause/sourceChanged(_:)`` if the file changed meanwhile.
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

    /// Adds the blocks of zeros that ``SourceFile/read(_:)`` found in `source`.
    ///
    /// Throws ``FilingError/Cause/sourceChanged(_:)`` if the file changed meanwhile.
    package mutating func note(_ emptyBlocks: [Range<UInt64>], of source: SourceFile) throws(FilingError) {
        let (remain, found) = try judge(emptyBlocks, of: source, areHoles: false)
        hasEmptyBlocks = remain
        unwritten = unwritten ?? found
        if !emptyBlocks.isEmpty { try source.requireUnchanged(.hashSource) }
    }

    /// Returns whether some of `zeros`, which are ordered and do not overlap, may be unwritten, and the first that
    /// certainly is.
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
                // A hole begins and ends at blocks of the file system, so it may continue in the next chunk.
                remaining.removeAll {
                    range.bytes.lowerBound <= $0.lowerBound && $0.upperBound <= range.bytes.upperBound
                }
            case .neverZeros:
                // Some encoders pad the last block of a picture with zeros before its end marker.
                let inside = met.map { $0.clamped(to: range.bytes) }.first {
                    let isFilling = !areHoles && range.bytes.upperBound - $0.upperBound < SourceContent.pieceSize
                    return $0.count >= Self.leastUnwritten && !isFilling
                }
                if let inside { return (true, inside) }
            }
        }
        return (!remaining.isEmpty, nil)
    }

    /// The minimum number of zeros that cannot occur by chance next to encoded data.
    private static let leastUnwritten = 64
}

/// Runs `body` on the bytes of `source` and converts its errors to errors of filing.
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
    /// It is complete; `evidence` is for the catalogue and for people.
    case complete(evidence: String)
    /// Undecided: a program has it open for writing, or the quiet window has not ended. The caller must examine it
    /// again after `wait`, or sooner if it changes.
    case wait(reason: String, wait: Duration)
    /// It has no writer and could be filed, but parts are missing or may be unwritten. It is complete once it was
    /// unchanged for the caller's patience.
    case lacking(reason: String)
    /// It has no writer, or was quiet long enough, and is still cut short or empty: to be deferred until it changes,
    /// and quarantined after the caller's patience.
    case incomplete(reason: String)
    /// Its structure is inconsistent: for quarantine.
    case damaged(reason: String)
    /// It has no format that is filed.
    case notAPhoto(reason: String)
}

/// The times for which a file must stay unchanged where evidence is weak.
package struct QuietWindows: Hashable, Sendable {
    /// On local file systems.
    package var local: Duration
    /// On network mounts and FUSE, whose times and sizes may lag behind the writer.
    package var remote: Duration
    /// The interval between probes while a program has it open for writing, in case its close event is missed.
    package var writerRetry: Duration
    /// For files of which parts are missing or unwritten.
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

    /// Returns the window for a file with this verdict on writers.
    func window(for writer: WriterVerdict) -> Duration {
        switch writer {
        case .unknown(.fileSystem(let kind)) where kind.events == .ownChangesOnly: remote
        case .unknown(.exported): remote
        case .noWriter, .writerOpen, .unknown: local
        }
    }
}

extension Examination {
    /// Decides: complete means no writer and a whole structure, and quiet if one of the two is weak. `quiet` must have
    /// observed ``identity``.
    package func decide(
        _ quiet: QuietCheck, windows: QuietWindows, at now: ContinuousClock.Instant
    ) -> Proof {
        if writer == .writerOpen {
            return .wait(reason: "a program still has it open for writing", wait: windows.writerRetry)
        }
        func remaining(_ window: Duration) -> Duration {
            quiet.identity == identity ? quiet.remaining(of: window, at: now) : window
        }
        // Network writers leave zeros on any file system.
        let window = max(windows.window(for: writer), hasEmptyBlocks ? windows.remote : .zero)
        if needsQuiet, remaining(window) > .zero {
            return .wait(
                reason: "\(weaknesses.joined(separator: ", ")); it must stay unchanged for \(window)",
                wait: remaining(window))
        }
        let longest = max(window, windows.patience)
        if needsPatience, case .complete = conclusion(after: window), remaining(longest) > .zero {
            return .lacking(
                reason: "\(weaknesses.joined(separator: ", ")); it is filed once it was unchanged for \(longest)")
        }
        return conclusion(after: needsPatience ? longest : window)
    }

    /// Whether nothing but the caller's patience shows that no more bytes will follow.
    private var needsPatience: Bool {
        if case .lacking = report.completeness { return !timesWereSet }
        return hasHoles
    }

    /// Whether its time was set, or its name changed, long after its last write. Copying programs do that when they
    /// have written everything (cp -p, rsync, unzip, FTP's MFMT); an interrupted one does not.
    private var timesWereSet: Bool {
        let (age, isFar) = identity.changed.seconds.subtractingReportingOverflow(identity.modified.seconds)
        return !isFar && age >= Self.leastAge
    }

    /// In seconds; longer than the lag of times on network mounts.
    private static let leastAge: Int64 = 60

    private var needsQuiet: Bool { !weaknesses.isEmpty }

    /// The gaps in the evidence that quiet time must compensate, each a clause.
    private var weaknesses: [String] {
        var weaknesses: [String] = []
        if case .unknown(let reason) = writer { weaknesses.append(reason.description) }
        switch report.completeness {
        case .weak(let reason), .lacking(let reason): weaknesses.append(reason)
        case .whole where isDatedByFile && !timesWereSet:
            weaknesses.append("its only date is the file's time, which its writer may still set")
        case .whole, .cutShort, .malformed, .notAPhoto, .empty: break
        }
        if hasHoles { weaknesses.append("parts of it are not written") }
        if hasEmptyBlocks { weaknesses.append("whole blocks of it are zeros") }
        return weaknesses
    }

    /// Returns the decision on a file without a writer that was quiet for `window`.
    private func conclusion(after window: Duration) -> Proof {
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
        case .writerOpen, .unknown: break
        }
        words.append(structure)
        if hasHoles { words.append("with holes") }
        if hasEmptyBlocks { words.append("with blocks of zeros") }
        if needsQuiet { words.append("unchanged for \(window)") }
        return words.joined(separator: ", ")
    }
}
