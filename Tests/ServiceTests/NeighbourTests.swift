import Foundation
import Glibc
import TestSupport
import Testing

private let obstacle = SystemdBox.obstacle ?? BuiltPrograms.obstacle
/// The tests with commands need the command line, too.
private let commandObstacle =
    obstacle
    ?? (access("\(BuiltPrograms.directory)/photoinbox", X_OK) == 0 ? nil : "skipped: photoinbox is not built")
private let canTrace = access("/usr/bin/strace", X_OK) == 0

extension WithSystemd {
    @Suite(
        "The service with instances, users and a failing journal",
        .enabled(if: commandObstacle == nil, Comment(rawValue: commandObstacle ?? "")))
    struct Neighbours {
        let box = SystemdBox(options: ["--show", "\(BuiltPrograms.directory):/photo-inbox-built"])

        @Test("Two instances run at once, each with its own configuration, places and hooks", .timeLimit(.minutes(60)))
        func instances() async throws {
            expectPassed(
                [
                    "a second one starts beside the first", "both are active", "the first files its own",
                    "the second its own", "each with a catalogue of its own", "for its user and group alone",
                    "commands find the second by its configuration", "which knows nothing of the first",
                    "the first's hook was told of its photo", "the second's, of its own configuration, of its",
                    "neither of the other's", "neither may write where the other keeps its catalogue",
                    "both file one of the same inbox and name", "log shows what the first's journal has of it",
                    "and what the second's has", "killed, the second is started again", "the first runs on",
                    "the second is active again",
                    "a reload reaches it", "its socket starts it", "which is active then",
                    "the first is not paused by that", "one with a broken configuration does not start",
                    "and leaves the others alone",
                ], in: try await box.run(script: "service-instances.sh"))
        }

        @Test(
            "A user's own daemon runs under a user's service manager, without root",
            .enabled(if: access("/usr/bin/python3", X_OK) == 0, "skipped: Python is not installed"),
            .timeLimit(.minutes(60)))
        func user() async throws {
            expectPassed(
                [
                    "it starts", "is active when ready", "as the user", "and can gain nothing",
                    "behind a filter of system calls",
                    "no decoder that is killed for memory ends it, and no try to start is the last", "files a photo",
                    "keeps its catalogue in the home directory",
                    "for the user alone", "listens in the runtime directory",
                    "commands find it without being told where", "and may operate it", "paused over a restart",
                    "nothing was taken", "resumed", "it is filed", "its hook runs in a unit of the user's",
                    "there is a server", "a photo is fetched", "by a unit of the user's", "and filed",
                    "setup changes nothing but that it is enabled", "and tests it",
                    "killed, it is started again", "and is active again", "stopped, its result is success",
                ], in: try await box.run(script: "service-user.sh"))
        }

        @Test(
            "With journald stopped, killed or full photos are filed, and journalctl -x explains the messages",
            .timeLimit(.minutes(60)))
        func journal() async throws {
            expectPassed(
                [
                    "the catalogue of messages is found", "an entry is explained", "the one of the start, too",
                    "with what to read", "with journald standing still a photo is filed", "and status answers",
                    "it goes on, and has the entry", "with journald killed a photo is filed",
                    "journald is started again", "a photo is filed after that", "and the new journald has it",
                    "the journal's disk is full", "with no room for the journal a photo is filed",
                    "and status answers then, too", "with room again the journal goes on", "all that in one process",
                    "which was never restarted",
                ], in: try await box.run(script: "service-journal.sh"))
        }
    }

    @Suite(
        "The service killed during filing",
        .enabled(if: obstacle == nil, Comment(rawValue: obstacle ?? "")))
    struct Struck {
        let box = SystemdBox(options: ["--show", "\(BuiltPrograms.directory):/photo-inbox-built"])

        @Test("Killed repeatedly while photos arrive, it files each once", .timeLimit(.minutes(60)))
        func inFlight() async throws {
            expectPassed(
                (1...5).map { "some are filed, and it is killed (\($0))" } + [
                    "all are filed", "the inbox is empty", "none twice", "none is a duplicate, none set aside",
                    "each has its row", "it was killed and came back",
                ], in: try await box.run(script: "service-inflight.sh"))
        }

        @Test(
            "When one queue hangs, the watchdog replaces the daemon",
            .enabled(if: canTrace, "skipped: strace is not installed"), .timeLimit(.minutes(60)))
        func hungQueue() async throws {
            expectPassed(
                [
                    "it is traced", "the hanging queue is told by name", "no photo is filed by then",
                    "the watchdog fires", "and has it replaced", "which is told with the reason",
                    "the next one files the photo", "once", "and it is gone from the inbox",
                ], in: try await box.run(script: "service-queue.sh"))
        }
    }
}
