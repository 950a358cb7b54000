import ArgumentParser
import CommandContact
import CommandSupport
import FileValues
import Settings
import Watching

struct WatchShapeOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Write %w directory, %f name, %e event.", valueName: "format"))
    var format: RawArgument?

    @Option(
        parsing: .unconditional, help: ArgumentHelp("The format of %T; see strftime(3).", valueName: "format"))
    var timefmt: RawArgument?

    @Flag(help: "Do not append a newline to --format output.")
    var noNewline = false

    @Flag(name: [.customShort("0"), .long], help: "End each event with NUL instead of a newline.")
    var null = false

    @Flag(help: "Write one JSON object a line.")
    var json = false

    @Flag(name: .shortAndLong, help: "Write directory, event and name, comma-separated.")
    var csv = false

    func validate() throws {
        let shapes = [(json, "--json"), (csv, "--csv"), (format != nil, "--format")].filter(\.0).map(\.1)
        if shapes.count > 1 { throw ValidationError("\(shapes[0]) and \(shapes[1]) exclude each other.") }
        if null, json || csv { throw ValidationError("--null and \(shapes[0]) exclude each other.") }
        if noNewline, null { throw ValidationError("--no-newline and --null exclude each other.") }
        if format == nil {
            if noNewline { throw ValidationError("--no-newline requires --format.") }
            if timefmt != nil { throw ValidationError("--timefmt requires --format.") }
        }
    }

    /// The format. Lines begin with the kind if `showsKind`; those of kernel records have it between directory and name.
    func format(showsKind: Bool, isRaw: Bool = false, isTerminal: Bool) throws -> EventFormat {
        if json { return EventFormat(.json) }
        if csv { return EventFormat(.csv) }
        let terminator: UInt8? = noNewline ? nil : null ? 0 : UInt8(ascii: "\n")
        let text = format.map(\.path.bytes) ?? Array((isRaw ? "%w %e %f" : showsKind ? "%e %w%f" : "%w%f").utf8)
        let format = try FormatString(text, terminator: terminator)
        if format.hasTime, timefmt == nil {
            throw ValidationError("--format has %T, which requires --timefmt, such as --timefmt %FT%T.")
        }
        return EventFormat(format, time: timefmt.map { TimeFormat($0.path) }, isEscaped: isTerminal && !null)
    }
}

struct WatchPathOptions: ParsableArguments {
    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Exclude paths that match this extended regex.", valueName: "regex"))
    var exclude: [RawArgument] = []

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("The same, ignoring case.", valueName: "regex"))
    var excludei: [RawArgument] = []

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Report only paths that match.", valueName: "regex"))
    var include: [RawArgument] = []

    @Option(
        parsing: .unconditionalSingleValue, help: ArgumentHelp("The same, ignoring case.", valueName: "regex"))
    var includei: [RawArgument] = []

    @Option(
        parsing: .unconditionalSingleValue,
        help: ArgumentHelp("Exclude *.tmp anywhere, raw/*.xmp from DIR down.", valueName: "glob"))
    var excludeGlob: [String] = []

    @Option(parsing: .unconditionalSingleValue, help: ArgumentHelp("Report only paths that match.", valueName: "glob"))
    var includeGlob: [String] = []

    @Option(help: ArgumentHelp("Read DIRs from a file, one a line; - is stdin.", valueName: "file"))
    var fromfile: RawArgument?

    /// Reads the patterns; without @DIR.
    func filter() throws -> PathFilter {
        PathFilter(
            excluded: try expressions("--exclude", exclude) + expressions("--excludei", excludei, ignoringCase: true),
            included: try expressions("--include", include) + expressions("--includei", includei, ignoringCase: true),
            excludedGlobs: try globs("--exclude-glob", excludeGlob),
            includedGlobs: try globs("--include-glob", includeGlob))
    }

    private func expressions(
        _ option: String, _ patterns: [RawArgument], ignoringCase: Bool = false
    ) throws -> [RegularExpression] {
        let globs = option.hasPrefix("--exclude") ? "--exclude-glob" : "--include-glob"
        return try patterns.map { pattern -> RegularExpression in
            do throws(RegularExpression.Mistake) {
                return try RegularExpression(pattern.path, ignoringCase: ignoringCase)
            } catch {
                throw ValidationError(
                    "\(option) \(pattern.path) is not a regular expression: \(error.message). For *.tmp use \(globs).")
            }
        }
    }
}

/// Options of inotifywait that `watch` refuses, with their replacements.
struct WatchRefusedOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: .hidden) var daemon = false
    @Flag(name: .shortAndLong, help: .hidden) var syslog = false
    @Flag(name: [.customShort("F"), .long], help: .hidden) var fanotify = false
    @Flag(name: [.customShort("S"), .long], help: .hidden) var filesystem = false
    @Flag(name: .shortAndLong, help: .hidden) var filename = false
    // These two are accepted: they are always in effect.
    @Flag(name: [.customShort("P"), .long], help: .hidden) var noDereference = false
    @Flag(name: [.customShort("I"), .long], help: .hidden) var inotify = false

    func check() throws {
        if daemon {
            throw ValidationError(
                "--daemon is not supported: use systemd-run --user, or nohup photoinbox watch --outfile FILE DIR &.")
        }
        if syslog { throw ValidationError("--syslog is not supported: use 2> >(logger -t watch).") }
        if fanotify { throw ValidationError("--fanotify is not supported: inotify(7) needs no root.") }
        if filename { throw ValidationError("--filename is not needed: names are always reported; see --format.") }
        if filesystem { throw ValidationError("--filesystem is not supported: give the mount point as DIR.") }
    }
}

/// Patterns as the configuration's `exclude` has them, read by the same code.
func globs(_ option: String, _ patterns: [String]) throws -> [PathGlob] {
    guard !patterns.isEmpty else { return [] }
    var builder = SettingsBuilder(context: SettingsContext(workingDirectory: "/"))
    builder.addFlag("--library", key: "library", value: "/library")
    builder.addInbox("watched=/watched", flag: "DIR")
    builder.addFlag(option, key: "inbox.watched.exclude", values: patterns)
    do { return try builder.build().inboxes.first?.exclude ?? [] } catch {
        throw ValidationError(error.description)
    }
}

/// Splits short options of `watch` as getopt(3) does: `-mrqe create`, `-ecreate`, `-t5`. ArgumentParser requires them one
/// by one.
enum ShortOptions {
    private static let withValue: Set<Character> = ["e", "t", "o"]

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
