import FileValues
import PhotoModel

/// The kinds of values.
enum Form {
    // MARK: - Words

    static let yesNo = either("yes", or: "no")

    /// One of two words.
    static func either(_ yes: String, or no: String) -> ValueForm<Bool> { choice(among: [(yes, true), (no, false)]) }

    /// A case of an enumeration.
    static func choice<Choice>() -> ValueForm<Choice>
    where Choice: RawRepresentable<String> & CaseIterable & Equatable & Sendable {
        choice(among: Choice.allCases.map { ($0.rawValue, $0) })
    }

    private static func choice<Value: Equatable & Sendable>(
        among choices: [(word: String, value: Value)]
    ) -> ValueForm<Value> {
        let words = choices.map(\.word)
        let name = words.map { "\"\($0)\"" }.joined(separator: " or ")
        let write = { @Sendable (value: Value) in choices.first { $0.value == value }?.word ?? "" }
        return ValueForm(name, hint: "write " + name, write: write) { (text, _) throws(ValueMistake) in
            if let choice = choices.first(where: { $0.word == text }) { return choice.value }
            guard let meant = likelyMeaning(of: text, among: words) else { return nil }
            throw ValueMistake("did you mean \"\(meant)\"?")
        }
    }

    /// Some cases of an enumeration, each at most once.
    static func choices<Choice>() -> ValueForm<[Choice]>
    where Choice: RawRepresentable<String> & CaseIterable & Equatable & Sendable {
        let words = Choice.allCases.map(\.rawValue)
        let list = words.map { "\"\($0)\"" }.joined(separator: ", ")
        return ValueForm(
            arrayOf: list, element: "a possible value", hint: "write some of [\(list)]", write: { $0.rawValue }
        ) { (word, before) throws(ValueMistake) in
            guard let choice = Choice(rawValue: word) else {
                guard let meant = likelyMeaning(of: word, among: words) else { return nil }
                throw ValueMistake("\(quoted(word)) is not a possible value; did you mean \"\(meant)\"?")
            }
            if before.contains(choice) { throw ValueMistake("\(quoted(word)) is given twice") }
            return choice
        }
    }

    /// The name of an inbox, timer or descriptor.
    static let name = ValueForm("name", hint: nameHint) { text, _ in isPlainName(text) ? text : nil }

    static let nameHint = "write letters, digits, - and _, at most 64"

    /// Names of inboxes.
    static let names = ValueForm(
        arrayOf: "names", element: "a valid name",
        hint: "write names of letters, digits, - and _, or leave the key out for all",
        mayBeEmpty: false
    ) { word, _ in isPlainName(word) ? word : nil }

    /// A user or group of the system, by name or number.
    static let account = ValueForm("name or number", hint: "write the name of a user or group") { text, _ in
        let isSound = !text.isEmpty && text.utf8.count <= 256 && text == excerpt(text, limit: 256)
        return isSound && !text.contains { ":/ ".contains($0) } ? text : nil
    }

    // MARK: - Numbers

    /// A whole number.
    static func number<Number: FixedWidthInteger & Sendable>(_ bounds: ClosedRange<Number>) -> ValueForm<Number> {
        let (least, most) = (bounds.lowerBound, bounds.upperBound)
        return ValueForm(
            "number from \(least) to \(most)", hint: "write a number from \"\(least)\" to \"\(most)\" in quotes"
        ) { text, _ in
            let isPlain = text.utf8.count <= 9 && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
            return Number(text).flatMap { isPlain && bounds.contains($0) ? $0 : nil }
        }
    }

    /// A length of time within these seconds.
    static func span(_ seconds: ClosedRange<Int64>) -> ValueForm<TimeSpan> {
        let (least, most) = (TimeSpan.seconds(seconds.lowerBound), TimeSpan.seconds(seconds.upperBound))
        return ValueForm("duration", hint: "write \"5s\", \"2m\" or \"1h\"") { (text, _) throws(ValueMistake) in
            guard let span = TimeSpan(text) else { return nil }
            if span < least { throw ValueMistake("too short; at least \"\(least)\"") }
            if span > most { throw ValueMistake("too long; at most \"\(most)\"") }
            return span
        }
    }

    static let timeOfDay = ValueForm("time of day", hint: "write a time of day, like \"03:00\" or \"sun 03:00\"") {
        text, _ in TimeOfDay(text)
    }

    /// A number of bytes.
    static let size = ValueForm("size", hint: "write \"500M\" or \"20G\"") { text, _ in ByteSize(text) }

    /// Permission bits of files, in octal.
    static let fileMode = ValueForm("octal mode", hint: modeHint, write: { octal($0) }) {
        (text, _) throws(ValueMistake) -> UInt32? in
        guard (3...4).contains(text.utf8.count), let mode = UInt32(text, radix: 8), !text.hasPrefix("+") else {
            return nil
        }
        if mode & 0o7111 != 0 { throw ValueMistake("photos are not programs; leave out execute and set-id bits") }
        if mode & 0o400 == 0 { throw ValueMistake("the owner must be able to read; \(modeHint)") }
        if mode & 0o002 != 0 { throw ValueMistake("everybody could change filed photos; \(modeHint)") }
        return mode
    }

    private static let modeHint = "write octal digits in quotes, like \"0640\""

    // MARK: - Others

    /// An action that `asker` may request.
    static func action(_ asker: Action.Asker) -> ValueForm<Action> {
        ValueForm("action", hint: "write one of \(Action.names(for: asker).joined(separator: ", "))") {
            (text, _) throws(ValueMistake) in try Action(text, asker: asker)
        }
    }

    /// A program and its arguments.
    static let command = ValueForm(
        arrayOf: "program and arguments", element: "an absolute path",
        hint: "write an array, like [\"/usr/local/lib/program\", \"argument\"]", mayBeEmpty: false
    ) { (word, before: [String]) in !before.isEmpty || word.hasPrefix("/") ? word : nil }

    static let networks = ValueForm(
        arrayOf: "networks", element: "a network", hint: "write networks, like [\"192.168.1.0/24\", \"fd00::/8\"]"
    ) { word, _ in NetworkRange(word) }

    static let patterns = ValueForm(
        arrayOf: "patterns", element: "a pattern", hint: "write patterns, like [\"*.tmp\", \"@eaDir\"]"
    ) { (word, _) throws(ValueMistake) in
        do throws(ValueMistake) { return try PathGlob(parsing: word) } catch {
            throw ValueMistake("pattern \(quoted(word)) \(error.message)")
        }
    }

    /// A template of the library's directories.
    static let layout = ValueForm("template", hint: layoutHint, write: { $0.template }) {
        (text, _) throws(ValueMistake) in
        do throws(LibraryLayout.TemplateError) { return try LibraryLayout(template: text) } catch {
            throw ValueMistake("at byte \(error.column): \(error.reason); \(layoutHint)")
        }
    }

    private static let layoutHint = "write \"\(LibraryLayout.standard.template)\""

    // MARK: - Paths

    /// A directory or file.
    static let path = ValueForm("path", hint: "write a path in quotes", read: readPath)

    /// A file, or a database.
    static let catalogue = ValueForm(
        "path or database", hint: "write a path, or \"service=NAME\", in quotes"
    ) { (text, base) throws(ValueMistake) -> CataloguePlace? in
        guard CataloguePlace.isServer(text) else { return .file(try readPath(text, base: base)) }
        guard !CataloguePlace.hasPassword(text) else {
            throw ValueMistake("a password here would be shown to others; write passfile=FILE, or a service with one")
        }
        return .server(text)
    }

    static let absolutePaths = paths(areAbsolute: true, hint: "write paths, like [\"/media\"]")

    /// Paths below something.
    static let relativePaths = paths(
        areAbsolute: false, hint: "write paths without a leading slash, like [\"DCIM\"]")

    private static func paths(areAbsolute: Bool, hint: String) -> ValueForm<[BytePath]> {
        let element = areAbsolute ? "an absolute path" : "a relative path"
        return ValueForm(arrayOf: "paths", element: element, hint: hint, mayBeEmpty: false) {
            (word, _) throws(ValueMistake) in
            if word.hasPrefix("/") != areAbsolute { return nil }
            let whole = try readPath(word, base: PathBase(directory: "/", mayClimb: false))
            if areAbsolute { return whole }
            return whole.relative(to: "/").flatMap { $0.isSafeBeneath ? $0 : nil }
        }
    }

    @Sendable private static func readPath(_ text: String, base: PathBase) throws(ValueMistake) -> BytePath {
        if text.isEmpty { throw ValueMistake("an empty path; write a path in quotes") }
        if text.hasPrefix("~") { throw ValueMistake("~ is not expanded; write the whole path") }
        if text.contains("$") || text.hasPrefix("%") {
            throw ValueMistake("variables are not expanded; write the whole path")
        }
        let written = BytePath(text)
        if written.bytes.count > 4095 || written.components.contains(where: { $0.bytes.count > 255 }) {
            throw ValueMistake("longer than Linux allows")
        }
        var names = written.components.filter { $0 != "." }
        guard var directory = written.isAbsolute ? "/" : base.directory else {
            throw ValueMistake("a relative path; write an absolute one, like \"/srv/photos\"")
        }
        while base.mayClimb, !written.isAbsolute, names.first == ".." {
            directory = directory.parent.isEmpty ? "/" : directory.parent
            names.removeFirst()
        }
        if names.contains("..") { throw ValueMistake("write the path without \"..\"") }
        return names.reduce(directory) { $0.appending($1) }
    }
}
