/// Splits short options of `watch` as getopt(3) does: `-mrqe create`, `-ecreate`, `-t5`. ArgumentParser requires them one
/// by one.
enum ShortOptions {
    private static let withValue: Set<Character> = ["e", "t", "o"]

    /// `arguments` with each group split; those of other commands unchanged.
    static func separated(_ arguments: [String]) -> [String] {
        guard arguments.first == "watch" else { return arguments }
        var result: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" { return result + [argument] + rest }
            guard argument.count > 2, argument.hasPrefix("-"), !argument.hasPrefix("--") else {
                result.append(argument)
                // The next one is its value, even if it looks like an option.
                if takesValue(argument), let value = rest.popFirst() { result.append(value) }
                continue
            }
            var letters = argument.dropFirst()
            while let letter = letters.popFirst() {
                result.append("-\(letter)")
                guard withValue.contains(letter) else { continue }
                if !letters.isEmpty {
                    result.append(String(letters))
                } else if let value = rest.popFirst() {
                    result.append(value)
                }
                break
            }
        }
        return result
    }

    private static func takesValue(_ argument: String) -> Bool {
        longWithValue.contains(argument)
            || argument.count == 2 && argument.hasPrefix("-")
                && withValue.contains(argument.last ?? "-")
    }

    private static let longWithValue: Set<String> = [
        "--event", "--events", "--format", "--timefmt", "--exclude", "--excludei", "--include", "--includei",
        "--exclude-glob", "--include-glob", "--fromfile", "--outfile", "--timeout", "--count",
    ]
}
