import FileValues

/// The content of a pressure file; see Documentation/accounting/psi.rst of the kernel.
public struct PressureReading: Hashable, Sendable {
    /// One line of the file.
    public struct Line: Hashable, Sendable {
        /// Percent of the last 10 seconds.
        public let average10: Double
        /// Percent of the last minute.
        public let average60: Double
        /// Percent of the last five minutes.
        public let average300: Double
        /// Since boot.
        public let total: Duration
    }

    /// The time in which at least one task waited for the resource.
    public let some: Line
    /// The time in which all non-idle tasks waited; nil if the kernel does not report it (cpu, before 5.13).
    public let full: Line?

    /// Parses the text of a pressure file; nil if malformed.
    public init?(parsing text: some Collection<UInt8>) {
        var lines: [Substring: Line] = [:]
        for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            guard let name = words.first else { continue }
            var values: [Substring: Substring] = [:]
            for word in words.dropFirst() {
                let parts = word.split(separator: "=", maxSplits: 1)
                if parts.count == 2 { values[parts[0]] = parts[1] }
            }
            guard let average10 = values["avg10"].flatMap({ Double($0) }),
                let average60 = values["avg60"].flatMap({ Double($0) }),
                let average300 = values["avg300"].flatMap({ Double($0) }),
                let total = values["total"].flatMap({ Int64($0) })
            else { continue }
            lines[name] = Line(
                average10: average10, average60: average60, average300: average300, total: .microseconds(total))
        }
        guard let some = lines["some"] else { return nil }
        self.some = some
        full = lines["full"]
    }

    /// Reads an open pressure file; the caller keeps `descriptor`. Nil if the format is unknown.
    public init?(reading descriptor: Int32) throws(SystemCallError) {
        self.init(parsing: try contents(ofKernelFile: descriptor, name: "pressure"))
    }
}
