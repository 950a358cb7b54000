/// The progress of a long run, as one line: `41%  25,104/61,204  88/214 GB  41 MB/s  51 m left  2 deferred`.
package struct ProgressLine: Hashable, Sendable {
    package var photos: Int
    /// Nil until they are counted; percentage and time left are not shown before.
    package var totalPhotos: Int?
    package var bytes: UInt64
    package var totalBytes: UInt64?
    /// Seconds since the run began.
    package var seconds: Int64
    package var deferred: Int

    package init(
        photos: Int, totalPhotos: Int?, bytes: UInt64, totalBytes: UInt64?, seconds: Int64, deferred: Int = 0
    ) {
        (self.photos, self.totalPhotos, self.seconds, self.deferred) = (photos, totalPhotos, seconds, deferred)
        (self.bytes, self.totalBytes) = (bytes, totalBytes)
    }

    /// 0 to 100, rounded down, by bytes where they are known, else by photos; nil until counted.
    package var percent: Int? {
        if let totalBytes, totalBytes > 0 { return Int(Double(min(bytes, totalBytes)) / Double(totalBytes) * 100) }
        guard let totalPhotos, totalPhotos > 0 else { return nil }
        return Int(Double(min(max(0, photos), totalPhotos)) / Double(totalPhotos) * 100)
    }

    package var text: String { parts.joined(separator: "  ") }

    /// The same for a terminal of `columns`: with a bar if there is space, and without the last parts
    /// if there is not enough, since a wrapped line cannot be overwritten.
    package func text(columns: Int) -> String {
        var parts = self.parts
        // The last column stays empty, since some terminals wrap there.
        let room = max(1, columns - 1)
        let used = parts.joined(separator: "  ").count
        if let percent, room - used >= 2 + Self.shortestBar + 2 {
            let width = min(Self.longestBar, room - used - 4)
            let done = width * percent / 100
            parts.insert(
                "[" + String(repeating: "#", count: done) + String(repeating: "-", count: width - done) + "]", at: 1)
        }
        while parts.count > 1, parts.joined(separator: "  ").count > room { parts.removeLast() }
        return String(parts.joined(separator: "  ").prefix(room))
    }

    private static let shortestBar = 10
    private static let longestBar = 40

    private var parts: [String] {
        var parts: [String] = []
        if let percent { parts.append("\(percent)%") }
        parts.append(HumanText.count(photos) + (totalPhotos.map { "/" + HumanText.count($0) } ?? ""))
        parts.append(totalBytes.map { HumanText.bytes(bytes, of: $0) } ?? HumanText.bytes(bytes))
        if seconds > 0 {
            let rate = bytes / UInt64(seconds)
            parts.append(HumanText.bytes(rate) + "/s")
            if let totalBytes, rate > 0, totalBytes > bytes {
                // Rounded up: never zero while something is left.
                let left = (totalBytes - bytes - 1) / rate + 1
                parts.append(HumanText.shortWait(Int64(clamping: left)) + " left")
            }
        }
        if deferred > 0 { parts.append("\(HumanText.count(deferred)) deferred") }
        return parts
    }
}

/// When the next progress line is due: ten per second on a terminal; elsewhere one for each tenth of the total, and one
/// after some silence, by default ten minutes. Pure: the caller passes the time.
package struct ProgressPacer: Hashable, Sendable {
    private let isTerminal: Bool
    private var lastTime: Int64?
    private var lastTenth = 0
    private let silence: Int64

    /// `silence` is in seconds.
    package init(isTerminal: Bool, silence: Int64 = 600) {
        self.isTerminal = isTerminal
        self.silence = silence * 1000
    }

    /// Whether to print now; `milliseconds` is of any monotonic clock.
    package mutating func isDue(_ line: ProgressLine, milliseconds now: Int64) -> Bool {
        let tenth = (line.percent ?? 0) / 10
        let isDue: Bool
        if let lastTime {
            isDue = isTerminal ? now - lastTime >= 100 : tenth > lastTenth || now - lastTime >= silence
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
