import Dispatch
import Glibc
import LinuxKernel
import SystemPackage

/// The probe program, running. It ends by itself after twenty minutes.
final class Probe: Sendable {
    let pid: Int32
    private let output: Int32
    /// Reads wait here, not on a thread that the other tests need.
    private let queue = DispatchQueue(label: "test.probe")
    private let unread = Locked<[UInt8]>([])

    /// Starts it with `arguments`, no signal blocked, none ignored.
    init(_ arguments: String...) throws {
        var ends: [Int32] = [0, 0]
        // Closed on exec from the first moment, so that no program which another test starts holds it open.
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        try systemCall("socketpair") { socketpair(AF_UNIX, kind, 0, &ends) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // This thread is a dispatch worker, which blocks nearly every signal.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var pointers: [UnsafeMutablePointer<CChar>?] = ([Self.path] + arguments).map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        // The backtracer of a probe that traps would hold its output open, under Thread Sanitizer for ever.
        // The first entry of a name is the one that counts.
        var environment: [UnsafeMutablePointer<CChar>?] = [strdup("SWIFT_BACKTRACE=enable=no")]
        var entry = environ
        while let text = entry.pointee {
            environment.append(strdup(text))
            entry += 1
        }
        environment.append(nil)
        defer { for pointer in environment { free(pointer) } }
        var pid: pid_t = 0
        let result = posix_spawn(&pid, Self.path, &actions, &attributes, &pointers, &environment)
        close(ends[1])
        output = ends[0]
        self.pid = pid
        guard result == 0 else { throw Errno(rawValue: result) }
    }

    deinit { close(output) }

    /// The next line of its output; nil at the end.
    func line() async -> String? {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: self.nextLine()) }
        }
    }

    /// All lines that are left, and how it ended, as waitpid(2) gives it.
    func end() async -> (lines: [String], status: Int32) {
        await withCheckedContinuation { continuation in
            queue.async {
                var lines: [String] = []
                while let line = self.nextLine() { lines.append(line) }
                var status: Int32 = 0
                while waitpid(self.pid, &status, 0) == -1, errno == EINTR {}
                continuation.resume(returning: (lines, status))
            }
        }
    }

    private func nextLine() -> String? {
        while true {
            let line = unread.withLock { unread -> String? in
                guard let end = unread.firstIndex(of: 10) else { return nil }
                defer { unread.removeSubrange(...end) }
                return String(decoding: unread[..<end], as: UTF8.self)
            }
            if let line { return line }
            var part = [UInt8](repeating: 0, count: 4096)
            let count = read(output, &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            unread.withLock { $0 += part[..<count] }
        }
    }

    /// Beside the test program.
    private static var path: String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let program = String(decoding: buffer[..<max(0, count)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // The runner loads the tests where they are not a program of their own; then it says where from.
        let tests = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? program
        return (tests.lastIndex(of: "/").map { String(tests[...$0]) } ?? "./") + "monitor-probe"
    }
}
