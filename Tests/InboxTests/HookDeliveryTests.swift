import Catalogue
import FileValues
import Foundation
import Glibc
import LinuxKernel
import Settings
import SystemMonitor
import TestSupport
import Testing

@testable import Hooks

/// A FIFO that a hook can say something into, held open so that nobody waits for the other end.
private final class Mouth: Sendable {
    let path: String
    private let descriptor: OwnedDescriptor

    init(_ path: String) throws {
        self.path = path
        try systemCall("mkfifo") { mkfifo(path, 0o600) }
        descriptor = try descriptorCall("open") { open(path, O_RDWR | O_CLOEXEC) }
    }

    /// What is said next, waited for.
    func byte() async throws -> UInt8 {
        try await aside {
            var byte: UInt8 = 0
            _ = read(self.descriptor.raw, &byte, 1)
            return byte
        }
    }

    var isSilent: Bool {
        var poll = pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0)
        return Glibc.poll(&poll, 1, 0) == 0
    }
}

@Suite("Hooks run without a shell, one at a time each, and never for ever", .timeLimit(.minutes(60)))
struct HookRunTests {
    @Test func aFailureIsAProblemUntilItWorksAgain() async throws {
        let house = try HookHouse()
        let flag = house.scratch.appending("flag")
        try await house.adopt("test -e \(flag)")
        house.asked()
        #expect(await house.log.line(holding: "PI-103")?.contains("hook") == true)
        close(open(flag, O_WRONLY | O_CREAT, 0o600))
        house.asked()
        #expect(await house.log.line(holding: "PI-103 is over for hook") != nil)
        await house.coordinator.stop(hurrying: false)
    }

    @Test func aProgramThatIsNotThereIsAProblem() async throws {
        let house = try HookHouse()
        await house.coordinator.prepare(try house.settings("[hook.absent]\ncommand = ['/nonexistent/program']"))
        house.coordinator.perform(.hook("absent"), asker: "test")
        let line = await house.log.line(holding: "PI-103")
        #expect(line?.contains("absent") == true && line?.contains("there is no /nonexistent") == true, "\(line ?? "")")
        await house.coordinator.stop(hurrying: false)
    }

    @Test func aProgramThatOthersCanChangeIsNotRun() async throws {
        let house = try HookHouse()
        let program = house.scratch.appending("program")
        let ran = house.scratch.appending("ran")
        try writeProgram("#!/bin/sh\n: > \(ran)\n", to: program, mode: 0o777)
        await house.coordinator.prepare(try house.settings("[hook.open]\ncommand = ['\(program)']"))
        house.coordinator.perform(.hook("open"), asker: "test")
        #expect(await house.log.line(holding: "PI-103")?.contains("can be written to by others") == true)
        #expect(access(ran, F_OK) != 0)
        // Put right it is run, without a reload: it is looked at each time. It is a script, too.
        chmod(program, 0o755)
        house.coordinator.perform(.hook("open"), asker: "test")
        #expect(await house.log.line(holding: "PI-103 is over for open") != nil)
        #expect(access(ran, F_OK) == 0)
        await house.coordinator.stop(hurrying: false)
    }

    @Test func argumentsAreGivenAsTheyAre() async throws {
        let house = try HookHouse()
        let said = try Mouth(house.scratch.appending("said"))
        await house.coordinator.prepare(
            try house.settings(
                """
                [hook.literal]
                command = ['/bin/sh', '-c', '''[ "$1" = '$(id); *' ] && printf y > "$0"''', '\(said.path)', '$(id); *']
                """))
        house.coordinator.perform(.hook("literal"), asker: "test")
        #expect(try await said.byte() == UInt8(ascii: "y"))
        await house.coordinator.stop(hurrying: false)
    }

    @Test("It gets nothing of ours: variables, descriptors, signals, directory; but a group of its own")
    func surroundings() async throws {
        let house = try HookHouse()
        let (out, done) = (house.scratch.appending("out"), house.scratch.appending("done"))
        try await house.adopt(
            """
            { /usr/bin/env -u PWD -u SHLVL -u _ | /usr/bin/sort; pwd; ls /proc/self/fd | tr '\\n' ' '; echo
              grep -E '^(SigBlk|SigIgn)' /proc/self/status; [ "$(ps -o pgid= -p $$ | tr -d ' ')" = $$ ] && echo leads
            } > \(out) 2>&1; echo done > \(done)
            """)
        house.asked()
        #expect(await house.log.line(holding: "hook hook exited with status 0") != nil)
        var lines = try String(contentsOfFile: out, encoding: .utf8).split(separator: "\n").map(String.init)
        // The C library has every child that it spawns ignore two signals of its own, 32 and 33.
        lines = lines.map { $0.replacing("SigIgn:\t0000000180000000", with: "SigIgn:\t0000000000000000") }
        #expect(
            lines == [
                "LANG=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "PHOTOINBOX_HOOK=hook", "/",
                // The three streams, and the directory that ls reads.
                "0 1 2 3 ", "SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000", "leads",
            ], "\(lines)")
        await house.coordinator.stop(hurrying: false)
    }

    @Test func oneAtATime() async throws {
        let house = try HookHouse()
        let said = try Mouth(house.scratch.appending("said"))
        try await house.adopt("printf b > \(said.path); exec sleep 3600", more: "deadline = '1h'")
        house.asked()
        #expect(try await said.byte() == UInt8(ascii: "b"))
        house.asked()
        #expect(await house.log.line(holding: "hook is still running, skipped") != nil)
        await house.coordinator.stop(hurrying: true)
    }

    @Test func atItsDeadlineItIsAskedToEnd() async throws {
        let house = try HookHouse()
        try await house.adopt("trap 'exit 7' TERM; while :; do sleep 0.01; done", more: "deadline = '1s'")
        house.asked()
        let line = await house.log.line(holding: "PI-103")
        #expect(line?.contains("did not end within 1s") == true, "\(line ?? "")")
        #expect(line?.contains("exited with status 7") == true, "it could end by itself: \(line ?? "")")
        await house.coordinator.stop(hurrying: false)
    }

    @Test func whoDoesNotListenIsKilled() async throws {
        let house = try HookHouse(grace: .milliseconds(50))
        try await house.adopt("trap '' TERM; while :; do sleep 0.01; done", more: "deadline = '1s'")
        house.asked()
        let line = await house.log.line(holding: "PI-103")
        #expect(line?.contains("signal 9") == true, "\(line ?? "")")
        await house.coordinator.stop(hurrying: false)
    }

    @Test(
        "What a hook leaves in its group is killed when its program ends, and so is what it had started at its deadline"
    )
    func grandchildren() async throws {
        let house = try HookHouse(grace: .milliseconds(50))
        let numbers = house.scratch.appending("numbers")
        // The grandchild holds the hook's output open, which nobody waits for.
        let script = "(trap '' TERM; while :; do sleep 0.05; done) & echo $! >> \(numbers)"
        try await house.adopt(script)
        house.asked()
        #expect(await house.log.line(holding: "hook hook exited with status 0") != nil)
        try await house.adopt("\(script); trap '' TERM; while :; do sleep 0.05; done", more: "deadline = '1s'")
        house.asked()
        #expect(await house.log.line(holding: "did not end within 1s") != nil)
        let left = try String(contentsOfFile: numbers, encoding: .utf8).split(separator: "\n").compactMap { Int32($0) }
        #expect(left.count == 2)
        // One that was left behind would never go.
        for number in left { try await processIsGone(number) }
        await house.coordinator.stop(hurrying: false)
    }

    @Test("What it says is told by lines, each with its name; a flood is cut, and stops nobody")
    func output() async throws {
        let house = try HookHouse()
        try await house.adopt(
            "printf 'one\\ntwo \\033[31m\\n' ; echo err >&2; i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done"
        )
        house.asked()
        #expect(await house.log.line(holding: "hook hook exited with status 0") != nil)
        let lines = house.log.lines
        #expect(lines.contains("hook hook: one") && lines.contains("hook hook: two \\x1b[31m"), "\(lines.prefix(5))")
        #expect(lines.contains("hook hook: err"))
        #expect(lines.contains("hook hook: (1502 more lines left out)"), "\(lines.suffix(3))")
        #expect(lines.filter { $0.hasPrefix("hook hook: line") }.count == HookOutput.mostLines - 2)
        await house.coordinator.stop(hurrying: false)
    }

    @Test(
        "Stopping asks, and kills who does not listen; no monitor is left",
        arguments: [("printf t > $0; exit", Duration.seconds(600)), ("", .milliseconds(50))])
    func stopping(trap: String, grace: Duration) async throws {
        let house = try HookHouse(grace: grace)
        let said = try Mouth(house.scratch.appending("said"))
        // The registry is the process's: another case runs at the same time.
        let name = trap.isEmpty ? "test-deaf" : "test-endless"
        await house.coordinator.prepare(
            try house.settings(
                """
                [hook.\(name)]
                command = ['/bin/sh', '-c', "trap '\(trap)' TERM; printf b > $0; while :; do sleep 0.01; done", '\(said.path)']
                deadline = "1h"
                """))
        house.coordinator.perform(.hook(name), asker: "test")
        #expect(try await said.byte() == UInt8(ascii: "b"))
        await house.coordinator.stop(hurrying: false)
        if !trap.isEmpty { #expect(try await said.byte() == UInt8(ascii: "t"), "asked first") }
        let labels = MonitorRegistry.shared.descriptions().map(\.label)
        #expect(!labels.contains { $0.contains(name) }, "\(labels)")
        house.coordinator.perform(.hook(name), asker: "test")
        await house.coordinator.stop(hurrying: false)
        #expect(said.isSilent, "after the end nothing is begun")
    }
}

@Suite("Hooks are told of everything at least once", .timeLimit(.minutes(60)))
struct HookTellingTests {
    private func told(_ path: String) -> [String] {
        ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
    }

    /// The names in the lines that a hook read.
    private func names(_ path: String) throws -> [String] {
        try told(path).map { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return object?["file"] as? String ?? ""
        }
    }

    @Test("What happens while it runs is told in one run after it")
    func gathered() async throws {
        let house = try HookHouse()
        let (out, said) = (house.scratch.appending("out"), try Mouth(house.scratch.appending("said")))
        let gate = try Mouth(house.scratch.appending("gate"))
        try await house.adopt(
            "cat >> \(out); echo - >> \(out); printf b > \(said.path); head -c 1 \(gate.path)",
            on: "'quarantined'", more: "deadline = '1h'")
        try await house.quarantine("a")
        #expect(try await said.byte() == UInt8(ascii: "b"))
        for name in ["b", "c", "d"] { try await house.quarantine(name) }
        for _ in 0..<2 { try Data("x".utf8).write(to: URL(filePath: gate.path)) }
        #expect(try await said.byte() == UInt8(ascii: "b"))
        #expect(await house.log.line(holding: "for 3 events") != nil)
        let lines = told(out)
        #expect(lines.filter { $0 == "-" }.count == 2 && lines.count == 6, "\(lines)")
        #expect(lines.last == "-" && lines[1] == "-")
        await house.coordinator.stop(hurrying: false)
    }

    @Test("A new hook is told from now on, an old one from where it was; what failed is told again")
    func overRestarts() async throws {
        let house = try HookHouse()
        let out = house.scratch.appending("out")
        try await house.quarantine("before")
        // It fails once: after some more times, what it failed on would be passed over.
        let failed = house.scratch.appending("failed")
        try await house.adopt("mkdir \(failed) || exec sleep 1000; cat >> \(out); exit 3", on: "'quarantined'")
        try await house.quarantine("a")
        #expect(await house.log.line(holding: "exited with status 3") != nil)
        await house.coordinator.stop(hurrying: false)
        #expect(try names(out) == ["a"])
        unlink(out)
        // Another life, over the same catalogue. What happened meanwhile it is told as well.
        try await house.quarantine("b")
        let coordinator = HookCoordinator(
            catalogue: house.writer, log: house.log.daemonLog, problems: house.problems, isManaged: false)
        await coordinator.prepare(
            try house.settings("[hook.hook]\ncommand = ['/bin/sh', '-c', 'cat >> \(out)']\non = ['quarantined']"))
        #expect(await house.log.line(holding: "exited with status 0, for 2 events") != nil)
        #expect(try names(out) == ["a", "b"])
        await coordinator.stop(hurrying: false)
        #expect(try house.catalogue.hookBatch(after: 0, HookInterest(kinds: [.quarantined]), limit: 9).through == 3)
        #expect(try house.catalogue.placeOfHook("hook", at: .now) == 3)
    }

    @Test("It is told of its inboxes alone")
    func inboxes() async throws {
        let house = try HookHouse()
        let out = house.scratch.appending("out")
        try await house.adopt("cat >> \(out)", on: "'quarantined'", more: "inboxes = ['phones']")
        try await house.quarantine("a", inbox: "card")
        try await house.quarantine("b", inbox: "phones")
        #expect(await house.log.line(holding: "exited with status 0") != nil)
        #expect(try names(out) == ["b"])
        await house.coordinator.stop(hurrying: false)
    }

    @Test("A hook that is configured no more is ended; should it come back, it begins anew")
    func forgotten() async throws {
        let house = try HookHouse()
        let out = house.scratch.appending("out")
        try await house.adopt("cat >> \(out)", on: "'quarantined'")
        await house.coordinator.prepare(try house.settings(""))
        try await house.quarantine("a")
        try await house.adopt("cat >> \(out)", on: "'quarantined'")
        try await house.quarantine("b")
        #expect(await house.log.line(holding: "exited with status 0") != nil)
        #expect(try names(out) == ["b"])
        await house.coordinator.stop(hurrying: false)
    }
}
