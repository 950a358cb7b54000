import Glibc
import TestSupport
import Testing

/// Runs short forms of the campaigns with the programs that were built here.
enum Campaign {
    static let directory =
        #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" } + "/Campaigns"
    static let python = firstProgram("/usr/bin/python3", "/usr/local/bin/python3")
    static let compiler = firstProgram("/usr/bin/cc", "/usr/bin/gcc", "/usr/bin/clang")
    static let withoutPython: Comment = "skipped: needs Python"

    static func firstProgram(_ paths: String...) -> String? {
        paths.first { path in access(path, X_OK) == 0 }
    }

    /// Runs one to its end; it must find no violation, or be allowed to report that it cannot run on this machine. Its
    /// first line is the seed that reproduces it.
    static func run(_ arguments: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await run(arguments, sourceLocation: sourceLocation)
    }

    static func run(
        _ arguments: [String], mayBeSkipped: Bool = false, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let tools = try ScratchDirectory()
        let campaign = try RunningProgram(
            [try #require(python), "-B", "\(directory)/\(arguments[0])"] + arguments.dropFirst(),
            environment: [
                "PHOTOINBOX_PROGRAMS": BuiltPrograms.directory, "PHOTOINBOX_CAMPAIGN_TOOLS": tools.path,
                "PHOTOINBOX_CAMPAIGN_SLOWNESS": "\(slowness)",
            ])
        defer { campaign.killIfRunning() }
        let ending = try await campaign.ending(within: 6 * waitLimit)
        print(campaign.lines.first ?? "", campaign.lines.last ?? "", separator: "\n")
        let isSkipped = mayBeSkipped && campaign.lines.contains { $0.hasPrefix("skipped: ") }
        let all = campaign.lines.joined(separator: "\n")
        #expect(ending == .status(0) || isSkipped, "\(all)", sourceLocation: sourceLocation)
    }
}
