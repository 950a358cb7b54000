import Foundation
import Glibc
import TestSupport
import Testing

/// The short form of `make campaign-overflow`: the built program is stopped, the kernel's queue overflows, the program
/// goes on, and tells every file once.
@Suite(.tags(.heavy), .timeLimit(.minutes(60))) struct StormTests {
    private static let limit = (try? String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8))
        .flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) }

    let directory: ScratchDirectory

    init() throws {
        directory = try ScratchDirectory()
        for number in 0..<200 { try makeDirectories(directory.appending("in/d\(number)")) }
    }

    /// Empty files: of one with content a listing may see two states.
    private func makeFiles(_ numbers: Range<Int>, in folders: Int) throws {
        for number in numbers {
            let path = directory.appending("in/\(Self.name(number, in: folders))")
            let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
            try #require(file >= 0)
            close(file)
        }
    }

    private static func name(_ number: Int, in folders: Int) -> String { "d\(number % folders)/\(number).jpg" }

    @Test(
        "20,000 files while it is stopped, some before, some in new directories",
        .enabled(
            if: limit ?? .max <= 30_000, "skipped: needs a readable fs.inotify.max_queued_events of at most 30,000"))
    func tellsEachOnce() async throws {
        let watch = try await RunningWatch(["--null", "--count", "20001", "in"], in: directory)
        try makeFiles(0..<2_000, in: 200)
        watch.program.signal(SIGSTOP)
        try waitUntilStopped(watch.program.pid)
        for number in 200..<220 { try makeDirectories(directory.appending("in/d\(number)")) }
        try makeFiles(2_000..<20_000, in: 220)
        watch.program.signal(SIGCONT)
        try await watch.program.line(holding: "events were lost")
        try await watch.program.line(holding: "comparison complete; missed changes were reported")
        // The last one, after which it ends: whatever it told twice before would have taken its place.
        try makeFiles(20_000..<20_001, in: 220)
        let (ending, output) = try await watch.end()
        #expect(ending == .status(0))
        let told = output.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        let made = (0...20_000).map { "in/\(Self.name($0, in: $0 < 2_000 ? 200 : 220))" }
        #expect(told.count == made.count)
        #expect(Set(told) == Set(made))
    }

    /// All of a process's threads stand when it is told as stopped to its parent; here to whoever reads its state.
    private func waitUntilStopped(_ pid: pid_t) throws {
        var info = siginfo_t()
        try #require(waitid(P_PID, id_t(pid), &info, WSTOPPED | WNOWAIT) == 0)
    }
}
