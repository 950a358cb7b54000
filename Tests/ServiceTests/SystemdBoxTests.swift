import Foundation
import TestSupport
import Testing

/// Each test boots a systemd and then mostly waits.
@Suite(.tags(.booted), .atMost(4)) enum WithSystemd {}

extension WithSystemd {
    @Suite(
        "The box is a real systemd and leaves nothing on the machine",
        .enabled(if: SystemdBox.obstacle == nil, Comment(rawValue: SystemdBox.obstacle ?? "")))
    struct Box {
        @Test("A service is active when it reports so, not before", .timeLimit(.minutes(60)))
        func readiness() async throws {
            let report = try await SystemdBox().run(script: "box-notify.sh")
            expectPassed(
                [
                    "systemd is process 1", "the boot is whole", "activating until it is ready",
                    "active once it is ready", "its status text arrives", "a signal arrives", "it stops with status 0",
                ], in: report)
            #expect(!FileManager.default.fileExists(atPath: "/etc/written-inside-the-box"))
        }

        @Test("A missing ping kills the service", .timeLimit(.minutes(60)))
        func watchdog() async throws {
            let report = try await SystemdBox().run(script: "box-watchdog.sh")
            expectPassed(["killed by the watchdog and started again", "the journal says why"], in: report)
        }

        @Test("Journal entries are found by kind and field", .timeLimit(.minutes(60)))
        func journal() async throws {
            let report = try await SystemdBox().run(script: "box-journal.sh")
            expectPassed(
                ["an entry is found by its kind", "and by its field", "but not by another kind"], in: report)
        }

        @Test("The command's status is returned, and a command that hangs is ended", .timeLimit(.minutes(60)))
        func status() async throws {
            let seven = try await ProgramRun.run([SystemdBox.program, "sh", "-c", "exit 7"])
            #expect(seven.status == 7, "\(seven.output)")
            let hung = try await ProgramRun.run([SystemdBox.program, "--timeout", "1", "sleep", "infinity"])
            #expect(hung.status == 124, "\(hung.output)")
        }

        @Test("A failed check is not reported as passed", .timeLimit(.minutes(60)))
        func failure() async throws {
            let run = try await ProgramRun.run([
                SystemdBox.program, "--show", "\(SystemdBox.repository):/photo-inbox", "bash", "-c",
                "source /photo-inbox/Tests/ServiceTests/Scripts/lib.sh; check first -.slice true; check second -.slice false",
            ])
            #expect(run.status == 1)
            #expect(run.output.hasPrefix("ok: first\nnot ok: second\n"), "\(run.output)")
        }

        @Test("Without root it reports why it does not run", .timeLimit(.minutes(60)))
        func withoutRoot() async throws {
            // The script is read from standard input, because an ordinary user may not be able to read its file.
            let run = try await ProgramRun.run([
                "bash", "-c", "setpriv --reuid=65534 --regid=65534 --clear-groups bash -s true <\"$0\"",
                SystemdBox.program,
            ])
            #expect(run.status == 77)
            #expect(run.output.hasPrefix("skipped: needs root"), "\(run.output)")
        }
    }
}
