import FileValues
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import LinuxKernel

@Suite("Own threads", .timeLimit(.minutes(60)))
struct ThreadTests {
    /// The result of `body` on a new thread.
    private func onThread<R: Sendable>(
        named name: String = "test", _ body: @escaping @Sendable () throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try startThread(named: name) { continuation.resume(with: Result { try body() }) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    private static func link(_ path: BytePath) throws -> BytePath {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = try systemCall("readlink", path: path) { path.withCString { readlink($0, &bytes, bytes.count) } }
        return BytePath(bytes[..<count])
    }

    /// Nil if unshare(2) is refused.
    private static func ownDirectory() throws -> ThreadDirectory? {
        do { return try ThreadDirectory() } catch {
            guard error.code == .notPermitted else { throw error }
            return nil
        }
    }

    @Test("A thread has its name, truncated, and receives no signals but those of its own faults")
    func threads() async throws {
        let (name, signals) = try await onThread(named: "a name that is too long") {
            let file = try descriptorCall("open") { open("/proc/thread-self/comm", O_RDONLY | O_CLOEXEC) }
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = try systemCall("read") { read(file.raw, &bytes, bytes.count) }
            var blocked = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &blocked)
            let unblocked = (1..<32).filter { sigismember(&blocked, $0) == 0 && ![SIGKILL, SIGSTOP].contains($0) }
            return (String(decoding: bytes[..<count], as: UTF8.self), unblocked)
        }
        #expect(name == "a name that is \n")
        #expect(Set(signals) == [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS])
    }

    @Test("A thread's working directory does not affect other threads, and can be left")
    func ownDirectory() async throws {
        let scratch = try ScratchDirectory()
        let path = try Self.link("/proc/self/cwd")
        let seen = try await onThread { () -> [BytePath]? in
            guard let place = try Self.ownDirectory() else { return nil }
            let isThere = place.enter(try openDirectory(scratch.bytePath))
            let inside = try [Self.link("/proc/thread-self/cwd"), Self.link("/proc/self/cwd")]
            place.leave()
            return isThere ? try inside + [Self.link("/proc/thread-self/cwd")] : []
        }
        #expect(try Self.link("/proc/self/cwd") == path)
        if let seen { #expect(try seen == [openDirectory(scratch.bytePath).currentPath(), path, path]) }
    }

    @Test("A watch through a thread's directory is on the open directory, even after a rename")
    func watches() async throws {
        let scratch = try ScratchDirectory()
        for name in ["a", "a/in"] { mkdir(scratch.appending(name), 0o755) }
        let isSame = try await onThread {
            let instance = try InotifyInstance()
            let directory = try openDirectory(BytePath(scratch.appending("a/in")))
            rename(scratch.appending("a"), scratch.appending("b"))
            for name in ["a", "a/in"] { mkdir(scratch.appending(name), 0o755) }
            let place = try Self.ownDirectory()
            let watch = try instance.addWatch(directory: directory, [.created], by: place)
            // One inode has one watch, however it was found.
            let isSame = try instance.addWatch(directory: directory, [.created]) == watch
            let other = try openDirectory(BytePath(scratch.appending("a/in")))
            return try isSame && instance.addWatch(directory: other, [.created], by: place) != watch
        }
        #expect(isSame)
    }

    @Test(
        "A directory that may be listed but not searched is watched too",
        .enabled(if: getuid() != 0, "skipped: needs an ordinary user, root may search all"))
    func unsearchable() async throws {
        let scratch = try ScratchDirectory()
        mkdir(scratch.appending("closed"), 0o400)
        let isThere = try await onThread {
            let directory = try openDirectory(BytePath(scratch.appending("closed")))
            let place = try Self.ownDirectory()
            _ = try InotifyInstance().addWatch(directory: directory, [.created], by: place)
            return place?.enter(directory) ?? false
        }
        #expect(!isThere)
    }

    @Test("A call that hangs in the kernel is abandoned, one that is only slow is not")
    func hungCalls() async throws {
        let slow = try await aside {
            runOnOwnThread(named: "slow", patience: 0.001) {
                var time = timespec()
                repeat { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) } while time.tv_nsec < 20_000_000
                return time.tv_nsec
            }
        }
        #expect(slow != nil)
        let ends = try makePipe()
        let hung = try await aside { [end = ends.reading] in
            runOnOwnThread(named: "hung", patience: 0.01) {
                var byte: UInt8 = 0
                return read(end, &byte, 1)
            }
        }
        #expect(hung == nil)
        // Ends the hung thread.
        close(ends.writing)
    }
}
