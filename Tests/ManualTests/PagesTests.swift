import Glibc
import LogMessages
import Settings
import Systemd
import TestSupport
import Testing

@testable import manual

struct PagesTests {
    private static let project = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
        .joined(separator: "/")

    private static func text(_ path: String) throws -> String {
        let file = try #require(fopen("\(project)/\(path)", "r"), "\(path) cannot be read")
        defer { fclose(file) }
        return text(file)
    }

    private static func text(_ file: UnsafeMutablePointer<FILE>) -> String {
        var bytes: [UInt8] = []
        while case let byte = getc(file), byte != EOF { bytes.append(UInt8(byte)) }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("photoinbox.toml(5) explains the keys of this version: `make man` writes it")
    func settings() throws { #expect(try Self.text("docs/man/photoinbox.toml.5") == settingsPage()) }

    @Test("photoinbox-problems(7) explains the problems of this version: `make man` writes it")
    func problems() throws { #expect(try Self.text("docs/man/photoinbox-problems.7") == problemsPage()) }

    @Test("photoinbox-metrics(7) explains the metrics of this version: `make man` writes it")
    func metrics() throws { #expect(try Self.text("docs/man/photoinbox-metrics.7") == metricsPage()) }

    @Test("photoinbox-tutorial(7) is docs/guides/tutorial.md: `make man` writes it")
    func tutorial() throws {
        let page = tutorialPage(markdown: try Self.text("docs/guides/tutorial.md"))
        #expect(try Self.text("docs/man/photoinbox-tutorial.7") == page)
    }

    @Test("docs/formats.md lists the formats of this version: `make man` writes it")
    func formats() throws { #expect(try Self.text("docs/formats.md") == formatsPage()) }

    @Test("The journal's catalogue explains the kinds of entry of this version: `make man` writes it")
    func catalogue() throws {
        #expect(try Self.text("units/photoinbox.catalog") == messageCatalogue())
        #expect(Set(MessageWords.all.keys) == Set(MessageID.all.map(\.name)))
        let lines = messageCatalogue().split(separator: "\n")
        #expect(lines.filter { $0.count > 76 && !$0.hasPrefix("#") } == [])
        for (name, id) in MessageID.all { #expect(lines.contains("-- \(id)"), "\(name)") }
        // A sentence that is put in may be long, so that nothing follows it on its line.
        let sentences = lines.filter { $0.contains(/@PHOTOINBOX_(REASON|EFFECT|ACTION)@/) && !$0.hasPrefix("Subject") }
        #expect(sentences.count > 5)
        #expect(sentences.allSatisfy { $0.wholeMatch(of: /.{0,9}@PHOTOINBOX_\w+@[.;]?/) != nil }, "\(sentences)")
    }

    @Test("Each field that the catalogue puts in is one that the journal is given")
    func catalogueFields() throws {
        var given: Set<String> = []
        for file in [
            "DaemonSupport/DaemonLog", "Hooks/HookLog", "Links/LinkCoordinator", "Cards/CardCoordinator",
        ] {
            for match in try Self.text("Sources/\(file).swift").matches(of: /"(\w+)"\]?(?::| =) "?/) {
                given.insert(match.1.uppercased())
            }
        }
        let taken = Set(messageCatalogue().matches(of: /@PHOTOINBOX_(\w+)@/).map { String($0.1) })
        #expect(taken.count > 10)
        #expect(taken.subtracting(given).sorted() == [])
    }

    @Test("What the catalogue says of the configuration is there in it")
    func catalogueSettings() throws {
        var (keys, sections) = (0, 0)
        for (name, words) in MessageWords.all {
            let text = "\(words.subject) \(words.effect) \(words.action)"
            #expect(!text.contains("where the configuration says so"), "\(name)")
            for match in text.matches(of: /([a-z-]+) in \[([a-z]+)\]/) {
                let isThere = Settings.keyTable.contains { $0.name == match.1 && $0.section.rawValue == match.2 }
                #expect(isThere, "\(name): \(match.0)")
                keys += 1
            }
            for match in text.matches(of: /\[([a-z]+)[\].]/) {
                #expect(SettingsSection(rawValue: String(match.1)) != nil, "\(name): \(match.0)")
                sections += 1
            }
        }
        #expect(keys > 0 && sections > keys)
    }

    @Test(
        "make run builds what people then ask with, and make help begins with what is used every day",
        .enabled(if: access("/usr/bin/make", X_OK) == 0, "skipped: make is not installed"))
    func make() throws {
        let command = "make --no-print-directory -C '\(Self.project)'"
        let steps = try Self.output(of: "\(command) --dry-run run")
        let products = Set(steps.matches(of: /--product (\S+)/).map { String($0.1) })
        let links = Set(steps.matches(of: /ln -sf photoinbox \S+\/release\/(\S+)/).map { String($0.1) })
        #expect(products == ["photoinbox", "photoinbox-decoder"])
        #expect(links == ["photoinboxd", "photoinbox-fetch", "photoinbox-web", "photoinbox-drop"])
        #expect(steps.contains("release/photoinboxd --inbox "), "\(steps)")

        let targets = try Self.output(of: "\(command) help").split(separator: "\n").map { $0.prefix { $0 != " " } }
        let everyDay = targets.prefix { !$0.hasPrefix("campaign-") }
        #expect(everyDay.count < targets.count && Set(["run", "test", "release"]).isSubset(of: everyDay), "\(targets)")
    }

    @Test("Each command has a page of its own that explains its options: `make man` writes it")
    func commands() throws {
        let (program, status) = (try Self.help("--help"), try Self.help("status --help"))
        #expect(try Self.text("docs/man/photoinbox.1") == programPage(help: "\(program)\u{C}\(status)"))
        let names = commandNames(help: program)
        #expect(names.count > 30 && Set(["status", "watch", "export-json"]).isSubset(of: names))
        for name in names {
            let page = try Self.text("docs/man/photoinbox-\(name).1")
            #expect(page == commandPage(name, help: try Self.help("\(name) --help")), "\(name)")
        }
        // watch asks no daemon: its --state is another option.
        #expect(try Self.text("docs/man/photoinbox-watch.1").contains("\\fB\\-\\-state <file>\\fR\n"))
        // The page of a removed command would be installed for ever.
        let files = try Self.output(of: "cd '\(Self.project)/docs/man' && ls photoinbox-*.1").split(separator: "\n")
        #expect(Set(files) == Set(names.map { "photoinbox-\($0).1" }))
        let list = try Self.output(of: "make --no-print-directory -C '\(Self.project)' --dry-run install DESTDIR=/x")
        #expect(names.allSatisfy { list.contains("docs/man/photoinbox-\($0).1") })
    }

    /// What the built program prints.
    private static func help(_ arguments: String) throws -> String {
        try output(of: "COLUMNS=160 '\(BuiltPrograms.path("photoinbox"))' \(arguments) </dev/null")
    }

    private static func output(of command: String) throws -> String {
        // Flags of the make that may run this test are not for another one.
        let program = try #require(popen("unset MAKEFLAGS MAKELEVEL; \(command)", "r"))
        let text = text(program)
        try #require(pclose(program) == 0, "\(command)")
        return text
    }

    @Test("photoinbox-json(7) names every field of the state dump and of the commands' JSON")
    func json() throws {
        let page = try Self.text("docs/man/photoinbox-json.7").replacing("\\-", with: "-")
            .replacing("\\fB", with: " ").replacing("\\fR", with: " ").replacing("\\(dq", with: " ")
        let known = Set(page.split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == "-") }.map(String.init))
        var fields: Set<String> = []
        for match in try Self.text("Sources/ControlProtocol/DaemonState.swift").matches(of: /package var (\w+)/) {
            fields.insert(String(match.1))
        }
        for file in [
            "Hooks/HookInput", "CommandSupport/CommandFailure", "photoinbox/Explain/ExplainCommand",
            "Explaining/Account",
            "CommandContact/State/HostsReport", "CommandContact/State/PartReports", "CommandContact/State/StateReport",
            "photoinbox/Commands/StatusCommand", "photoinbox/Maintain/HostsCommand",
            "Explaining/Explanation+Output", "CommandContact/Records/OutcomeJSON",
            "CommandSupport/Terminal", "Top/TopSample",
        ] {
            for match in try Self.text("Sources/\(file).swift").matches(of: /(?:JSONField|\.path)\(\s*"(\w+)"/) {
                fields.insert(String(match.1))
            }
        }
        for match in try Self.text("Sources/Top/TopView.swift").matches(of: /\.(?:text|number)\("(\w+)"/) {
            fields.insert(String(match.1))
        }
        #expect(fields.count > 150)
        #expect(fields.subtracting(known).sorted() == [])
    }

    @Test(
        "Every page fits a terminal of 80 columns, and is formatted without a warning",
        .enabled(if: access("/usr/bin/man", X_OK) == 0, "skipped: man is not installed (Debian: man-db)"))
    func eightyColumns() throws {
        let names = try Self.output(of: "ls '\(Self.project)/docs/man'").split(separator: "\n")
        #expect(names.count >= 8)
        for name in names {
            // Warnings of the formatter are lines of its error output.
            let show = "MANWIDTH=80 LC_ALL=C.UTF-8 man --warnings=w -l '\(Self.project)/docs/man/\(name)'"
            let lines = try Self.output(of: "\(show) 2>/dev/null | col -bx").split(separator: "\n")
            #expect(lines.count > 20)
            #expect(lines.filter { $0.count > 80 } == [], "\(name)")
            #expect(try Self.output(of: "\(show) 2>&1 >/dev/null") == "", "\(name)")
        }
    }

    @Test("The daemon's own help has no line that 80 columns would break")
    func daemonHelp() throws {
        let program = try #require(popen("COLUMNS=80 '\(BuiltPrograms.path("photoinboxd"))' --help </dev/null", "r"))
        let lines = Self.text(program).split(separator: "\n").map(String.init)
        #expect(pclose(program) == 0)
        // What was broken goes on at the margin, where only headings stand.
        let atMargin = lines.filter { !$0.hasPrefix("  ") && $0.prefix { $0 == " " || $0.isUppercase }.count < 4 }
        #expect(lines.count > 60 && atMargin == [])
        #expect(lines.allSatisfy { $0.count <= 80 })
    }

    @Test("Nothing in a text is taken for a request or an escape")
    func escapes() {
        #expect(Roff.line(".TH") == "\\&.TH")
        #expect(Roff.line("'x' \\n -a \"b\"…") == "\\(aqx\\(aq \\en \\-a \\(dqb\\(dq\\[u2026]")
    }

    @Test("A help text's headings, lists and examples become a page's")
    func help() {
        let help = """
            OVERVIEW: Do it.

            EXAMPLES:
              tool -x   now

            More of it,
            here.

            USAGE: tool [--all]
                     [<file>]

            EXIT STATUS (the worst):
              0 good   1 bad

            OPTIONS:
              --all <x>   All, and
                          more.
              --config <file>  Which.
              --state <dir>  Where.
              -h, --help  Help.

            LOOK SUBCOMMANDS:
              sub         Part.

              See 'tool help'.
            """
        let page = commandPage("sub", help: help)
        #expect(page.contains("photoinbox\\-sub \\- do it\n"))
        #expect(page.contains(".SH \"SYNOPSIS\"\ntool [\\-\\-all] [<file>]\n"))
        #expect(page.contains(".SH \"EXAMPLES\"\n.nf\ntool \\-x   now\n.fi\n.SH \"DESCRIPTION\"\nMore of it, here.\n"))
        #expect(page.contains(".SH \"EXIT STATUS\"\n(the worst)\n.PP\n.nf\n0 good   1 bad\n.fi\n"))
        #expect(page.contains(".SH \"OPTIONS\"\n.TP\n\\fB\\-\\-all <x>\\fR\nAll, and more.\n.PP\n"))
        #expect(
            page.contains(
                "more.\n.PP\nCommon options, see photoinbox(1): \\-\\-config, \\-\\-state.\n.SH \"EXIT STATUS\""))
        let program = programPage(help: "\(help)\u{C}\(help)")
        #expect(program.contains(".SH \"COMMANDS\"\n.SS \"Look\"\n.TP\n\\fBphotoinbox\\-sub(1)\\fR\nPart.\n.SH"))
        #expect(
            program.contains(
                ".SH \"COMMON OPTIONS\"\n.TP\n\\fB\\-\\-config <file>\\fR\nWhich.\n.TP\n\\fB\\-\\-state <dir>\\fR\nWhere.\n.TP\n"
            ))
        #expect(commandNames(help: help) == ["sub"])
    }
}
