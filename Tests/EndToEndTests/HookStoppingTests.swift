import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    @Suite("Shutdown with running hooks", .timeLimit(.minutes(60)))
    struct HooksAtTheEnd {
        /// The process numbers that a hook wrote to a file of the house.
        private func processes(_ house: House, _ name: String) throws -> [Int32] {
            let text = try #require(house.files(in: house.root)[name].map { String(decoding: $0, as: UTF8.self) })
            return text.split(whereSeparator: \.isWhitespace).compactMap { Int32($0) }
        }

        @Test("A hook that ignores TERM is killed with its child, and the daemon ends normally")
        func ignoresTerm() async throws {
            let house = try House()
            let script = house.path("stubborn")
            try write(
                Data(
                    """
                    #!/bin/sh
                    trap 'echo asked' TERM
                    (trap '' TERM; while :; do sleep 1; done) &
                    echo $$ $! > \(house.path("processes"))
                    echo begun
                    while :; do sleep 1; done
                    """.utf8), to: script)
            chmod(script, 0o755)
            let daemon = try await house.start(
                configuration: House.oneCard
                    + "\n[hook.note]\ncommand = ['@stubborn']\non = ['filed']\ndeadline = '1h'\n")
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.lines(holding: ["filed card/a.jpg", "hook note: begun"])
            let running = try processes(house, "processes")
            #expect(running.count == 2 && running.allSatisfy { kill($0, 0) == 0 })
            try await daemon.stop()
            #expect(daemon.lines.contains { $0.contains("hook note: asked") }, "asked first")
            for process in running { try await processIsGone(process) }
            // Its event is delivered again, since it was not confirmed.
            let again = try await house.start(
                configuration: House.oneCard + "\n[hook.note]\ncommand = ['/bin/cat']\non = ['filed']\n",
                reporting: ["hook note: {"])
            try await again.stop()
        }

        @Test(
            "A hook that KILL does not end, because its disk hangs, is reported and abandoned, with status 70",
            .enabled(if: canFreeze, withoutDisks))
        func cannotBeKilled() async throws {
            let mounted = try MountedHouse(
                mount: "mkdir -p $root/slow && truncate -s 32M $root/disk && mkfs.ext4 -q -F $root/disk"
                    + " && mount -o loop $root/disk $root/slow")
            let house = mounted.house
            let slow = house.path("slow")
            let daemon = try await house.start(
                configuration: House.oneCard + """

                    [hook.note]
                    command = ["/bin/sh", "-c", "echo $$ > @process; exec /bin/sh -c ': > @slow/file'"]
                    on = ["filed"]
                    deadline = "1h"
                    """)
            try MountedHouse.run("/sbin/fsfreeze", "-f", slow, beside: daemon)
            let frozen = Frozen(path: slow, in: [daemon.pid])
            defer { frozen.thaw() }
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.lines(holding: ["filed card/a.jpg", "hook note runs"])
            _ = try await poll(
                { house.files(in: house.root)["process"]?.last }, until: { $0 == UInt8(ascii: "\n") })
            let process = try #require(try processes(house, "process").first)
            frozen.add(process)
            // In uninterruptible sleep.
            _ = try await poll({ try state(of: process) }, until: { $0 == "D" })
            daemon.signal(SIGTERM)
            #expect(try await daemon.ending() == .status(EX_SOFTWARE), "\(daemon.lines.suffix(10))")
            #expect(daemon.lines.contains { $0.contains("monitors left alive") && $0.contains("hook note") })
            // All other work is complete: the photo is filed, and the next daemon finds the state free.
            #expect(house.files(in: house.library).count == 1)
            #expect(try state(of: process) == "D")
            frozen.thaw()
            try await processIsGone(process)
            let again = try await house.start(configuration: House.oneCard)
            try await again.stop()
        }

        private func state(of process: Int32) throws -> String {
            let text = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
            return text.split(separator: ")").last.map { String($0.dropFirst().prefix(1)) } ?? ""
        }
    }
}

/// A frozen file system in the mount namespace of some processes, thawed once through one of them that
/// still exists.
private final class Frozen {
    private let path: String
    private var processes: [Int32]

    init(path: String, in processes: [Int32]) {
        self.path = path
        self.processes = processes
    }

    func add(_ process: Int32) { processes.insert(process, at: 0) }

    func thaw() {
        for process in processes {
            let enter = ["/usr/bin/nsenter", "-m", "-t", "\(process)"]
            if (try? runProgram(enter + ["/sbin/fsfreeze", "-u", path])) != nil { break }
        }
        processes = []
    }
}
