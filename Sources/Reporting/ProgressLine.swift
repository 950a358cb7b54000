/// How far a long run is, as one line: `41%  25,104/61,204  88/214 GB  41 MB/s  51 m left  2 deferred`.
package struct ProgressLine: Hashable, Sendable {
    package var photos: Int
    /// Nil until they are counted; no share and no time left are shown before.
    package var totalPhotos: Int?
    package var bytes: UInt64
    package var totalBytes: UInt64?
    /// Since the run began.
    package var seconds: Int64
    package var deferred: Int

    package init(
        photos: Int, totalPhotos: Int?, bytes: UInt64, totalBytes: UInt64?, seconds: Int64, deferred: Int = 0
    ) {
        self.photos = photos
        self.totalPhotos = totalPhotos
        self.bytes = bytes
        self.totalBytes = totalBytes
        self.seconds = seconds
        self.deferred = deferred
    }

    /// 0 to 100, rounded down, by bytes where they are known, else by photos; nil until counted.
    package var percent: Int? {
        if let totalBytes, totalBytes > 0 { return Int(Double(min(bytes, totalBytes)) / Double(totalBytes) * 100) }
        guard let totalPhotos, totalPhotos > 0 else { return nil }
        return Int(Double(min(max(0, photos), totalPhotos)) / Double(totalPhotos) * 100)
    }

    package var text: String {
        var parts: [String] = []
        if let percent { parts.append("\(percent)%") }
        parts.append(HumanText.count(photos) + (totalPhotos.map { "/" + HumanText.count($0) } ?? ""))
        parts.append(totalBytes.map { HumanText.bytes(bytes, of: $0) } ?? HumanText.bytes(bytes))
        if seconds > 0 {
            let rate = bytes / UInt64(seconds)
            parts.append(HumanText.bytes(rate) + "/s")
            if let totalBytes, rate > 0, totalBytes > bytes {
                let left = (totalBytes - bytes) / rate
                parts.append(HumanText.shortWait(Int64(clamping: left)) + " left")
            }
        }
        if deferred > 0 { parts.append("\(HumanText.count(deferred)) deferred") }
        return parts.joined(separator: "  ")
    }
}

/// When the next progress line is due: ten a second on a terminal; elsewhere one for each tenth of the way, and one
/// after ten silent minutes. Pure: the caller gives the time.
package struct ProgressPacer: Hashable, Sendable {
    private let isTerminal: Bool
    private var lastTime: Int64?
    private var lastTenth = 0

    package init(isTerminal: Bool) { self.isTerminal = isTerminal }

    /// Whether to print now; `milliseconds` is any clock that does not run backwards.
    package mutating func isDue(_ line: ProgressLine, milliseconds now: Int64) -> Bool {
        let tenth = (line.percent ?? 0) / 10
        let isDue: Bool
        if let lastTime {
            isDue = isTerminal ? now - lastTime >= 100 : tenth > lastTenth || now - lastTime >= 600_000
        } else {
            isDue = isTerminal || tenth > 0
        }
        if isDue || lastTime == nil {
            lastTime = now
            lastTenth = max(tenth, lastTenth)
        }
        return isDue
    }
}
