import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(60))) struct HelpTests {
    private static let commands = [
        "status", "list", "watch", "explain", "show", "dump", "pause", "resume", "rescan", "retry", "release",
        "discard", "undo", "stats", "config", "tail", "log", "metrics", "reload", "search", "import-csv", "export-csv",
        "export-json", "similar", "sheet", "top", "import", "fetch", "setup",
    ]

    @Test(arguments: commands) func shortHelpFitsAScreen(_ command: String) async throws {
        let result = try await photoinbox([command, "-h"], in: ScratchDirectory())
        #expect(result.status == 0 && result.errors.isEmpty)
        let lines = result.text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 40)
        #expect(lines.allSatisfy { $0.count <= 80 })
    }

    @Test(arguments: commands) func longHelpHasExamplesAndStatuses(_ command: String) async throws {
        let result = try await photoinbox([command, "--help"], in: ScratchDirectory())
        #expect(result.status == 0)
        let examples = try #require(result.text.range(of: "EXAMPLES:\n  photoinbox \(command)"))
        let options = try #require(result.text.range(of: "OPTIONS:"))
        #expect(examples.lowerBound < options.lowerBound)
        // Each status has a line of its own.
        let statuses = try #require(result.text.split(separator: "EXIT STATUS").last).split(separator: "\n\n")[0]
        #expect(!statuses.contains(/\S   \d/) && statuses.contains(/\n  (?:0 |that of journalctl)/), "\(statuses)")
        #expect(result.text.split(separator: "\n").allSatisfy { $0.count <= 80 })
        expectOwnOptionsFirst(result.text)
    }

    @Test(arguments: ["verify", "adopt", "rebuild", "thumbs"]) func theOthersFitATerminalToo(_ command: String)
        async throws
    {
        let result = try await photoinbox([command, "--help"], in: ScratchDirectory())
        #expect(result.status == 0)
        #expect(result.text.split(separator: "\n").allSatisfy { $0.count <= 80 })
        expectOwnOptionsFirst(result.text)
    }

    /// A command's own options precede the common ones.
    private func expectOwnOptionsFirst(_ help: String, sourceLocation: SourceLocation = #_sourceLocation) {
        let options = help.split(separator: "\n").compactMap { $0.firstMatch(of: /^  (?:-\w, )?(-[-\w]+)/)?.1 }
        guard let common = options.firstIndex(of: "--config") else { return }
        let others: Set<Substring> = ["--config", "--state", "--runtime", "--color", "--json", "--version", "--help"]
        #expect(others.isSuperset(of: options[common...]), "\(options)", sourceLocation: sourceLocation)
    }

    @Test func groupsItsVerbs() async throws {
        let help = try await photoinbox(["--help"], in: ScratchDirectory())
        #expect(help.status == 0)
        #expect(help.text.split(separator: "\n").allSatisfy { $0.count <= 80 })
        let places = ["EXAMPLES:", "VIEW", "INVESTIGATE", "CONTROL", "MAINTAIN", "EXCHANGE"].map {
            help.text.range(of: "\n\($0)")?.lowerBound
        }
        #expect(places.allSatisfy { $0 != nil })
        #expect(places.compactMap(\.self) == places.compactMap(\.self).sorted())
    }

    @Test func reportsMisuseInOneLine() async throws {
        let result = try await photoinbox(["watch", "--nonsense", "in"], in: ScratchDirectory())
        #expect(result.status == 64)
        #expect(result.output.isEmpty)
        #expect(result.errors == "photoinbox: Unknown option '--nonsense'. See: photoinbox watch --help\n")
        let near = try await photoinbox(["watch", "--formatt", "in"], in: ScratchDirectory())
        #expect(
            near.errors
                == "photoinbox: Unknown option '--formatt'. Did you mean '--format'? See: photoinbox watch --help\n")
        let nothing = try await photoinbox(["fly\u{1B}[2J"], in: ScratchDirectory())
        #expect(nothing.status == 64 && nothing.output.isEmpty)
        #expect(nothing.errors == "photoinbox: there is no command fly\\x1b[2J. See: photoinbox --help\n")
        for words in [["statsu"], ["help", "statsu"]] {
            let near = try await photoinbox(words, in: ScratchDirectory())
            #expect(near.status == 64 && near.output.isEmpty)
            #expect(
                near.errors
                    == "photoinbox: there is no command statsu. Did you mean status? See: photoinbox --help\n")
        }
        let list = try await photoinbox(["top", "--view", "nix"], in: ScratchDirectory())
        #expect(list.status == 64 && list.errors.contains("following: inboxes, files, "), "\(list.errors)")
        #expect(list.errors.split(separator: "\n").count == 1)
        // What a value must be like is said.
        for (words, form) in [
            (["web", "link", "add", "oma", "--until", "2099-12-31", "--quota", "20X"], "such as 20G"),
            (["verify", "--rate", "fast"], "such as 20G"), (["web", "--port", "x"], "a number from 0 to 65535"),
            (["search", "--near", "here"], "LATITUDE,LONGITUDE,DISTANCE, such as 54.32,10.12,5km"),
            (["search", "--bbox", "1,2"], "WEST,SOUTH,EAST,NORTH, such as"),
            (["list", "--limit", "x"], "a whole number"),
            (["tail", "-n", "x"], "a whole number"), (["similar", "--distance", "x"], "a whole number"),
            (["web", "user", "add", "ana", "--address", "photos.example.org"], "like https://photos.example.org/"),
            (["web", "user", "add", "ana", "--address", "https:///"], "like https://photos.example.org/"),
        ] {
            let result = try await photoinbox(words, in: ScratchDirectory())
            #expect(result.status == 64 && result.errors.contains(form), "\(words): \(result.errors)")
        }
        let object = try await photoinbox(["show", "--json"], in: ScratchDirectory())
        let error = try JSONSerialization.jsonObject(with: Data(object.errors.utf8)) as? [String: Any]
        #expect((error?["error"] as? [String: Any])?["exit_status"] as? Int == 64)
    }
}
