import FileValues
import PhotoModel

/// What a key takes.
package enum ValueKind: Hashable, Sendable {
    /// A path of a directory or file; see ``PathBase`` for relative ones.
    case path
    /// A length of time within bounds.
    case span(least: TimeSpan, most: TimeSpan)
    /// One of these words.
    case choice([String])
    /// An array of patterns.
    case globs
    /// An action that this asker may ask for.
    case action(Action.Asker)
    /// The name of a timer or descriptor.
    case name
    /// A time of day.
    case timeOfDay
    /// A program and its arguments.
    case command
    /// Permission bits as octal text.
    case fileMode
    /// A number of bytes.
    case size
    /// A template of the library's directories.
    case layout
    /// A user or group of the system, by name or number.
    case account
    /// An array of some of these words.
    case choices([String])
    /// An array of names of inboxes.
    case names
    /// An array of networks.
    case networks
    /// An array of paths: from the root, or below something.
    case paths(areAbsolute: Bool)
    /// A whole number within bounds.
    case number(least: Int, most: Int)

    /// What stands in the manual for it.
    package var description: String {
        switch self {
        case .path: "path"
        case .span: "duration"
        case .choice(let words): words.map { "\"\($0)\"" }.joined(separator: " or ")
        case .globs: "array of patterns"
        case .action: "action"
        case .name: "name"
        case .timeOfDay: "time of day"
        case .command: "array: program and arguments"
        case .fileMode: "octal mode"
        case .size: "size"
        case .layout: "template"
        case .account: "name or number"
        case .choices(let words): "array of " + words.map { "\"\($0)\"" }.joined(separator: ", ")
        case .names: "array of names"
        case .networks: "array of networks"
        case .paths: "array of paths"
        case .number(let least, let most): "number from \(least) to \(most)"
        }
    }

    /// What to write, for messages.
    var hint: String {
        switch self {
        case .path: "write a path in quotes"
        case .span: "write \"5s\", \"2m\" or \"1h\""
        case .choice(let words): "write " + words.map { "\"\($0)\"" }.joined(separator: " or ")
        case .globs: "write patterns, like [\"*.tmp\", \"@eaDir\"]"
        case .action(let asker): "write one of \(Action.names(for: asker).joined(separator: ", "))"
        case .name: "write a name of letters, digits, - and _"
        case .timeOfDay: "write a time of day, like \"03:00\" or \"sun 03:00\""
        case .command: "write an array, like [\"/usr/local/lib/program\", \"argument\"]"
        case .fileMode: "write octal digits in quotes, like \"0640\""
        case .size: "write \"500M\" or \"20G\""
        case .layout: "write \"\(LibraryLayout.standard.template)\""
        case .account: "write a name in quotes"
        case .choices(let words): "write some of [" + words.map { "\"\($0)\"" }.joined(separator: ", ") + "]"
        case .networks: "write networks, like [\"192.168.1.0/24\", \"fd00::/8\"]"
        case .paths(true): "write paths, like [\"/media\"]"
        case .paths(false): "write paths without a slash before them, like [\"DCIM\"]"
        case .names: "write names, like [\"card\", \"phones\"]"
        case .number(let least, let most): "write a number from \"\(least)\" to \"\(most)\" in quotes"
        }
    }

    var takesArray: Bool {
        switch self {
        case .globs, .command, .choices, .names, .networks, .paths: true
        default: false
        }
    }
}

/// A value that its key's kind has accepted.
enum SettingValue: Hashable {
    case path(BytePath)
    case span(TimeSpan)
    case word(String)
    case globs([PathGlob])
    case action(Action)
    case timeOfDay(TimeOfDay)
    case command([String])
    case fileMode(UInt32)
    case size(ByteSize)
    case layout(LibraryLayout)
    case words([String])
    case networks([NetworkRange])
    case paths([BytePath])
    case number(Int)

    /// As it would be written in the file.
    var text: String {
        switch self {
        case .path(let path): tomlString(path.description)
        case .span(let span): tomlString(span.description)
        case .word(let word): tomlString(word)
        case .globs(let globs): "[" + globs.map { tomlString($0.pattern) }.joined(separator: ", ") + "]"
        case .action(let action): tomlString(action.description)
        case .timeOfDay(let time): tomlString(time.description)
        case .command(let words), .words(let words): "[" + words.map(tomlString).joined(separator: ", ") + "]"
        case .networks(let networks): "[" + networks.map { tomlString($0.description) }.joined(separator: ", ") + "]"
        case .paths(let paths): "[" + paths.map { tomlString($0.description) }.joined(separator: ", ") + "]"
        case .size(let size): tomlString(size.description)
        case .layout(let layout): tomlString(layout.template)
        case .number(let number): tomlString("\(number)")
        case .fileMode(let mode):
            tomlString(String(repeating: "0", count: max(1, 4 - String(mode, radix: 8).count)) + String(mode, radix: 8))
        }
    }
}

/// `text` as a TOML basic string.
func tomlString(_ text: String) -> String {
    var out = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"", "\\": out += "\\\(scalar)"
        case "\n": out += "\\n"
        case "\t": out += "\\t"
        case "\r": out += "\\r"
        case _ where scalar.value < 0x20 || scalar.value == 0x7F:
            let digits = String(scalar.value, radix: 16, uppercase: true)
            out += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        default: out.unicodeScalars.append(scalar)
        }
    }
    return out + "\""
}
