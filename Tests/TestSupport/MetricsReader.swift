/// Parses metrics strictly by the specifications, OpenMetrics 1.0 or Prometheus's text format, and requires
/// more than both: every family has a type and help, and there are no timestamps, exemplars or `_created`.
public struct MetricsReader {
    /// One line of values.
    public struct Sample: Hashable, Sendable {
        /// Its whole name, with suffix.
        public let name: String
        /// Values by name.
        public let labels: [String: String]
        /// Its value.
        public let value: Double
    }

    /// All samples of one name.
    public struct Family: Hashable, Sendable {
        /// The name in `# TYPE`.
        public let name: String
        /// `counter`, `gauge` or `histogram`.
        public let type: String
        /// `# UNIT`, if any.
        public fileprivate(set) var unit: String?
        /// `# HELP`.
        public fileprivate(set) var help = ""
        /// In their order.
        public fileprivate(set) var samples: [Sample] = []
    }

    /// A mistake in a line.
    public struct Mistake: Error, CustomStringConvertible {
        /// The line and its mistake.
        public let description: String
    }

    /// In their order.
    public private(set) var families: [Family] = []
    private let isOpenMetrics: Bool

    /// Parses `text`; throws the first mistake.
    public init(_ text: String, isOpenMetrics: Bool = true) throws {
        self.isOpenMetrics = isOpenMetrics
        guard text.hasSuffix("\n") else { throw Mistake(description: "the last line has no end") }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        if isOpenMetrics {
            guard lines.popLast() == "# EOF" else { throw Mistake(description: "the last line is not # EOF") }
        }
        for line in lines {
            do { try read(String(line)) } catch let mistake as Mistake {
                throw Mistake(description: "\(line): \(mistake.description)")
            }
        }
        for family in families { try check(family) }
    }

    /// The value of the only sample with this name and exactly these labels.
    public func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        families.lazy.flatMap(\.samples).first { $0.name == name && $0.labels == labels }?.value
    }

    private mutating func read(_ line: String) throws {
        if line.hasPrefix("# ") {
            let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
            guard words.count == 4, Self.isName(words[2]) else { throw Mistake(description: "no descriptor") }
            if words[1] == "TYPE" {
                guard ["counter", "gauge", "histogram"].contains(words[3]) else {
                    throw Mistake(description: "node_exporter refuses this type")
                }
                guard !families.contains(where: { $0.name == words[2] }) else {
                    throw Mistake(description: "the family is told twice, or not in one piece")
                }
                families.append(Family(name: words[2], type: words[3]))
                return
            }
            guard var family = families.popLast(), family.name == words[2], family.samples.isEmpty else {
                throw Mistake(description: "it does not follow its TYPE")
            }
            switch words[1] {
            case "UNIT" where isOpenMetrics && family.unit == nil && family.help.isEmpty: family.unit = words[3]
            case "HELP" where family.help.isEmpty && !words[3].isEmpty:
                guard !words[3].contains(where: { $0 == "\\" || $0 == "\"" }) else {
                    throw Mistake(description: "help wants escaping")
                }
                family.help = words[3]
            default: throw Mistake(description: "no such descriptor here")
            }
            families.append(family)
            return
        }
        let sample = try Self.sample(line)
        guard var family = families.popLast() else { throw Mistake(description: "no family") }
        guard !family.samples.contains(where: { $0.name == sample.name && $0.labels == sample.labels }) else {
            throw Mistake(description: "the same series twice")
        }
        family.samples.append(sample)
        families.append(family)
    }

    /// `name{label="value",…} number`, and nothing else.
    private static func sample(_ line: String) throws -> Sample {
        var rest = line[...]
        let name = String(rest.prefix { $0 != "{" && $0 != " " })
        guard isName(name) else { throw Mistake(description: "no name") }
        rest = rest.dropFirst(name.count)
        var labels: [String: String] = [:]
        if rest.first == "{" {
            rest = rest.dropFirst()
            while true {
                let label = String(rest.prefix { $0 != "=" })
                guard isName(label), !label.contains(":"), labels[label] == nil, !label.hasPrefix("__") else {
                    throw Mistake(description: "no label: \(label)")
                }
                rest = rest.dropFirst(label.count)
                guard rest.hasPrefix("=\"") else { throw Mistake(description: "no value of \(label)") }
                rest = rest.dropFirst(2)
                var value = ""
                while let next = rest.popFirst(), next != "\"" {
                    guard next == "\\" else {
                        value.append(next)
                        continue
                    }
                    switch rest.popFirst() {
                    case "\\": value += "\\"
                    case "\"": value += "\""
                    case "n": value += "\n"
                    default: throw Mistake(description: "no escape")
                    }
                }
                labels[label] = value
                switch rest.popFirst() {
                case ",": continue
                case "}": break
                default: throw Mistake(description: "no end of the labels")
                }
                break
            }
        }
        guard rest.first == " ", let value = number(String(rest.dropFirst())) else {
            throw Mistake(description: "no value")
        }
        return Sample(name: name, labels: labels, value: value)
    }

    private static func number(_ text: String) -> Double? {
        switch text {
        case "+Inf": return .infinity
        case "-Inf": return -.infinity
        case "NaN": return .nan
        default:
            guard text.allSatisfy({ $0.isASCII && ($0.isNumber || "+-.eE".contains($0)) }) else { return nil }
            return Double(text)
        }
    }

    private static func isName(_ text: String) -> Bool {
        guard let first = text.first, first.isASCII, first.isLetter || first == "_" || first == ":" else {
            return false
        }
        return text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == ":") }
    }

    private func check(_ family: Family) throws {
        func wrong(_ text: String) -> Mistake { Mistake(description: "\(family.name): \(text)") }
        if family.help.isEmpty { throw wrong("no help") }
        if let unit = family.unit, !family.name.hasSuffix("_" + unit) { throw wrong("its name lacks its unit") }
        if isOpenMetrics, family.name.hasSuffix("_seconds") || family.name.hasSuffix("_bytes"), family.unit == nil {
            throw wrong("no unit")
        }
        switch family.type {
        case "counter":
            let name = isOpenMetrics ? family.name + "_total" : family.name
            if !name.hasSuffix("_total") || name.hasSuffix("_total_total") { throw wrong("a counter ends in _total") }
            for sample in family.samples where sample.name != name || !(sample.value >= 0) || sample.value.isInfinite {
                throw wrong("\(sample) is no counter")
            }
        case "gauge":
            if family.name.hasSuffix("_total") { throw wrong("no gauge ends so") }
            for sample in family.samples where sample.name != family.name { throw wrong("\(sample) is another's") }
        default: try checkHistogram(family)
        }
        if Set(family.samples.map { Set($0.labels.keys) }).count > (family.type == "histogram" ? 2 : 1) {
            throw wrong("its labels differ")
        }
    }

    private func checkHistogram(_ family: Family) throws {
        func wrong(_ text: String) -> Mistake { Mistake(description: "\(family.name): \(text)") }
        var rest = family.samples[...]
        while let first = rest.first {
            guard first.labels["le"] != nil else { throw wrong("it begins with no bucket") }
            var own = first.labels
            own["le"] = nil
            var (bound, count) = (-Double.infinity, 0.0)
            while let bucket = rest.first, bucket.name == family.name + "_bucket" {
                var others = bucket.labels
                guard let text = others.removeValue(forKey: "le"), let next = Self.number(text), others == own,
                    next > bound, bucket.value >= count
                else { throw wrong("\(bucket) is out of order") }
                (bound, count) = (next, bucket.value)
                rest = rest.dropFirst()
                if bound == .infinity { break }
            }
            guard bound == .infinity else { throw wrong("no last bucket") }
            guard let sum = rest.popFirst(), sum.name == family.name + "_sum", sum.labels == own, sum.value >= 0,
                let total = rest.popFirst(), total.name == family.name + "_count", total.labels == own,
                total.value == count
            else { throw wrong("sum and count do not follow, or do not agree") }
        }
    }
}
