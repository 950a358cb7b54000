package import FileValues
package import PhotoFormats

/// The date by which a photo is filed.
package struct CaptureDate: Equatable, Sendable {
    /// The local time where the picture was taken; midnight if only the day is known.
    package let local: CivilDateTime
    /// Its offset in seconds east of UTC, if known.
    package let offset: Int32?
    /// Whether the time of day is known.
    package let hasTime: Bool
    /// Its source.
    package let provenance: DateProvenance
    /// What was read otherwise than it is written.
    package var remark: String?

    /// RFC 3339 as far as it is known: `2024-01-31T12:34:56+01:00`, without an offset if there is none, or the day.
    package var text: String {
        guard hasTime else { return local.date.description }
        return "\(local.date)T\(local.clock)\(offset.map(offsetText) ?? "")"
    }
}

/// Chooses the date by which a photo is filed: from the most reliable source, without implausible dates, with the
/// reasons.
package struct CaptureDateDecision: Equatable, Sendable {
    /// The date chosen; nil if every one was refused.
    package let chosen: CaptureDate?
    /// The dates from more reliable sources that were refused, each as a sentence for people.
    package let refused: [String]

    /// Decides by the given properties of a file, without system calls.
    ///
    /// - Parameters:
    ///   - recorded: the dates in the file, in any order.
    ///   - name: its name, which may contain a date.
    ///   - modified: its modification time, the last resort.
    ///   - now: dates later than a day from now are refused.
    ///   - trust: how reliable the source must be.
    ///   - zone: the offset in seconds east of UTC of this machine's zone at an instant (seconds since 1970), for dates
    ///     that are instants, such as those of GPS.
    package init(
        recorded: [RecordedDate], name: BytePath, modified: FileTime, now: FileTime, trust: DateTrust = .any,
        zone: (Int64) -> Int32
    ) {
        var candidates = recorded
        if let named = FileNameDate.find(in: name) { candidates.append(named) }
        let shown = CivilDateTime(modified).map { "\($0) UTC" } ?? "\(modified.seconds) s after 1970"
        candidates.append(RecordedDate(provenance: .fileModified, text: shown, reading: .instant(modified)))
        var refused: [String] = []
        for provenance in DateProvenance.allCases {
            for candidate in candidates where candidate.provenance == provenance {
                switch Self.judge(candidate, now: now, zone: zone) {
                case .success(let date) where !trust.accepts(provenance):
                    refused.append("\(provenance.name) \(date.text) is not sure enough by the configuration")
                case .success(let date):
                    self.init(chosen: date, refused: refused)
                    return
                case .failure(let refusal): refused.append(refusal.sentence)
                }
            }
        }
        self.init(chosen: nil, refused: refused)
    }

    private init(chosen: CaptureDate?, refused: [String]) {
        self.chosen = chosen
        self.refused = refused
    }

    /// The decision in a clause for people: `date from EXIF DateTimeOriginal, 2024-01-31T12:34:56+01:00`, with the
    /// refused dates.
    package var words: String {
        let found =
            chosen.map { "date from \($0.provenance.name), \($0.text)\($0.remark.map { "; \($0)" } ?? "")" }
            ?? "no date that can be believed"
        return refused.isEmpty ? found : "\(found) (\(refused.joined(separator: "; ")))"
    }

    private struct Refusal: Error {
        let sentence: String
    }

    private static func judge(
        _ candidate: RecordedDate, now: FileTime, zone: (Int64) -> Int32
    ) -> Result<CaptureDate, Refusal> {
        func refuse(_ why: String) -> Result<CaptureDate, Refusal> {
            .failure(Refusal(sentence: "\(candidate.provenance.name) \"\(candidate.text)\" \(why)"))
        }
        let date: CaptureDate
        switch candidate.reading {
        case .unreadable(let why): return refuse(why)
        case .local(let local, let offset, let hasTime):
            date = CaptureDate(
                local: local, offset: hasTime ? offset : nil, hasTime: hasTime, provenance: candidate.provenance,
                remark: candidate.remark)
        case .instant(let instant):
            // Checked before the call of `zone`: no time zone table covers more.
            guard (-70_000_000_000...260_000_000_000).contains(instant.seconds) else {
                return refuse("is beyond any calendar")
            }
            let offset = zone(instant.seconds)
            guard abs(Int64(offset)) <= 86_400, let local = CivilDateTime(instant, offset: offset) else {
                return refuse("is beyond any calendar")
            }
            // A clock that was never set starts at zero: 1970 for files, 1904 for films.
            if candidate.provenance == .fileModified, instant.seconds < 2 * 86_400 { return refuse("was never set") }
            if candidate.provenance == .videoHeader, local.date.year < 1971 { return refuse("was never set") }
            date = CaptureDate(local: local, offset: offset, hasTime: true, provenance: candidate.provenance)
        }
        if date.local.date.year < 1900 { return refuse("is before 1900") }
        let (limit, overflow) = now.seconds.addingReportingOverflow(86_400)
        if !overflow, date.local.instant(offset: date.offset ?? 0).seconds > limit { return refuse("is in the future") }
        return .success(date)
    }
}
