import Foundation
import Glibc
import TestSupport
import Testing

private let hasInotifywait = access("/usr/bin/inotifywait", X_OK) == 0

/// `photoinbox watch` and the real inotifywait with the same options over the same script: the same bytes.
@Suite(.timeLimit(.minutes(60)), .enabled(if: hasInotifywait, "skipped: inotify-tools is missing"))
struct DropInTests {
    /// Step by step: each begins when all of the one before is told, so that inotifywait, too, watches what is new.
    private static let script = [
        "echo x > in/a.jpg; cat in/a.jpg >/dev/null; echo y >> in/a.jpg; chmod 600 in/a.jpg",
        "mv in/a.jpg in/b.jpg; ln -s b.jpg in/link; rm in/link; touch in/.cache/x; echo > in/.cache/y",
        "mkdir in/sub",
        #"echo z > in/sub/c; echo z > 'in/sub/ d, "e" '; echo > in/sub/B.JPG; echo > $'in/sub/two\nlines\xff'"#,
        "mv in/sub in/other",
        "echo z > in/other/d; rm in/other/c; mkdir in/other/deep; touch in/other/f; mv in/other/f out/; mv out/f in/",
        "echo > in/other/deep/e; rm in/other/deep/e; rmdir in/other/deep; rm in/other/*; rmdir in/other",
        "mkdir out/t; mv out/t in/",
        "touch in/t/u; exec 3>in/gone; rm in/gone; echo >&3; exec 3>&-; rm in/t/u; rmdir in/t",
    ]

    @Test(arguments: [
        ["-m", "-r"], ["-mr", "-e", "close_write,moved_to", "--format", "%w%f"],
        ["-mre", "create", "-e", "delete", "-emove", "--csv"], ["-mrc"],
        ["-mr", "--format", "%T|%:e|%x|%e|%w|%f%%|%", "--timefmt", "%%%Z"],
        ["-mr", "-e", "create,attrib", "--no-newline", "--format", "%w%f%0%n"],
        ["-mr", "--exclude", #"other|\.jpg$"#], ["-mr", "--excludei", #"\.jpg$"#], ["-mr", "--exclude", "^in/other"],
        ["-mr", "--exclude", "/[.]", "-e", "modify", "-e", "delete_self", "-e", "move_self", "-e", "attrib"],
        ["-mr", "--includei", "(jpg|/(sub|other|t|mark[^/]*))$"], ["-mr", "@in/.cache"],
        ["-m", "-r", "-P", "@in/.cache/"],
        ["-mr", "-e", "ALL_EVENTS,ignored"],
    ]) func tellsTheSame(_ options: [String]) async throws {
        let (theirs, ours) = (try await told(options, by: "inotifywait"), try await told(options, by: nil))
        #expect(theirs.whole.count > 3)
        #expect(firstDifference(ours.whole, theirs.whole) == nil)
        #expect(ours.readings == theirs.readings)
    }

    /// Lines in their order. The kernel joins equal records that follow each other if the first is not read yet, so of
    /// equal lines one is taken. Of directories that are read, which there are: a program reads each new directory
    /// itself, and how soon is its own affair.
    private struct Told {
        var whole: [[UInt8]] = []
        var readings: Set<String> = []

        init(_ output: some Sequence<UInt8>) {
            for line in output.split(separator: 0x0A, omittingEmptySubsequences: false) {
                let text = String(decoding: line, as: UTF8.self)
                let isReading = ["OPEN", "ACCESS", "CLOSE_NOWRITE"].contains { text.contains($0) }
                if isReading, text.contains("ISDIR") {
                    readings.insert(text)
                } else if whole.last != Array(line) {
                    whole.append(Array(line))
                }
            }
        }
    }

    private func firstDifference(_ ours: [[UInt8]], _ theirs: [[UInt8]]) -> String? {
        let place = zip(ours, theirs).enumerated().first { $1.0 != $1.1 }?.offset ?? min(ours.count, theirs.count)
        if place == ours.count, place == theirs.count { return nil }
        let shown = { (lines: [[UInt8]]) in lines.dropFirst(place).first.map { String(decoding: $0, as: UTF8.self) } }
        return "line \(place): ours \(shown(ours) ?? "none"), theirs \(shown(theirs) ?? "none")"
    }

    /// What inotifywait, or our program, tells of the script.
    private func told(_ options: [String], by program: String?) async throws -> Told {
        let directory = try ScratchDirectory()
        try shell("mkdir -p in/.cache out", in: directory)
        // The same line for both: programs that start inotifywait wait for it.
        let ready = "Watches established."
        let watch =
            if let program {
                try await RunningWatch(options + ["in"], in: directory, ready: ready, program: program)
            } else {
                try await RunningWatch(options + ["in"], in: directory, ready: ready)
            }
        for (index, step) in Self.script.enumerated() {
            // Something of each mark is told, whatever is asked for.
            let mark = "in/mark\(index)"
            try shell("\(step)\necho x > \(mark); chmod 600 \(mark); mv \(mark) \(mark).b; rm \(mark).b", in: directory)
            try await watch.waitForBytes(Array("mark\(index)".utf8))
        }
        let (ending, output) = try await watch.end(SIGTERM)
        #expect(ending == .signal(SIGTERM))
        // The last mark may not be told to its end.
        let last = Data(output).range(of: Data("mark\(Self.script.count - 1)".utf8))
        return Told(output.prefix(last?.lowerBound ?? output.count))
    }
}

extension RunningWatch {
    /// Waits until its output holds `wanted`, in a line or not.
    func waitForBytes(_ wanted: [UInt8]) async throws {
        try await waitForOutput { Data($0).range(of: Data(wanted)) != nil }
    }
}
