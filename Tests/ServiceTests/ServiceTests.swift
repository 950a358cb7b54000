import Foundation
import Glibc
import TestSupport
import Testing

private let obstacle = SystemdBox.obstacle ?? BuiltPrograms.obstacle

extension WithSystemd {
    @Suite(
        "The installed service under a real systemd",
        .enabled(if: obstacle == nil, Comment(rawValue: obstacle ?? "")))
    struct Service {
        let box = SystemdBox(options: ["--show", "\(BuiltPrograms.directory):/photo-inbox-built"])

        @Test("A photo dropped by another user is filed and logged", .timeLimit(.minutes(60)))
        func files() async throws {
            expectPassed(
                [
                    "active when ready", "runs as its own user", "says ready in the journal", "has a status text",
                    "the photo is in the library", "with the same bytes", "and gone from the inbox",
                    "the journal has it by kind", "with its hash", "and its name",
                    "proven by a lease, not by waiting", "nobody but the daemon speaks in its journal",
                    "photoinbox log has it by its name", "and by its number",
                    "its equal goes to the duplicates", "a truncated one goes to the quarantine",
                    "and says why beside it, for the group too",
                    "what came after a slow writer's file is filed before it", "the slow one once it is closed",
                    "the catalogue is for the service and its group",
                    "a photo is filed for the group that the configuration names", "which it belongs to",
                    "as do its new directories, which keep the set-group-ID bit",
                    "it is so by the library's bit alone", "for photos and directories",
                    "no decoder that is killed for memory ends it, and no try to start is the last",
                    "nor for an instance",
                ], in: try await box.run(script: "service-files.sh"))
        }

        @Test("The README's recipe results in a service that files a photo", .timeLimit(.minutes(60)))
        func readme() async throws {
            expectPassed(
                [
                    "the README has a recipe", "it ends in a running service", "which files what a person drops",
                    "and takes it out of the inbox", "--check is content",
                    "what the service may not do is no good to root either", "and it is said who may not",
                    "what is missing is proposed", "and what was proposed does",
                ], in: try await box.run(script: "service-readme.sh"))
        }

        @Test("photoinbox setup results in a service that files what a person drops", .timeLimit(.minutes(60)))
        func setup() async throws {
            expectPassed(
                [
                    "a dry run makes no directory", "and no user", "what was not said is named",
                    "it is set up and tested", "by a photo of a person", "the service runs", "and is enabled",
                    "as its own user", "of the test photo nothing is left",
                    "a person's directory is filed, whatever her umask", "and taken out of the inbox",
                    "a stranger cannot drop", "a second run succeeds", "and finds all of it right",
                    "it changes nothing", "what is wrong is repaired", "and nothing else",
                    "so that the service may write", "a library with photos that is somebody else's is left alone",
                    "to what it was",
                    "the commands that it prints can be run", "and do the same", "but for the list of new files",
                    "an inbox in a home directory is filed", "which alone the service sees there",
                    "an inbox in a closed home directory is set up", "and filed", "and the first one is, too",
                    "a restart that fails is reported", "what was there before is there again",
                    "and the service runs with it", "as its manager has read it",
                    "one that did not run does not start with it either", "and is neither started again nor enabled",
                    "where a drop-in cannot be written it fails", "and writes no configuration",
                    "a configuration with a mistake is left alone", "which is said with its line",
                    "an inbox below a home that is a link is set up", "and filed, too",
                    "where the service sees nothing else",
                ], in: try await box.run(script: "service-setup.sh"))
        }

        @Test("A valid configuration is applied, an invalid one refused", .timeLimit(.minutes(60)))
        func reloads() async throws {
            expectPassed(
                [
                    "a good configuration is accepted", "and comes into force", "so that a new inbox is filed",
                    "a bad configuration fails the reload", "and status says that a restart would fail",
                    "and is refused by the daemon too",
                    "the old configuration stays in force", "in the same process",
                    "a configuration that cannot be set up is told", "and the old one is set up again",
                    "still in the same process",
                ], in: try await box.run(script: "service-reloads.sh"))
        }

        @Test("SIGUSR1 dumps the state as one JSON object, for its own group only", .timeLimit(.minutes(60)))
        func dumps() async throws {
            let report = try await box.run(script: "service-dumps.sh")
            expectPassed(
                [
                    "no dump before the signal", "the dump is written", "strangers cannot read it", "its group can",
                ], in: report)
            let text = try #require(report.value(of: "state"))
            let state = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
            #expect(state["format"] as? Int == 1, "\(text)")
            let program = try #require(state["program"] as? [String: Any])
            #expect((program["version"] as? String)?.isEmpty == false, "\(text)")
            #expect(program["phase"] as? String == "running", "\(text)")
        }

        @Test("It restarts after a kill and after a full disk, and stops with status 0", .timeLimit(.minutes(60)))
        func stops() async throws {
            expectPassed(
                [
                    "killed, it is started again", "and is active again", "as another process",
                    "what came meanwhile is filed", "stopped, its result is success", "having exited by itself",
                    "with status 0", "stopped during a reload, its result is success",
                    "it does not start on a full disk", "is tried again more than five times",
                    "because of its catalogue", "and runs by itself when there is room",
                    "with what came meanwhile filed",
                ], in: try await box.run(script: "service-stops.sh"))
        }

        @Test("It pings its watchdog, and is replaced when it hangs", .timeLimit(.minutes(60)))
        func watchdog() async throws {
            expectPassed(
                [
                    "fed the first time", "fed the second time", "fed the third time", "not restarted by then",
                    "standing still, it is replaced", "because of the watchdog",
                ], in: try await box.run(script: "service-watchdog.sh"))
        }

        @Test(
            "Commands work on the control socket, for its group only, and the socket unit starts the service",
            .timeLimit(.minutes(60)))
        func control() async throws {
            expectPassed(
                [
                    "the socket is for the group", "a member may look", "and pause", "a stranger may not",
                    "it is still paused", "paused over a restart", "nothing was taken", "a member may resume",
                    "and it is filed", "a filed photo is taken back", "into returned", "and out of the library",
                    "the journal knows who asked", "the socket unit listens", "who asks starts the daemon",
                    "which took the socket over", "and leaves it there", "so that it is started again",
                    "members of another group may operate it", "and list none of its files",
                    "members of its own may then not",
                ], in: try await box.run(script: "service-control.sh"))
        }

        @Test("Home directories are hidden unless a drop-in exposes one", .timeLimit(.minutes(60)))
        func home() async throws {
            expectPassed(
                [
                    "without the drop-in it does not start", "and says what to read",
                    "and no command for what the unit hides", "with it, it runs",
                    "and files from there", "it sees nothing else there",
                    "outside of it the service's user is kept out",
                    "which is said with the directory and the command that lets it in",
                    "then the library is accepted",
                ], in: try await box.run(script: "service-home.sh"))
        }

        @Test("Cards that are mounted while the hardened service runs are imported", .timeLimit(.minutes(60)))
        func cards() async throws {
            expectPassed(
                [
                    "a card that is mounted later is imported", "after the journal has told of it",
                    "its photos are filed", "nothing was changed on it", "status tells",
                    "it can be unmounted while the service runs", "and is gone for the service, too",
                    "mounted again there is nothing new", "what its user may not read is told, and left",
                    "and it stays active",
                ], in: try await box.run(script: "service-cards.sh"))
        }

        @Test("Hooks run in their own unit, without the daemon's confinement", .timeLimit(.minutes(60)))
        func hooks() async throws {
            expectPassed(
                [
                    "the socket is there for the daemon alone", "a member of the group may not ask",
                    "the hook was told", "as JSON, with where the photo is",
                    "what it says is in the journal under its name", "from its own unit",
                    "it has the network that the daemon has not", "nothing is left of it",
                    "the daemon could not have written there", "a program that anybody can change is not run",
                    "put right it is told of what it missed",
                    "one that takes no TERM is killed at its deadline", "it runs again",
                    "nobody waits for it at the end", "which is a good one", "and it is ended then",
                    "what it did not take is told after a restart",
                ], in: try await box.run(script: "service-hooks.sh"))
        }

        @Test(
            "A decoder that confines itself inside the unit makes a thumbnail, which the pages' unit serves",
            .enabled(
                if: access("\(BuiltPrograms.directory)/photoinbox-decoder", X_OK) == 0
                    && access("/usr/bin/curl", X_OK) == 0,
                "skipped: photoinbox-decoder is not built, or curl is not installed"), .timeLimit(.minutes(60)))
        func thumbnails() async throws {
            expectPassed(
                [
                    "the photo is in the library", "its thumbnail is in the state directory", "a JPEG",
                    "of its group too", "the decoder is confined entirely", "and no problem is told",
                    "the next is in work", "signals to all of the service leave it its thumbnail", "and its decoder",
                    "and the daemon", "which has dumped its state", "and tells of nothing that was killed",
                    "vera sets her password", "the pages serve it",
                    "not out of directories that an earlier version made for the daemon alone",
                    "which the next start opens to the group",
                    "a member gets a contact sheet, also of a photo that has no thumbnail", "which is not kept for it",
                ], in: try await box.run(script: "service-thumbnails.sh"))
        }

        @Test(
            "Photos are downloaded by a unit with a network, which may write only to inboxes",
            .enabled(
                if: access("\(BuiltPrograms.directory)/photoinbox-fetch", X_OK) == 0
                    && access("/usr/bin/python3", X_OK) == 0 && access("/usr/bin/cc", X_OK) == 0,
                "skipped: photoinbox-fetch is not built, or Python or a C compiler is not installed"),
            .timeLimit(.minutes(60)))
        func downloads() async throws {
            expectPassed(
                [
                    "there is a server", "the socket is there for the operators", "others may not ask",
                    "a photo is fetched", "by the unit", "with a user of its own", "and filed",
                    "proven by a lease, as other people's photos are", "nothing is left of it", "and nothing half done",
                    "its group could read and ask more", "of which the unit leaves what is writable",
                    "and the daemon takes no orders from it", "the program fetches",
                    "and sees nothing but the inbox",
                    "this machine is not fetched from, where the configuration does not say so",
                    "lists are taken up from now on", "what a dropped list names is filed", "and the list is set aside",
                    "in a directory that is for the same people",
                    "that nobody fetches is told", "it is tried again at once", "and comes", "which is told no more",
                    "no directory of downloads could not be read",
                ], in: try await box.run(script: "service-fetch.sh"))
        }

        @Test(
            "Pages are served by a unit without a network and without inboxes, while somebody is there",
            .enabled(
                if: access("/usr/bin/curl", X_OK) == 0 && access("/usr/bin/python3", X_OK) == 0
                    && access("/usr/bin/cc", X_OK) == 0, "skipped: curl, Python or a C compiler is not installed"),
            .timeLimit(.minutes(60)))
        func pages() async throws {
            expectPassed(
                [
                    "a photo is filed", "the socket is there for the proxy", "nothing runs before somebody comes",
                    "who comes gets the page", "and nothing else", "by a user of its own", "ana sets her password",
                    "once", "and signs in with it", "she sees what is quarantined", "and opens it",
                    "she downloads a photo from the library", "and is told what is known of it", "she finds it",
                    "and the state",
                    "she pauses an inbox", "in her own name", "which the journal has",
                    "it is discarded", "and is not there any more",
                    "without a person its user may only look", "a proxy that is not trusted names nobody",
                    "whom a trusted one names is signed in",
                    "if the name exists", "and whom others name is not", "there is a server",
                    "of what its group may do the unit leaves reading, and its own state", "the program answers",
                    "and sees the library, and no inbox", "it ends when nobody has been there for a minute",
                    "as if nothing had happened", "and whoever comes then is served",
                ], in: try await box.run(script: "service-web.sh"))
        }

        @Test(
            "Photos are sent through the pages to a unit that can read none, and filed",
            .enabled(
                if: access("/usr/bin/curl", X_OK) == 0 && access("/usr/bin/python3", X_OK) == 0
                    && access("/usr/bin/cc", X_OK) == 0, "skipped: curl, Python or a C compiler is not installed"),
            .timeLimit(.minutes(60)))
        func uploads() async throws {
            expectPassed(
                [
                    "with the pages' socket there is one for uploads, for the pages alone", "ana sends, vera sees",
                    "without an inbox for it the page is told what to add", "and nothing can be sent",
                    "nor runs anything for it", "with one it is told which", "by a user of its own",
                    "ana sends a photo", "it is filed", "out of her own directory of the day", "vera sends nothing",
                    "nor does a stranger", "nor a script of another site", "whom a browser names is nobody",
                    "a guest sends a photo by a link", "it is filed, too", "and nothing once the link is removed",
                    "a phone sends a photo by WebDAV", "it is filed, too",
                    "and still listed, by a program that starts anew", "not for whoever may not send any more",
                    "nor without its password",
                    "nobody else may connect to it", "the pages may", "and root names nobody",
                    "its user operates nothing", "there is a server",
                    "of what its group may do the unit leaves the inboxes", "the program answers",
                    "and can read and change no photo, not even in its inbox", "into which it puts another",
                    "so that it is filed", "without the inbox who comes is told so", "and served once it is there",
                    "it ends when nobody has been there for a minute", "as if nothing had happened",
                    "without the pages' socket there is none for uploads",
                ], in: try await box.run(script: "service-drop.sh"))
        }

        @Test(
            "An invalid configuration ends it with status 78, once, and a wrong option with 64",
            .timeLimit(.minutes(60)))
        func refuses() async throws {
            expectPassed(
                [
                    "it does not start", "it has failed for good", "without being tried again", "with status 78",
                    "saying where", "nor where filed photos are to be another user's",
                    "which it could not give them to",
                    "as a check from a shell says", "nor with a wrong option", "which has status 64",
                    "and is not tried again either",
                ], in: try await box.run(script: "service-refuses.sh"))
        }
    }
}
