import FileValues
import PhotoModel

/// How relative paths of one source are understood.
struct PathBase: Hashable {
    /// What a relative path is relative to; nil where relative paths are refused.
    let directory: BytePath?
    /// Whether a relative path may begin with `..`: a person's shell does not mind.
    let mayClimb: Bool
}

/// Why a value is refused.
struct ValueMistake: Error {
    let message: String
    /// Of the array's element that is wrong, where one is.
    var position: TextPosition?

    init(_ message: String, at position: TextPosition? = nil) {
        self.message = message
        self.position = position
    }
}

extension ValueKind {
    /// The value that `node` stands for, or what is wrong with it.
    func read(_ node: TOMLNode, base: PathBase) throws(ValueMistake) -> SettingValue {
        if takesArray {
            let words = try words(of: node)
            switch self {
            case .command: return .command(try command(words))
            case .choices(let choices): return .words(try some(of: choices, words))
            case .names: return .words(try names(words))
            case .networks: return .networks(try networks(words))
            case .paths(let areAbsolute): return .paths(try paths(words, areAbsolute: areAbsolute))
            default: break
            }
            var globs: [PathGlob] = []
            for (word, position) in words {
                do throws(PathGlob.Mistake) { globs.append(try PathGlob(parsing: word)) } catch {
                    throw ValueMistake("pattern \(quoted(word)) \(error.message)", at: position)
                }
            }
            return .globs(globs)
        }
        guard case .string(let text) = node.content else {
            throw ValueMistake("expected \(expectation), found \(node.kindName); \(hint)")
        }
        return try read(text, base: base)
    }

    private var expectation: String { takesArray ? "an array of strings" : "a string" }

    private func words(of node: TOMLNode) throws(ValueMistake) -> [(String, TextPosition)] {
        guard case .array(let elements) = node.content else {
            throw ValueMistake("expected \(expectation), found \(node.kindName); \(hint)")
        }
        var words: [(String, TextPosition)] = []
        for element in elements {
            guard case .string(let word) = element.content else {
                throw ValueMistake(
                    "expected an array of strings, found \(element.kindName) in it; \(hint)", at: element.position)
            }
            words.append((word, element.position))
        }
        return words
    }

    private func read(_ text: String, base: PathBase) throws(ValueMistake) -> SettingValue {
        switch self {
        case .path: return .path(try path(text, base: base))
        case .span(let least, let most):
            guard let span = TimeSpan(text) else { throw ValueMistake(hint) }
            if span < least { throw ValueMistake("too short; at least \"\(least)\"") }
            if span > most { throw ValueMistake("too long; at most \"\(most)\"") }
            return .span(span)
        case .choice(let choices):
            if choices.contains(text) { return .word(text) }
            let meant = likelyMeaning(of: text, among: choices)
            throw ValueMistake(meant.map { "did you mean \"\($0)\"?" } ?? hint)
        case .action(let asker):
            do throws(Action.Mistake) { return .action(try Action(text, asker: asker)) } catch {
                throw ValueMistake(error.message)
            }
        case .name:
            guard isPlainName(text) else { throw ValueMistake("not a name; letters, digits, - and _, at most 64") }
            return .word(text)
        case .timeOfDay:
            guard let time = TimeOfDay(text) else { throw ValueMistake(hint) }
            return .timeOfDay(time)
        case .fileMode:
            guard (3...4).contains(text.utf8.count), let mode = UInt32(text, radix: 8), !text.hasPrefix("+") else {
                throw ValueMistake(hint)
            }
            if mode & 0o7111 != 0 { throw ValueMistake("photos are not programs; leave out execute and set-id bits") }
            if mode & 0o400 == 0 { throw ValueMistake("the owner must be able to read; \(hint)") }
            if mode & 0o002 != 0 { throw ValueMistake("everybody could change filed photos; \(hint)") }
            return .fileMode(mode)
        case .size:
            guard let size = ByteSize(text) else { throw ValueMistake(hint) }
            return .size(size)
        case .layout:
            do throws(LibraryLayout.TemplateError) { return .layout(try LibraryLayout(template: text)) } catch {
                throw ValueMistake("at its byte \(error.column): \(error.reason); \(hint)")
            }
        case .account:
            let isSound =
                !text.isEmpty && text.utf8.count <= 256 && text == excerpt(text, limit: 256)
                && !text.contains(":") && !text.contains("/") && !text.contains(" ")
            guard isSound else { throw ValueMistake("not the name of a user or group") }
            return .word(text)
        case .number(let least, let most):
            let isPlain = !text.isEmpty && text.utf8.count <= 9 && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
            guard isPlain, let number = Int(text), (least...most).contains(number) else { throw ValueMistake(hint) }
            return .number(number)
        case .globs, .command, .choices, .names, .networks, .paths:
            throw ValueMistake("expected \(expectation); \(hint)")
        }
    }

    private func some(of choices: [String], _ words: [(String, TextPosition)]) throws(ValueMistake) -> [String] {
        for (index, (word, position)) in words.enumerated() {
            if !choices.contains(word) {
                let meant = likelyMeaning(of: word, among: choices).map { "did you mean \"\($0)\"?" }
                throw ValueMistake("\(quoted(word)) is none of them; \(meant ?? hint)", at: position)
            }
            if words[..<index].contains(where: { $0.0 == word }) {
                throw ValueMistake("\(quoted(word)) stands there twice", at: position)
            }
        }
        return words.map(\.0)
    }

    private func names(_ words: [(String, TextPosition)]) throws(ValueMistake) -> [String] {
        if words.isEmpty { throw ValueMistake("no name is in it; leave the key out for all") }
        for (word, position) in words where !isPlainName(word) {
            throw ValueMistake("\(quoted(word)) is no name; letters, digits, - and _, at most 64", at: position)
        }
        return words.map(\.0)
    }

    private func networks(_ words: [(String, TextPosition)]) throws(ValueMistake) -> [NetworkRange] {
        var networks: [NetworkRange] = []
        for (word, position) in words {
            guard let network = NetworkRange(word) else {
                throw ValueMistake("\(quoted(word)) is no network; \(hint)", at: position)
            }
            networks.append(network)
        }
        return networks
    }

    private func paths(_ words: [(String, TextPosition)], areAbsolute: Bool) throws(ValueMistake) -> [BytePath] {
        if words.isEmpty { throw ValueMistake("no path is in it; \(hint)") }
        var paths: [BytePath] = []
        for (word, position) in words {
            do throws(ValueMistake) {
                let isFromRoot = word.hasPrefix("/")
                if isFromRoot != areAbsolute {
                    throw ValueMistake("\(quoted(word)) is \(isFromRoot ? "" : "not ")from the root; \(hint)")
                }
                let whole = try path(word, base: PathBase(directory: "/", mayClimb: false))
                let relative = whole.relative(to: "/") ?? ""
                if !areAbsolute, !relative.isSafeBeneath {
                    throw ValueMistake("\(quoted(word)) names nothing; \(hint)")
                }
                paths.append(areAbsolute ? whole : relative)
            } catch { throw ValueMistake(error.message, at: position) }
        }
        return paths
    }

    private func command(_ words: [(String, TextPosition)]) throws(ValueMistake) -> [String] {
        guard let program = words.first else { throw ValueMistake("an empty command; \(hint)") }
        guard program.0.hasPrefix("/") else {
            throw ValueMistake("\(quoted(program.0)) is not an absolute path; no PATH is searched", at: program.1)
        }
        return words.map(\.0)
    }

    private func path(_ text: String, base: PathBase) throws(ValueMistake) -> BytePath {
        if text.isEmpty { throw ValueMistake("an empty path; write a path in quotes") }
        if text.hasPrefix("~") { throw ValueMistake("~ is the shell's; write the whole path") }
        if text.contains("$") || text.hasPrefix("%") {
            throw ValueMistake("variables are not replaced; write the whole path")
        }
        let written = BytePath(text)
        if written.bytes.count > 4095 || written.components.contains(where: { $0.bytes.count > 255 }) {
            throw ValueMistake("longer than Linux allows")
        }
        var names = written.components.filter { $0 != "." }
        var directory: BytePath = "/"
        if !written.isAbsolute {
            guard let base = base.directory else {
                throw ValueMistake("a relative path; write it from the root, like \"/srv/photos\"")
            }
            directory = base
        }
        while base.mayClimb, !written.isAbsolute, names.first == ".." {
            directory = directory.parent.isEmpty ? "/" : directory.parent
            names.removeFirst()
        }
        if names.contains("..") { throw ValueMistake("write the path without \"..\"") }
        return names.reduce(directory) { $0.appending($1) }
    }
}
