import Foundation
import Glibc
import TestSupport
import Testing

/// Kernel records: what `photoinbox watch` does otherwise than inotifywait, or that needs no inotifywait to be judged.
@Suite(.timeLimit(.minutes(60))) struct WatchRecordTests {
    let directory: ScratchDirectory

    init() throws {
        directory = try ScratchDirectory()
        try shell("mkdir in out", in: directory)
    }

    private func lines(_ output: [UInt8]) -> [String] {
        String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test func selectsRecords() async throws {
        let watch = try await RunningWatch(["--events", "close_write,delete", "--count", "2", "in"], in: directory)
        try shell("echo x > in/a.jpg; rm in/a.jpg", in: directory)
        let (ending, output) = try await watch.end()
        #expect(ending == .status(0))
        #expect(lines(output) == ["in/ CLOSE_WRITE,CLOSE a.jpg", "in/ DELETE a.jpg"])
    }

    @Test func tellsWhatANewTreeHeld() async throws {
        try shell("mkdir -p out/t/deep; echo x > out/t/a; echo x > out/t/deep/b; ln -s a out/t/l", in: directory)
        let watch = try await RunningWatch(["-e", "moved_to", "in"], in: directory)
        try shell("mv out/t in/; echo x > in/t/c; mv in/t/c in/last", in: directory)
        try await watch.waitForBytes(Array("last".utf8))
        let told = lines(try await watch.end(SIGTERM).output)
        #expect(told.first == "in/ MOVED_TO,ISDIR t")
        for line in ["in/t/ FOUND,ISDIR deep", "in/t/ FOUND a", "in/t/ FOUND l", "in/t/deep/ FOUND b"] {
            #expect(told.count { $0 == line } == 1, "\(line)")
        }
    }

    @Test func tellsFilesAloneToWhoAsksForFinishedOnes() async throws {
        try shell("mkdir -p out/t/deep; echo x > out/t/deep/b; ln -s b out/t/deep/l", in: directory)
        let watch = try await RunningWatch(["-e", "close_write", "--format", "%e %w%f", "in"], in: directory)
        try shell("mv out/t in/; echo x > in/last", in: directory)
        try await watch.waitForBytes(Array("last".utf8))
        #expect(
            lines(try await watch.end(SIGTERM).output) == ["FOUND in/t/deep/b", "CLOSE_WRITE,CLOSE in/last"])
    }

    @Test func tellsNothingToWhoAsksForLosses() async throws {
        try shell("mkdir -p out/t; echo x > out/t/a", in: directory)
        let watch = try await RunningWatch(["-e", "delete", "in"], in: directory)
        try shell("mv out/t in/; touch in/b; rm in/b", in: directory)
        try await watch.waitForBytes(Array("DELETE b".utf8))
        try shell("rm in/t/a", in: directory)
        try await watch.waitForBytes(Array("DELETE a".utf8))
        #expect(lines(try await watch.end(SIGTERM).output) == ["in/ DELETE b", "in/t/ DELETE a"])
    }

    @Test func followsDirectoriesInAndOut() async throws {
        try shell("mkdir -p in/d/deep", in: directory)
        let watch = try await RunningWatch(["-e", "create,moved_from,moved_to", "in"], in: directory)
        try shell("mv in/d in/e; echo x > in/e/deep/a; mv in/e out/", in: directory)
        try await watch.waitForBytes(Array("MOVED_FROM,ISDIR e".utf8))
        // What left the tree is not told of any more, once the kernel has said that nothing came of it.
        try shell("echo x > in/b; mkdir in/f; echo x > in/c", in: directory)
        try await watch.waitForBytes(Array("CREATE c".utf8))
        try shell("echo x > out/e/deep/gone; echo x > in/last", in: directory)
        try await watch.waitForBytes(Array("last".utf8))
        #expect(
            lines(try await watch.end(SIGTERM).output) == [
                "in/ MOVED_FROM,ISDIR d", "in/ MOVED_TO,ISDIR e", "in/e/deep/ CREATE a", "in/ MOVED_FROM,ISDIR e",
                "in/ CREATE b", "in/ CREATE,ISDIR f", "in/ CREATE c", "in/ CREATE last",
            ])
    }

    @Test func keepsADirectoryThatWentAndCameBack() async throws {
        try shell("mkdir -p in/d/deep in/e", in: directory)
        let watch = try await RunningWatch(["-e", "create", "in"], in: directory, ready: "watching 4 directories")
        // While it is stopped, one comes back to its path, and one is replaced by another.
        watch.program.signal(SIGSTOP)
        try shell("mv in/d out/; mv out/d in/; mv in/e out/; mkdir in/e", in: directory)
        watch.program.signal(SIGCONT)
        for (name, mark) in [("out/e/gone", "one"), ("in/d/deep/a", "two"), ("in/e/b", "three"), ("out/e/c", "four")] {
            try shell("touch in/\(mark)", in: directory)
            try await watch.waitForBytes(Array(mark.utf8))
            if mark != "one" { try shell("touch \(name)", in: directory) }
        }
        try shell("touch in/last", in: directory)
        try await watch.waitForBytes(Array("last".utf8))
        #expect(
            lines(try await watch.end(SIGTERM).output) == [
                "in/ CREATE,ISDIR e", "in/ CREATE one", "in/ CREATE two", "in/d/deep/ CREATE a", "in/ CREATE three",
                "in/e/ CREATE b", "in/ CREATE four", "in/ CREATE last",
            ])
    }

    private static let tooMany: Int? = {
        let path = "/proc/sys/fs/inotify/max_queued_events"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        return Int(text.dropLast()).flatMap { $0 <= 65_536 ? $0 : nil }
    }()

    @Test(.enabled(if: tooMany != nil, "skipped: needs a readable fs.inotify.max_queued_events of at most 65,536"))
    func reportsLostRecords() async throws {
        let count = try #require(Self.tooMany)
        let watch = try await RunningWatch(["-e", "create,q_overflow", "--count", "\(count + 3)", "in"], in: directory)
        watch.program.signal(SIGSTOP)
        try shell("seq \(count) | sed s,^,in/, | xargs touch; mkdir in/new; touch in/new/a", in: directory)
        watch.program.signal(SIGCONT)
        try await watch.program.line(holding: "events were lost")
        // What a directory holds that was made in the gap is told, and it is watched.
        try shell("touch in/new/b", in: directory)
        let (ending, output) = try await watch.end()
        #expect(ending == .status(3))
        let told = lines(output)
        #expect(told.count { $0.hasPrefix("in/ CREATE ") } == count)
        #expect(told.suffix(3) == [" Q_OVERFLOW ", "in/new/ FOUND a", "in/new/ CREATE b"])
    }

    private static let canLimit =
        (try? runProgram(
            [
                "/usr/bin/unshare", "--user", "--map-root-user", "/bin/sh", "-c",
                "echo 9 > /proc/sys/user/max_inotify_watches",
            ]))
        != nil

    @Test(.enabled(if: canLimit, "skipped: needs user namespaces and unshare(1)"))
    func saysHowManyWatchesAreMissing() async throws {
        try shell("mkdir -p in/{1..4}/{1..3}", in: directory)
        let script = "echo 9 > /proc/sys/user/max_inotify_watches; exec \"$@\""
        let watch = try await RunningWatch(
            ["--existing", "-e", "create", "--count", "17", "in"], in: directory,
            ready: "8 directories are not watched",
            program:
                "unshare --user --map-root-user /bin/sh -c '\(script)' sh '\(BuiltPrograms.path("photoinbox"))' watch")
        try shell("touch in/last", in: directory)
        let (ending, output) = try await watch.end()
        #expect(ending == .status(3))
        #expect(lines(output).count == 17 && lines(output).last == "in/ CREATE last")
    }

    @Test(.enabled(if: canLimit, "skipped: needs user namespaces and unshare(1)"))
    func saysHowManyWatchesAreMissingForFinishedFiles() async throws {
        try shell("mkdir -p in/{1..4}/{1..3}", in: directory)
        let script = "echo 9 > /proc/sys/user/max_inotify_watches; exec \"$@\""
        let watch = try await RunningWatch(
            ["--count", "1", "in"], in: directory, ready: "directories are not watched",
            program:
                "unshare --user --map-root-user /bin/sh -c '\(script)' sh '\(BuiltPrograms.path("photoinbox"))' watch")
        try shell("echo x > in/last", in: directory)
        let (ending, output) = try await watch.end()
        #expect(ending == .status(3))
        #expect(lines(output) == ["in/last"])
    }

    @Test(.enabled(if: canLimit, "skipped: needs user namespaces and unshare(1)"), arguments: ["finished", "create"])
    func saysThatNobodyMayWatchAnyMore(_ event: String) async throws {
        let script = "echo 0 > /proc/sys/user/max_inotify_instances; exec \"$@\""
        let result = try await photoinboxShell(
            """
            unshare --user --map-root-user /bin/sh -c '\(script)' sh \
                '\(BuiltPrograms.path("photoinbox"))' watch -e \(event) in
            """, in: directory)
        #expect(result.status == 1)
        #expect(
            result.errors
                == "photoinbox: the kernel's limit of inotify instances is reached. Raise fs.inotify.max_user_instances.\n"
        )
    }

    @Test func leavesExcludedTreesOutWithoutAWatch() async throws {
        try shell("mkdir -p in/keep in/cache/deep in/a.tmp/x in/old/y in/sub/z", in: directory)
        let watch = try await RunningWatch(
            [
                "-e", "create", "--exclude", "/cache/", "--exclude-glob", "*.tmp", "--exclude", "sub$", "@in/old/",
                "in",
            ], in: directory, ready: "watching 4 directories")
        try shell(
            "touch in/cache/1 in/a.tmp/2 in/old/3 in/sub/4 in/b.tmp in/keep/5; mkdir in/c.tmp; touch in/c.tmp/6 in/last",
            in: directory)
        try await watch.waitForBytes(Array("last".utf8))
        #expect(
            lines(try await watch.end(SIGTERM).output) == ["in/sub/ CREATE 4", "in/keep/ CREATE 5", "in/ CREATE last"])
    }

    @Test func leavesNewDirectoriesOutWhoseNamesAreExcluded() async throws {
        try shell("mkdir -p in/old/.git", in: directory)
        let watch = try await RunningWatch(
            ["-m", "-r", "-e", "create", "--exclude", #"\.git$"#, "in"], in: directory,
            ready: "established")
        try shell("mkdir in/.git; echo x > in/.git/a; mkdir -p in/new/.git; echo x > in/new/.git/b", in: directory)
        try shell("echo x > in/old/.git/c; echo x > in/last", in: directory)
        try await watch.waitForBytes(Array("last".utf8))
        let told = lines(try await watch.end(SIGTERM).output)
        #expect(
            Set(told).subtracting(["in/new/ FOUND,ISDIR .git"]) == [
                "in/ CREATE,ISDIR new", "in/old/.git/ CREATE c", "in/ CREATE last",
            ])
    }

    @Test func tellsOnlyOfWhatIsIncluded() async throws {
        let watch = try await RunningWatch(
            ["-e", "create", "--include", "[.]jpg$", "--include-glob", "*.png", "in"], in: directory)
        try shell("touch in/a.txt; mkdir in/sub", in: directory)
        try shell("touch in/b.png; touch in/c.jpg", in: directory)
        try await watch.waitForBytes(Array("c.jpg".utf8))
        // Directories are followed, whatever their names are.
        try shell("touch in/sub/d.jpg; touch in/sub/e", in: directory)
        try await watch.waitForBytes(Array("d.jpg".utf8))
        #expect(
            lines(try await watch.end(SIGTERM).output) == [
                "in/ CREATE b.png", "in/ CREATE c.jpg", "in/sub/ CREATE d.jpg",
            ])
    }

    @Test func readsListsAndAppendsToFiles() async throws {
        try shell(#"mkdir more; printf 'in\n\n@in/x\nmore\n' > list; mkdir in/x; echo before > told"#, in: directory)
        let watch = try await RunningWatch(
            ["--fromfile", "list", "-e", "create", "--count", "2", "-o", "told"], in: directory,
            ready: "watching 2 directories")
        try shell("touch in/x/1; touch in/2; touch more/3", in: directory)
        let (ending, output) = try await watch.end()
        #expect(ending == .status(0) && output.isEmpty)
        #expect(lines(try bytes(of: directory.appending("told"))) == ["before", "in/ CREATE 2", "more/ CREATE 3"])
        let input = try await photoinboxShell("printf 'in' | photoinbox watch --fromfile - -t 0.05", in: directory)
        #expect(input.status == 2)
    }

    @Test func tellsNothingWhenToldTwiceToBeQuiet() async throws {
        let result = try await photoinboxShell(
            "(until [ -e in/b ]; do touch in/a; touch in/b; done) & photoinbox watch -qq --existing --count 1 -mr in",
            in: directory)
        #expect(result.status == 0 && result.output.isEmpty && result.errors.isEmpty)
    }

    @Test func saysWhatToUseInstead() async throws {
        for (option, words) in [
            ("--daemon", "systemd-run"), ("-s", "logger"), ("--fanotify", "inotify(7)"), ("-S", "mount point"),
        ] {
            let result = try await photoinbox(["watch", "-mr", option, "in"], in: directory)
            #expect(result.status == 64 && result.errors.contains(words), "\(option): \(result.errors)")
        }
        let regex = try await photoinbox(["watch", "--exclude", "*.tmp(", "in"], in: directory)
        #expect(regex.status == 64 && regex.errors.contains("--exclude-glob"))
        let none = try await photoinbox(["watch"], in: directory)
        #expect(none.status == 64 && none.errors.contains("Give a directory"))
    }

    /// The help's examples, and a loop that scripts for inotifywait have.
    @Test func worksInShells() async throws {
        try shell("echo 1 > in/one; echo 2 > $'in/t\\nwo'", in: directory)
        let names = try await photoinboxShell(
            "photoinbox watch --quiet --existing --count 2 --null in | xargs -0 -n1 cat | sort", in: directory)
        #expect(names.text == "1\n2\n")
        let loop = try await photoinboxShell(
            """
            mkdir done; { until [ -e done/2 ]; do echo x > in/x1; echo x > in/x2; done; } &
            photoinbox watch -qmr -e close_write --format '%w%f%0' --no-newline in | while IFS= read -r -d '' file; do
                mv "$file" "done/${file#in/x}" && [ -e done/1 ] && [ -e done/2 ] && break
            done
            wait; echo ended
            """, in: directory)
        #expect(loop.text == "ended\n")
        let none = try await photoinboxShell(
            "photoinbox watch -q --count 1 -t 0.05 in; case $? in 0) echo file;; 2) echo nothing;; esac", in: directory)
        #expect(none.text == "nothing\n")
    }
}
