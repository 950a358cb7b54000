import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    @Suite("No hook keeps the daemon from ending", .timeLimit(.minutes(60)))
    struct HooksAtTheEnd {
        /// The numbers of processes that a hook has written to a file of the house.
        private func processes(_ house: House, _ name: String) throws -> [Int32] {
            let text = try #require(house.files(in: house.root)[name].map { String(decoding: $0, as: UTF8.self) })
            return text.split(whereSeparator: \.isWhitespace).compactMap { Int32($0) }
        }

        @Test("One that takes no TERM, nor does its child: killed together, and the daemon ends in good order")
        func takesNoTerm() async throws {
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
            // What it was told of is still owed, for it never said that it had done with it.
            let again = try await house.start(
                configuration: House.oneCard + "\n[hook.note]\ncommand = ['/bin/cat']\non = ['filed']\n",
                telling: ["hook note: {"])
            try await again.stop()
        }

        @Test(
            "One that not even KILL ends, since a disk keeps it: told by its monitors and left, with status 70",
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
            // In uninterruptible sleep, which no signal ends.
            _ = try await poll({ try state(of: process) }, until: { $0 == "D" })
            daemon.signal(SIGTERM)
            #expect(try await daemon.ending() == .status(EX_SOFTWARE), "\(daemon.lines.suffix(10))")
            #expect(daemon.lines.contains { $0.contains("monitors left alive") && $0.contains("hook note") })
            // All else was seen to: the photo is filed, and the next daemon finds no state in use.
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

/// A file system that only some processes see, and that nobody can write to until it is thawed: once, by whichever of them
/// is still there.
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
