import Glibc
import TestSupport
import Testing

private let obstacle =
    SystemdBox.obstacle ?? BuiltPrograms.obstacle
    ?? (access(BuiltPrograms.path("photoinbox-decoder"), X_OK) == 0
        ? nil : "skipped: photoinbox-decoder is not built in \(BuiltPrograms.directory)")
    ?? (["dpkg", "dpkg-shlibdeps", "dpkg-gencontrol", "strip"].allSatisfy { access("/usr/bin/\($0)", X_OK) == 0 }
        ? nil : "skipped: dpkg-dev or binutils is not installed")

extension WithSystemd {
    /// The package contains the programs that were built for the tests.
    @Suite(
        "The Debian package",
        .serialized, .enabled(if: obstacle == nil, Comment(rawValue: obstacle ?? "")))
    struct Package {
        let box = SystemdBox(options: [
            "--show", "\(BuiltPrograms.directory):/photo-inbox-built", "--timeout", "400",
        ])

        @Test("Installing, upgrading, removing and purging change no photo", .timeLimit(.minutes(60)))
        func life() async throws {
            expectPassed(
                [
                    "it is built", "it installs", "the service runs, though nothing is configured",
                    "and will be started at the next boot", "as its own user", "which says that there is nothing to do",
                    "the journal's catalogue knows it", "manual pages, completions, units and documents came along",
                    "its files name no other place", "or that would be found", "nor do its programs' helps",
                    "those of make install name those of its prefix", "which can be taken away again",
                    "the daemon and the program for downloads are the command",
                    "the configuration is the administrator's", "it files a photo", "it is upgraded",
                    "the new service runs", "and so do the instances", "as new processes", "all of them",
                    "with the configuration as it was", "and all that it knew", "no photo was touched by that",
                    "upgraded while it is stopped", "it stays so", "it is removed", "the service is gone",
                    "instances too", "no process is left", "the configuration stays", "and the catalogue",
                    "it installs again", "and knows what it knew", "more of it is enabled",
                    "purged, nothing of it is enabled", "nor recorded as such", "what setup wrote is gone",
                    "the administrator's own units, links and drop-ins stay", "its configuration is gone",
                    "the administrator's own stays", "what can be made anew is gone",
                    "the catalogue in which something is stays", "which is said",
                    "the empty one of the instance is gone", "no photo was touched by all that",
                    "the user stays: photos belong to it",
                ], in: try await box.run(script: "package.sh"))
        }

        @Test(
            "Lintian finds no error",
            .enabled(if: access("/usr/bin/lintian", X_OK) == 0, "skipped: lintian is not installed"),
            .timeLimit(.minutes(60)))
        func rules() async throws {
            expectPassed(
                ["it is built", "it has no error", "lintian does find errors"],
                in: try await box.run(script: "package-lint.sh"))
        }
    }

    /// The short form of `make campaign-service`; its first line is the seed that reproduces it.
    @Suite(
        "The service and journald killed at random",
        .enabled(if: obstacle == nil, Comment(rawValue: obstacle ?? "")))
    struct Campaign {
        @Test(
            "No photo is lost", .enabled(if: access("/usr/bin/python3", X_OK) == 0, "skipped: needs Python"),
            .timeLimit(.minutes(60)))
        func short() async throws {
            let run = try await ProgramRun.run([
                "/usr/bin/env", "PHOTOINBOX_PROGRAMS=\(BuiltPrograms.directory)", "/usr/bin/python3", "-B",
                "\(SystemdBox.repository)/Campaigns/service.py", "--cycles", "8",
            ])
            #expect(run.status == 0, "\(run.output)")
            #expect(run.output.contains("0 violations in 8 cycles"), "\(run.output)")
        }
    }
}
