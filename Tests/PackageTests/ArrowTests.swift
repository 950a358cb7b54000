import Foundation
import Testing

/// The allowed imports: the daemon is at the top, features do not import each other, and no lower module imports them.
@Suite("Imports between modules", .timeLimit(.minutes(60)))
struct ArrowTests {
    /// The modules below the features.
    static let below: Set<String> = [
        "Catalogue", "CommandContact", "CommandSupport", "ControlProtocol", "DaemonSupport", "DirectoryWatch",
        "FileValues", "Filing", "FleetRules", "HTTPValues", "Ingest", "LibraryCare", "LinuxKernel", "LogMessages",
        "PhotoFormats", "PhotoModel", "PostgreSQL", "QueueActors", "Reporting", "Settings", "SystemMonitor", "Systemd",
        "Transfers", "WatchCore", "WebServing",
    ]
    /// The modules of each feature.
    static let features: [Set<String>] = [
        ["CSV", "Describing"], ["Cards", "Importing"], ["DecoderService", "Decoding", "Renditions", "Thumbnails"],
        ["FetchService", "Fetching", "Links"], ["Hooks"], ["Storing"], ["Top"], ["Watching"],
        ["DropPages", "DropStore", "WebAccounts", "WebPages"],
    ]
    static let daemon: Set<String> = ["DaemonHost", "DaemonProgram", "photoinboxd"]
    /// What the daemon alone is made of.
    static let ofDaemon = daemon.union(["Cards", "DaemonSupport", "Hooks", "Ingest", "Links", "Thumbnails"])
    static let programs: Set<String> = [
        "Explaining", "SettingUp", "WebProgram", "manual", "photoinbox", "photoinbox-decoder", "photoinbox-fetch",
        "photoinbox-web", "photoinbox-drop",
    ]
    /// The modules of this package that each module's sources import.
    private let imports: [String: Set<String>]
    private let manifest: [String: Set<String>]

    init() throws {
        manifest = Self.dependencies(
            in: try String(contentsOf: Checkout.directory.appending(path: "Package.swift"), encoding: .utf8))
        imports = try Self.imports(below: "Sources")
    }

    @Test("Every module is listed")
    func everyModule() throws {
        let places = Self.features + [Self.below, Self.daemon, Self.programs]
        #expect(places.reduce(0) { $0 + $1.count } == places.reduce(into: Set<String>()) { $0.formUnion($1) }.count)
        #expect(Set(imports.keys) == places.reduce(into: Set<String>()) { $0.formUnion($1) })
    }

    @Test("No module below the features imports one")
    func lowerModules() {
        for module in Self.below.sorted() {
            let above = (imports[module] ?? []).union(manifest[module] ?? []).intersection(imports.keys)
                .subtracting(Self.below)
            #expect(above.isEmpty, "\(module) imports \(above.sorted())")
        }
    }

    @Test("No feature imports another")
    func betweenFeatures() {
        for feature in Self.features {
            for module in feature.sorted() {
                let others = (imports[module] ?? []).union(manifest[module] ?? []).intersection(imports.keys)
                    .subtracting(Self.below).subtracting(feature)
                #expect(others.isEmpty, "\(module) imports \(others.sorted())")
            }
        }
    }

    @Test("No command, and no other program, stands on the daemon")
    func otherPrograms() {
        // It is the daemon, too, if that is its name.
        let multiple = (module: "photoinbox", part: "DaemonProgram")
        #expect(imports[multiple.module]?.contains(multiple.part) == true)
        for program in Self.programs.sorted() {
            var found: Set<String> = []
            var pending: [String] = [program]
            while let module = pending.popLast() {
                guard found.insert(module).inserted else { continue }
                pending += (manifest[module] ?? []).union(imports[module] ?? []).filter {
                    (module, $0) != multiple
                }
            }
            #expect(found.isDisjoint(with: Self.ofDaemon), "\(program)")
        }
    }

    @Test("Only tests of the daemon import it")
    func testTargets() throws {
        let tests = try Self.imports(below: "Tests").filter { !$0.value.isDisjoint(with: Self.ofDaemon) }
        #expect(tests.keys.sorted() == ["InboxTests"])
    }

    @Test("Every import is in the manifest")
    func declaredImports() {
        for (module, imported) in imports {
            let missing = imported.subtracting(manifest[module] ?? [])
            #expect(missing.isEmpty, "\(module) imports \(missing.sorted()), which Package.swift does not say")
        }
    }

    @Test(
        "Each engine of the catalogue is imported in its own folder, and nowhere else",
        arguments: [
            ("GRDB", "Sources/Catalogue/SQLite/"), ("PostgreSQL", "Sources/Catalogue/PostgreSQL/"),
        ])
    func databaseImports(_ module: String, _ folder: String) throws {
        let line = try Regex("(?m)^.*\\bimport (\\w+ )?\(module)")
        let importing = try Checkout.files(below: "Sources", suffix: ".swift").filter { $0.value.contains(line) }.keys
        #expect(!importing.isEmpty)
        #expect(importing.filter { !$0.hasPrefix(folder) } == [])
    }

    @Test("Folders of a module form no cycle")
    func cyclesOfFolders() throws {
        let found = try imports.keys.flatMap { module in
            Self.circles(in: Self.arrows(between: try Checkout.files(below: "Sources/\(module)", suffix: ".swift")))
        }
        #expect(found == [])
    }

    @Test("Cycles are found")
    func cycles() {
        let arrows = Self.arrows(between: [
            "Sources/M/a/A.swift": "struct A { let b: B }\nstruct X {\n    struct C {}\n}",
            "Sources/M/b/B.swift": "enum B {}\nextension B {\n    var c: C\n}",
            "Sources/M/c/C.swift": "// A\nlet text = \"A\"\nstruct C {}", "Sources/M/D.swift": "struct D { let a: A }",
        ])
        #expect(arrows == ["Sources/M/a": ["Sources/M/b"], "Sources/M/b": ["Sources/M/c"]])
        #expect(Self.circles(in: arrows).isEmpty)
        #expect(Self.circles(in: ["a": ["b"], "b": ["c", "d"], "c": ["a"]]) == [["a", "b", "c"]])
    }

    // MARK: - Reading

    /// The targets of this package that each target depends on.
    private static func dependencies(in manifest: String) -> [String: Set<String>] {
        let target = #/(?:module|tests|arget)\(\s*(?:name: )?"([\w-]+)",\s*(?:dependencies: )?\[([^\]]*)\]/#
        let names = manifest.matches(of: target).map { match in
            (String(match.1), Set(match.2.matches(of: #/"([\w-]+)"/#).map { String($0.1) }))
        }
        return Dictionary(names) { first, _ in first }
    }

    /// The modules of this package that the Swift files of each directory below `place` import.
    private static func imports(below place: String) throws -> [String: Set<String>] {
        let own = Set(
            below.union(daemon).union(programs).union(features.reduce(into: Set<String>()) { $0.formUnion($1) }))
        var imports: [String: Set<String>] = [:]
        for (path, text) in try Checkout.files(below: place, suffix: ".swift") {
            let module = String(path.dropFirst(place.count + 1).prefix { $0 != "/" })
            let imported = text.split(separator: "\n").compactMap { line -> String? in
                let words = line.split(separator: " ")
                guard let index = words.firstIndex(of: "import"), index <= 1, index + 1 < words.count else {
                    return nil
                }
                return String(words[index + 1])
            }
            imports[module, default: []].formUnion(own.intersection(imported))
        }
        return imports
    }

    /// From each folder to those whose types its files use. Nested types are ignored, since their names are
    /// common, and so are files beside a module's folders, which serve or combine all of them.
    private static func arrows(between files: [String: String]) -> [String: Set<String>] {
        let read = files.filter { $0.key.count { $0 == "/" } > 2 }.map { path, text in
            (folder: path.split(separator: "/").dropLast().joined(separator: "/"), words: words(in: text))
        }
        var owners: [String: Set<String>] = [:]
        for (folder, words) in read { for name in words.declared { owners[name, default: []].insert(folder) } }
        var arrows: [String: Set<String>] = [:]
        for (folder, words) in read {
            for name in words.used {
                guard let owner = owners[name], owner.count == 1, !owner.contains(folder) else { continue }
                arrows[folder, default: []].formUnion(owner)
            }
        }
        return arrows
    }

    /// The capitalised words of Swift code outside comments and strings, and those that it declares at the top level.
    private static func words(in text: String) -> (declared: Set<String>, used: Set<String>) {
        let keywords: Set<String> = ["actor", "class", "enum", "protocol", "struct", "typealias"]
        var (declared, inner, used): (Set<String>, Set<String>, Set<String>) = ([], [], [])
        var isInText = false
        for line in text.split(separator: "\n") {
            // The delimiters of a multi-line string, whose words are not code.
            let isMark = line.contains("\"\"\"")
            defer { if isMark { isInText.toggle() } }
            if isInText || line.drop(while: { $0 == " " }).hasPrefix("//") { continue }
            let code = line.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset.isMultiple(of: 2) }.map { String($0.element) }.joined(separator: " ")
            var last = ""
            for word in code.split(whereSeparator: { !$0.isLetter && !$0.isNumber && $0 != "_" }).map(String.init) {
                if word.first?.isUppercase == true {
                    used.insert(word)
                    if keywords.contains(last) {
                        if line.first == " " { inner.insert(word) } else { declared.insert(word) }
                    }
                }
                last = word
            }
        }
        return (declared, used.subtracting(inner))
    }

    /// Groups of nodes that all reach each other.
    private static func circles(in arrows: [String: Set<String>]) -> [Set<String>] {
        func reached(from start: String) -> Set<String> {
            var (found, pending): (Set<String>, [String]) = ([], [start])
            while let node = pending.popLast() {
                for next in arrows[node] ?? [] where found.insert(next).inserted { pending.append(next) }
            }
            return found
        }
        let reach = Dictionary(uniqueKeysWithValues: arrows.keys.map { ($0, reached(from: $0)) })
        let groups = reach.filter { $0.value.contains($0.key) }.map { node, all in
            all.filter { reach[$0]?.contains(node) == true }
        }
        return Set(groups).sorted { $0.count > $1.count }
    }
}
