import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

/// `photoinbox watch --tier fanotify`.
@Suite(.timeLimit(.minutes(60))) struct WatchTierTests {
    let directory: ScratchDirectory

    init() throws {
        directory = try ScratchDirectory()
        try makeDirectories(directory.appending("in/sub"))
    }

    private static let refusal: String? = {
        do {
            let scratch = try ScratchDirectory()
            try FanotifyGroup().mark(fileSystemOf: try openDirectory(scratch.bytePath), .renamed)
            return nil
        } catch {
            return "\(error)"
        }
    }()

    /// On a tmpfs of its own, so that what others do elsewhere fills no queue.
    @Test(.enabled(if: refusal == nil, "skipped: needs root and fanotify: \(refusal ?? "")"))
    func tellsWhoWrote() async throws {
        let program =
            "/usr/bin/unshare -m --propagation private /bin/sh -c "
            + "'/bin/mount -t tmpfs tmpfs in && mkdir in/sub && cd . && exec \"$0\" \"$@\"' "
            + "'\(BuiltPrograms.path("photoinbox"))' watch"
        let watch = try await RunningWatch(
            ["--tier", "fanotify", "--json", "--count", "2", "in"], in: directory, program: program)
        let place = "/proc/\(watch.program.pid)/root\(directory.appending("in"))"
        let watches = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(watch.program.pid)/fdinfo")
            .compactMap { try? String(contentsOfFile: "/proc/\(watch.program.pid)/fdinfo/\($0)", encoding: .utf8) }
        #expect(watches.contains { $0.contains("\nfanotify sdev:") }, "it is the file system that is marked")
        // Each shell is the writer, and says its number.
        var writers: [Int] = []
        for name in ["sub/1", "2"] {
            let shell = try RunningProgram(["/bin/sh", "-c", "echo $$; echo x >'\(place)/\(name)'"])
            writers.append(try #require(Int(try await shell.line("its number") { _ in true })))
            #expect(try await shell.ending() == .status(0))
        }
        let (ending, output) = try await watch.end()
        #expect(ending == .status(0))
        let lines = try output.split(separator: UInt8(ascii: "\n")).map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
        }
        #expect(lines.map { $0["path"] as? String } == ["in/sub/1", "in/2"])
        #expect(lines.map { $0["writer"] as? Int } == writers)
    }

    @Test func inotifyTellsNoWriter() async throws {
        let watch = try await RunningWatch(["--tier", "inotify", "--json", "--count", "1", "in"], in: directory)
        try shell("echo x > in/a", in: directory)
        let (ending, output) = try await watch.end()
        #expect(ending == .status(0))
        let line = try #require(try JSONSerialization.jsonObject(with: Data(output)) as? [String: Any])
        #expect(line["path"] as? String == "in/a" && line["writer"] == nil)
    }

    @Test func saysThatItIsRefused() async throws {
        // What root is not refused outside a user namespace, it is inside one, as anybody is without root.
        let inside = "unshare --user --map-root-user"
        let canEnter =
            (try? runProgram(["/usr/bin/env"] + inside.split(separator: " ").map(String.init) + ["true"])) != nil
        let result = try await photoinboxShell(
            "\(geteuid() == 0 && canEnter ? inside : "") '\(BuiltPrograms.path("photoinbox"))' watch --tier fanotify in",
            in: directory)
        try #require(geteuid() != 0 || canEnter || Self.refusal != nil)
        #expect(result.status == 77 && result.output.isEmpty)
        #expect(
            result.errors == "photoinbox: --tier fanotify needs CAP_SYS_ADMIN. "
                + "Use sudo, or leave it out: inotify needs no privilege.\n")
        let raw = try await photoinbox(["watch", "--tier", "fanotify", "-e", "create", "in"], in: directory)
        #expect(raw.status == 64 && raw.errors.contains("--tier goes with finished"))
        let unknown = try await photoinbox(["watch", "--tier", "kqueue", "in"], in: directory)
        #expect(unknown.status == 64 && unknown.errors.contains("inotify"))
    }
}
