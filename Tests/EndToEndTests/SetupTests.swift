import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    @Suite("Setting up a user's own daemon")
    struct Setup {
        /// The options for a daemon with its own configuration in the house.
        private static func options(_ house: House, _ droppers: String = "me") -> [String] {
            [
                "setup", "--user", "--for", droppers, "--inbox", house.path("drops/inbox"), "--library",
                house.path("photos/library"), "--config", house.path("photoinbox.toml"),
            ]
        }

        private static func run(_ arguments: [String], as prefix: [String] = []) async throws -> CommandResult {
            let program = try RunningProgram(
                prefix + ["/bin/sh", "-c", "exec \"$0\" \"$@\" </dev/null", BuiltPrograms.path("photoinbox")]
                    + arguments)
            let ending = try await program.ending()
            return CommandResult(lines: program.lines, ending: ending)
        }

        /// What there is below the house: kinds, owners, modes and times.
        private static func listing(_ house: House) async throws -> [String] {
            let find = try RunningProgram(
                ["/usr/bin/find", house.root, "-not", "-path", "*/state*", "-printf", "%P %y %U:%G %m %T@\n"])
            _ = try await find.ending()
            return find.lines.sorted()
        }

        @Test("It is set up, a test photo is filed and removed, and a second run changes nothing", .tags(.smoke))
        func whole() async throws {
            let house = try House()
            let before = try await Self.listing(house)
            let dry = try await Self.run(Self.options(house) + ["--dry-run"])
            #expect(dry.status == 0 && dry.lines.contains("mkdir \(house.path("drops/inbox"))"), "\(dry.text)")
            let refused = try await Self.run(Self.options(house))
            #expect(refused.status == 64 && refused.text.contains("Give --yes"), "\(refused.text)")
            #expect(try await Self.listing(house) == before)

            let first = try await Self.run(Self.options(house) + ["--yes"])
            #expect(first.status == 3, "\(first.text)")
            #expect(first.lines.contains("undo   rmdir \(house.path("photos/library"))"), "\(first.text)")
            let start = try #require(first.lines.first { $0.hasPrefix("left   photoinboxd: start it: photoinboxd ") })
            let daemon = try house.launch(start.split(separator: " ").dropFirst(5).map(String.init))
            try await daemon.line(holding: "ready: ")
            let made = try await Self.listing(house)
            let second = try await Self.run(Self.options(house) + ["--yes"])
            #expect(second.status == 0, "\(second.text)")
            #expect(second.lines.count { $0.hasPrefix("right  ") } == 4, "\(second.text)")
            #expect(!second.text.contains("done  "), "\(second.text)")
            let test = try #require(second.lines.first { $0.hasPrefix("test  ") })
            #expect(test.contains("was filed as 20"), "\(test)")
            try await daemon.line(holding: "filed inbox/photoinbox-setup-test-", "EXIF DateTimeOriginal")
            try await daemon.line(holding: "taken back inbox/photoinbox-setup-test-")
            // Of the photo nothing is left but its record, and the directory of returned photos.
            #expect(Tree.files(below: house.root).keys.allSatisfy { !$0.contains("setup-test") })
            let names = { (lines: [String]) in Set(lines.map { String($0.prefix { $0 != " " }) }) }
            let after = try await Self.listing(house)
            let new = names(after).subtracting(names(made)).filter { !$0.hasPrefix("photos/library/20") }
            #expect(new == ["photos/returned", "photos/returned/inbox"])
            #expect(made.filter { $0.contains("photoinbox.toml") } == after.filter { $0.contains("photoinbox.toml") })

            // One more inbox; the configuration is extended, and the old one is kept.
            let more = try await Self.run(
                Self.options(house, "syncthing") + ["--inbox", house.path("drops/phone"), "--yes"])
            #expect(more.status == 0 && more.text.contains("add a folder of the type \"Receive Only\""), "\(more.text)")
            try await daemon.line(holding: "taken back phone/photoinbox-setup-test-")
            let copies = try Self.copies(house)
            #expect(copies.count == 1)
            let oldText = try String(contentsOfFile: house.path(copies.first ?? ""), encoding: .utf8)
            let newText = try String(contentsOfFile: house.path("photoinbox.toml"), encoding: .utf8)
            #expect(newText.hasPrefix(oldText) && newText.hasSuffix("mode = \"copy\"\n") && !oldText.contains("phone"))
            #expect(Tree.files(below: house.path("drops")).isEmpty)

            #expect(try await house.ask("pause", "inbox").status == 0)
            let paused = try await Self.run(Self.options(house) + ["--yes"])
            #expect(paused.status == 1 && paused.text.contains("the inbox inbox is paused by "), "\(paused.text)")
            #expect(Tree.files(below: house.path("drops")).isEmpty)
            #expect(try await Self.run(Self.options(house) + ["--yes", "--no-test"]).status == 0)
            try await daemon.stop()
        }

        private static func copies(_ house: House) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: house.root).filter {
                $0.hasPrefix("photoinbox.toml.before-setup-2")
            }
        }

        @Test("Stopped by Ctrl-C or a closed terminal while it waits, it removes the test photo", .tags(.smoke))
        func stopped() async throws {
            let house = try House()
            let text = """
                library = "\(house.path("photos/library"))"
                [inbox.inbox]
                path = "\(house.path("drops/inbox"))"
                [filing]
                min-free = "1000T"

                """
            try runProgram(["/bin/sh", "-c", "mkdir -p $0/drops/inbox $0/photos/library", house.root])
            try overwrite(house.path("photoinbox.toml"), with: Data(text.utf8))
            let daemon = try house.launch(["--config", house.path("photoinbox.toml")])
            try await daemon.line(holding: "ready: ")
            for signal in [SIGINT, SIGHUP] {
                let program = try RunningProgram(
                    ["/bin/sh", "-c", "exec \"$0\" \"$@\" </dev/null", BuiltPrograms.path("photoinbox")]
                        + Self.options(house) + ["--yes"])
                try await poll({ Tree.files(below: house.path("drops")).count }, until: { $0 == 1 })
                program.signal(signal)
                #expect(try await program.ending() == .status(1))
                #expect(program.lines.joined().contains("stopped before the test photo was filed"), "\(program.lines)")
                #expect(Tree.files(below: house.path("drops")).isEmpty)
                #expect(Tree.files(below: house.path("photos")).keys.allSatisfy { !$0.contains("setup-test") })
            }
            // Of a daemon that does not answer nobody knows whether it filed the photo.
            let program = try RunningProgram(
                ["/bin/sh", "-c", "exec \"$0\" \"$@\" </dev/null", BuiltPrograms.path("photoinbox")]
                    + Self.options(house) + ["--yes"])
            try await poll({ Tree.files(below: house.path("drops")).count }, until: { $0 == 1 })
            daemon.signal(SIGKILL)
            _ = try await daemon.ending()
            #expect(try await program.ending() != .status(0))
            #expect(program.lines.joined().contains("the test photo may have been filed meanwhile"))
            #expect(program.lines.joined().contains(" inbox/photoinbox-setup-test-"), "\(program.lines)")
            #expect(Tree.files(below: house.path("drops")).isEmpty)
        }

        @Test("Files that are in a directory do not become arrivals without being agreed to")
        func arrivals() async throws {
            let house = try House()
            try runProgram(["/bin/sh", "-c", "mkdir $0/drops $0/drops/inbox; touch $0/drops/inbox/a.jpg", house.root])
            let before = try await Self.listing(house)
            let refused = try await Self.run(Self.options(house) + ["--yes"])
            #expect(refused.status == 64 && refused.text.contains("has 1 files or directories"), "\(refused.text)")
            #expect(try await Self.listing(house) == before)
        }

        @Test("If nobody reads what is done it is done to the end, and fails")
        func unread() async throws {
            let house = try House()
            let arguments = (Self.options(house) + ["--yes"]).map { "'\($0)'" }.joined(separator: " ")
            // A pipe whose only reader is gone.
            let script =
                "mkfifo $0/pipe; exec 4<>$0/pipe 5>$0/pipe 4<&-; exec \(BuiltPrograms.path("photoinbox")) \(arguments) >&5"
            let program = try RunningProgram(["/bin/bash", "-c", script, house.root])
            let ending = try await program.ending()
            #expect(ending == .status(1), "\(program.lines)")
            #expect(program.lines.contains { $0.contains("standard output was closed") }, "\(program.lines)")
            #expect(access(house.path("photoinbox.toml"), F_OK) == 0)
        }

        @Test("A configuration that the daemon would refuse is not left behind")
        func refused() async throws {
            let house = try House()
            let text =
                "library = \"\(house.path("photos/library"))\"\n[hook.x]\ncommand = [\"/nonexistent\"]\non = [\"filed\"]\n"
            try overwrite(house.path("photoinbox.toml"), with: Data(text.utf8))
            let result = try await Self.run(Self.options(house) + ["--yes"])
            #expect(result.status == 78 && result.text.contains("photoinboxd refuses "), "\(result.text)")
            #expect(try String(contentsOfFile: house.path("photoinbox.toml"), encoding: .utf8) == text)
            #expect(try Self.copies(house) == [])
            let alone = try RunningProgram([BuiltPrograms.path("photoinboxd"), "--input"])
            #expect(try await alone.ending() == .status(64))
            #expect(alone.lines == ["photoinboxd: --input needs --check"])
        }

        @Test(
            "Killed while the daemon judges the configuration, it leaves the one that was there",
            .enabled(if: canMount, withoutMounts))
        func killed() async throws {
            let house = try House()
            // In the daemon's place: what is judged is not there yet, and whoever asks is killed. Written by the shell, since
            // a file cannot be run while a process that this one has forked still has it open for writing.
            let script = """
                printf 'library = "%s/photos/library"\n' $0 >$0/photoinbox.toml
                cp $0/photoinbox.toml $0/before
                printf '#!/bin/sh\ncat >%s/judged\nkill -9 $PPID\n' $0 >$0/fake
                chmod 755 $0/fake
                mount --bind $0/fake "$1"
                "$2" "${@:3}" </dev/null
                # Whoever asked is killed before the script that did it has ended.
                umount -l "$1"
                cmp $0/before $0/photoinbox.toml && ls $0 | grep toml
                grep '^path' $0/judged
                "$2" "${@:3}" </dev/null
                """
            let program = try RunningProgram(
                ["/usr/bin/unshare", "-m", "--propagation", "private", "/bin/bash", "-c", script, house.root]
                    + [BuiltPrograms.path("photoinboxd"), BuiltPrograms.path("photoinbox")] + Self.options(house)
                    + ["--yes"])
            #expect(try await program.ending() == .status(3), "\(program.lines)")
            let said = program.lines
            let first = said.firstIndex(of: "photoinbox.toml") ?? said.count
            #expect(said.dropFirst(first + 1).first == "path = \"\(house.path("drops/inbox"))\"", "\(said)")
            #expect(!said.prefix(first).contains { $0.hasPrefix("done   \(house.path("photoinbox.toml"))") }, "\(said)")
            #expect(said.dropFirst(first).contains("done   \(house.path("photoinbox.toml")): with"), "\(said)")
        }

        @Test(
            "A configuration that could not be checked is not written", .enabled(if: canMount, withoutMounts))
        func unchecked() async throws {
            let house = try House()
            let script = """
                printf 'library = "%s/photos/library"\n' $0 >$0/photoinbox.toml
                cp $0/photoinbox.toml $0/before
                for ending in 'kill -9 $$' 'exit 64' 'exit 71'; do
                    printf '#!/bin/sh\n%s\n' "$ending" >$0/fake
                    chmod 755 $0/fake
                    mount --bind $0/fake "$1"
                    "$2" "${@:3}" </dev/null >$0/said 2>&1
                    echo "$? $(tail -n 1 $0/said)"
                    umount "$1"
                    cmp $0/before $0/photoinbox.toml && ls $0 | grep toml
                done
                """
            let program = try RunningProgram(
                ["/usr/bin/unshare", "-m", "--propagation", "private", "/bin/bash", "-c", script, house.root]
                    + [BuiltPrograms.path("photoinboxd"), BuiltPrograms.path("photoinbox")] + Self.options(house)
                    + ["--yes"])
            #expect(try await program.ending() == .status(0), "\(program.lines)")
            let said = program.lines
            #expect(said.count == 6, "\(said)")
            for (line, ending) in zip(
                said.filter { $0 != "photoinbox.toml" },
                ["killed by signal 9", "exited with status 64", "exited with status 71"])
            {
                #expect(
                    line
                        == "1 photoinbox: \(house.path("photoinbox.toml")) could not be checked, so that is not written: "
                        + "\(BuiltPrograms.path("photoinboxd")) --check \(ending). Run this again.")
            }
        }

        @Test("A second setup is refused while one runs")
        func second() async throws {
            let house = try House()
            let refused = try await Self.run(Self.options(house) + ["--yes"], as: ["/usr/bin/flock", house.root])
            #expect(
                refused.status == 75
                    && refused.text.contains("another setup may be running: \(house.root) is locked by process "),
                "\(refused.text)")
            #expect(access(house.path("photoinbox.toml"), F_OK) != 0)
            #expect(
                try await Self.run(Self.options(house) + ["--dry-run"], as: ["/usr/bin/flock", house.root]).status == 0)
        }

        @Test("Without a terminal and without answers it names the missing ones")
        func answers() async throws {
            let house = try House()
            let result = try await Self.run(["setup", "--user", "--yes", "--config", house.path("photoinbox.toml")])
            #expect(result.status == 64, "\(result.text)")
            #expect(
                result.text
                    == "photoinbox: there is no terminal to ask on. Give --for, --inbox, --library.")
            let wrong = try await Self.run(["setup", "--for", "everybody"])
            #expect(wrong.status == 64, "\(wrong.text)")
            let odd = try await Self.run(Self.options(house) + ["--inbox", house.path("a\"b"), "--yes"])
            #expect(odd.status == 64 && odd.text.contains("Choose another name"), "\(odd.text)")
            #expect(access(house.path("photoinbox.toml"), F_OK) != 0)
        }

        @Test("On a terminal it asks, shows what it would do, and does it after a yes")
        func terminal() async throws {
            for (answer, isDone) in [("n", false), ("y", true)] {
                let house = try House()
                let terminal = try PseudoTerminal(
                    [
                        BuiltPrograms.path("photoinbox"), "setup", "--user", "--no-test", "--config",
                        house.path("photoinbox.toml"),
                    ], environment: ["HOME": house.root], columns: 200, rows: 60)
                try await terminal.wait(for: "Who drops photos: local, samba, sftp, ftp, syncthing, me? [me]")
                terminal.type("\n")
                try await terminal.wait(for: "Into which directory? [\(house.path("photos/inbox"))]")
                terminal.type("~/mine/inbox\n")
                try await terminal.wait(for: "In which directory is the library? [\(house.path("photos/library"))]")
                terminal.type("\n")
                try await terminal.wait(for: "do this? [y/N]")
                #expect(terminal.text.contains("mkdir \(house.path("mine/inbox"))"), "\(terminal.text)")
                #expect(access(house.path("mine"), F_OK) != 0)
                terminal.type("\(answer)\n")
                #expect(try await terminal.ending() == .status(isDone ? 3 : 1), "\(terminal.text)")
                #expect((access(house.path("mine/inbox"), F_OK) == 0) == isDone)
                #expect((access(house.path("photoinbox.toml"), F_OK) == 0) == isDone)
            }
        }

        @Test(
            "Root is asked five questions for the system's service, and a dry run changes nothing",
            .enabled(if: isRoot, "skipped: needs root"))
        func system() async throws {
            let house = try House()
            let before = try await Self.listing(house)
            let options = ["setup", "--dry-run", "--config", house.path("photoinbox.toml")]
            let terminal = try PseudoTerminal(
                [BuiltPrograms.path("photoinbox")] + options, columns: 200, rows: 100)
            for (question, answer) in [
                ("Who drops photos: local, samba, sftp, ftp, syncthing, me? [local]", "samba"),
                ("Into which directory? [/srv/photos/inbox]", "/srv/setup-test/inbox"),
                ("In which directory is the library? [/srv/photos/library]", "/srv/setup-test/library"),
                ("Which group may drop? Members of _photoinbox may control the daemon, too. [_photoinbox]", "setup-t"),
                ("Which user is one of those who drop?", "nobdy"),
                ("nobdy is not valid.", "nobody "),
            ] {
                try await terminal.wait(for: question)
                terminal.type("\(answer)\n")
            }
            try await terminal.wait(for: "groupadd --system setup-t")
            #expect(try await terminal.ending() == .status(0), "\(terminal.text)")
            let dry = try await Self.run(
                options + [
                    "--for", "samba", "--group", "setup-t", "--as", "nobody", "--inbox", "/srv/setup-test/inbox",
                ]
                    + ["--library", "/srv/setup-test/library"])
            #expect(dry.status == 0, "\(dry.text)")
            #expect(
                dry.lines.prefix(2) == ["# These are for a shell of root: sudo -s", "umask 022"], "\(dry.text)")
            #expect(dry.lines.contains("groupadd --system setup-t"), "\(dry.text)")
            #expect(
                dry.lines.contains("install -d -o _photoinbox -g setup-t -m 2775 /srv/setup-test/inbox"),
                "\(dry.text)")
            #expect(dry.lines.contains("#     force group = setup-t"), "\(dry.text)")
            #expect(try await Self.listing(house) == before)
            // Whoever can change the configuration could have root change other directories.
            try runProgram(["/bin/sh", "-c", "touch $0/photoinbox.toml; chmod 0666 $0/photoinbox.toml", house.root])
            let open = try await Self.run(options + ["--for", "me", "--as", "nobody"])
            #expect(
                open.status == 77 && open.text.contains("others can change \(house.root)/photoinbox.toml"),
                "\(open.text)")
        }

        @Test("Root follows nobody's link and takes nobody's directory", .enabled(if: canMount, withoutMounts))
        func attacks() async throws {
            let house = try House()
            // Accounts, /srv and /home of its own, so that a failure does no harm either.
            let script = """
                set -eu
                mount -t tmpfs -o mode=755 tmpfs /srv
                mount -t tmpfs -o mode=755 tmpfs /home
                mkdir /srv/of /srv/conf
                cp /etc/passwd /etc/group /srv/of
                printf '%s\\n' 'ana:x:4711:4711::/home/ana:/bin/sh' 'bob:x:4712:4712::/home/bob:/bin/sh' \
                    '_photoinbox:x:4713:4713::/:/bin/false' >>/srv/of/passwd
                printf '%s\\n' 'ana:x:4711:' 'bob:x:4712:' '_photoinbox:x:4713:ana' 'team:x:4714:ana' >>/srv/of/group
                mount --bind /srv/of/passwd /etc/passwd
                mount --bind /srv/of/group /etc/group
                install -d -o ana -g ana -m 0755 /home/ana
                install -d -m 0700 /srv/secret
                install -d -o bob -g bob -m 0755 /srv/bob
                install -d -g team -m 0775 /srv/photos
                install -d -g team -m 2775 /srv/shared
                ln -s /srv/secret /home/ana/inbox
                ln -s /srv/secret /srv/photos/trash
                chown -h ana /home/ana/inbox /srv/photos/trash
                secret() { stat -c '%u:%g %a' /srv/secret; }
                setup() {
                    status=0
                    "$0" setup --yes --no-test --as ana --config /srv/conf/photoinbox.toml "$@" </dev/null >/srv/said 2>&1 ||
                        status=$?
                    echo "$status $(secret) $(tail -n 1 /srv/said)"
                }
                setup --for me --inbox /home/ana/inbox --library /srv/lib/photos
                setup --for me --inbox /home/ana/inbox/new --library /srv/lib/photos
                setup --for me --inbox /home/ana/in --library /srv/photos/library
                setup --for me --inbox /srv/bob --library /srv/lib/photos
                setup --for local --inbox /srv/shared --library /srv/lib/photos
                grep -c _photoinbox.*team /etc/group || true
                setup --for me --inbox /home/ana/in --library /srv/lib/photos
                stat -c '%U:%G %a' /home/ana/in /srv/lib /srv/lib/photos
                """
            let program = try RunningProgram(
                ["/usr/bin/unshare", "-m", "--propagation", "private", "/bin/bash", "-c", script]
                    + [BuiltPrograms.path("photoinbox")])
            let ending = try await program.ending()
            let said = program.lines
            #expect(ending == .status(0) && said.count == 10, "\(said) \(house.root)")
            guard said.count == 10 else { return }
            let kept = "0:0 700 photoinbox: "
            #expect(said[0].hasPrefix("77 \(kept)/home/ana/inbox is a link of ana"), "\(said[0])")
            #expect(said[1].hasPrefix("77 \(kept)/home/ana/inbox is a link of ana"), "\(said[1])")
            #expect(said[2].hasPrefix("77 \(kept)/srv/photos/trash is a link of ana"), "\(said[2])")
            #expect(said[3].hasPrefix("77 \(kept)/srv/bob (bob:bob 0755) belongs to bob"), "\(said[3])")
            #expect(said[4].hasPrefix("77 \(kept)/srv/shared (root:team 2775) is for the group team."), "\(said[4])")
            #expect(said[5] == "0", "the service became a member of a directory's group")
            #expect(said[6].hasPrefix("3 0:0 700 "), "\(said[6])")
            #expect(said[7...] == ["ana:_photoinbox 2770", "root:root 755", "_photoinbox:_photoinbox 2755"])
        }

        @Test(
            "What keeps a user from a file is named with its owner and mode, by commands and by the check",
            .enabled(if: isRoot && canBeOrdinary, "skipped: needs root and programs that nobody may run"))
        func obstacles() async throws {
            let house = try House()
            let configuration = "library = \"\(house.library)\"\n[inbox.in]\npath = \"\(house.inbox)\"\n"
            let scratch = try ScratchDirectory()
            let file = scratch.appending("photoinbox.toml")
            try runProgram(["/bin/sh", "-c", "chmod 755 $0; printf '%s' \"$1\" >$2", scratch.path, configuration, file])
            let denied = "permission denied to nobody by \(house.root) (root:root 0700)"
            let mend = "sudo setfacl -m u:nobody:x \(house.root)"
            for (program, arguments, status, words) in [
                ("photoinboxd", ["--check", "--config", file], 78, "\(denied); \(mend)"),
                ("photoinbox", ["list", "--state", house.path("st")], 77, denied),
                ("photoinbox", ["pause", "in", "--state", house.path("st")], 77, denied),
            ] as [(String, [String], Int32, String)] {
                let program = try RunningProgram(asNobody + [BuiltPrograms.path(program)] + arguments)
                #expect(try await program.ending() == .status(status), "\(program.lines)")
                #expect(program.lines.joined().contains(words), "\(program.lines)")
            }
            // Through links, of which one is the inbox itself, and by a user without a name.
            let link = scratch.appending("link")
            try runProgram(["/bin/sh", "-c", "ln -s $0 $1; ln -s $1/inbox $1.inbox", house.root, link])
            try overwrite(
                file, with: Data("library = \"\(link)/library\"\n[inbox.in]\npath = \"\(link).inbox\"\n".utf8))
            let check = [BuiltPrograms.path("photoinboxd"), "--check", "--config", file]
            let nameless = ["/usr/bin/setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"]
            for (prefix, user) in [(asNobody, "nobody"), (nameless, "54321")] {
                let program = try RunningProgram(prefix + check)
                #expect(try await program.ending() == .status(78), "\(program.lines)")
                let words =
                    "permission denied to \(user) by \(house.root) (root:root 0700); sudo setfacl -m u:\(user):x \(house.root)"
                for key in ["library = ", "path = "] {
                    #expect(program.lines.contains { $0.contains(key) && $0.contains(words) }, "\(program.lines)")
                }
            }
        }

        @Test(
            "What a unit hides is not said to need a command",
            .enabled(if: canMount && canBeOrdinary, "skipped: needs root, mounts, and programs that nobody may run"))
        func hidden() async throws {
            let scratch = try ScratchDirectory()
            let file = scratch.appending("photoinbox.toml")
            try runProgram(["/bin/chmod", "755", scratch.path])
            try overwrite(
                file, with: Data("library = \"/root/photos/library\"\n[inbox.in]\npath = \"/root/photos/in\"\n".utf8))
            let program = try RunningProgram(
                ["/usr/bin/unshare", "-m", "--propagation", "private", "/bin/sh", "-c"]
                    + ["mount -t tmpfs -o mode=0000 tmpfs /root && exec \"$@\"", "-"] + asNobody
                    + [BuiltPrograms.path("photoinboxd"), "--check", "--config", file])
            #expect(try await program.ending() == .status(78), "\(program.lines)")
            let words =
                "cannot be checked: ProtectHome= of its unit hides /root; for the installed service, see HOME DIRECTORIES"
            for key in ["library = ", "path = "] {
                #expect(program.lines.contains { $0.contains(key) && $0.contains(words) }, "\(program.lines)")
            }
            #expect(!program.lines.joined().contains("setfacl"), "\(program.lines)")
        }

        @Test(
            "The group that a library's set-group-ID bit gives is accepted, with a warning that new directories lose it",
            .enabled(if: isRoot && canBeOrdinary, "skipped: needs root and programs that nobody may run"))
        func libraryGroup() async throws {
            let scratch = try ScratchDirectory()
            let (path, file) = (scratch.path, scratch.appending("photoinbox.toml"))
            try runProgram([
                "/bin/sh", "-c",
                "chmod 755 $0; cd $0; mkdir library inbox st; chown 65534:4711 *; touch photoinbox.toml", path,
            ])
            let text =
                "library = \"\(path)/library\"\nstate = \"\(path)/st\"\nquarantine = \"\(path)/st/q\"\n"
                + "duplicates = \"\(path)/st/d\"\nreturned = \"\(path)/st/r\"\ntrash = \"\(path)/st/t\"\n"
                + "[inbox.in]\npath = \"\(path)/inbox\"\n[filing]\ngroup = \"4711\"\n"
            try overwrite(file, with: Data(text.utf8))
            for (group, mode, status, words) in [
                (
                    "4711", "2770", 0,
                    "nobody is not a member of the group 4711 of this set-group-ID directory, so new directories in it "
                        + "may lose that bit, and photos for those are not filed; sudo usermod -aG 4711 nobody"
                ),
                // A mount can give it.
                ("4711", "0770", 0, "nobody may not give files to this group, which it is not a member of"),
                ("4712", "0770", 78, "nobody may not give files to this group, which it is not a member of"),
            ] as [(String, String, Int32, String)] {
                try runProgram(["/bin/chown", ":\(group)", "\(path)/library"])
                // Five digits, since with four chmod keeps the bit.
                try runProgram(["/bin/chmod", "0\(mode)", "\(path)/library"])
                let check = [BuiltPrograms.path("photoinboxd"), "--check", "--config", file]
                let program = try RunningProgram(asNobody + check)
                #expect(try await program.ending() == .status(status), "\(program.lines)")
                #expect(program.lines.joined().contains(words), "\(program.lines)")
            }
        }

        @Test(
            "A missing permission names user, mode and a command, and that command gives it",
            .enabled(if: isRoot && canBeOrdinary, "skipped: needs root and programs that nobody may run"))
        func permissions() async throws {
            let house = try House()
            try runProgram(["/bin/sh", "-c", "mkdir -p $0/conf && chown 65534 $0/conf", house.root])
            let command =
                ["setup", "--for", "me", "--inbox", house.path("inbox"), "--library", house.path("shelf/library")]
                + ["--config", house.path("conf/photoinbox.toml"), "--yes"]
            var messages: [String] = []
            while messages.count < 10 {
                let result = try await Self.run(command, as: asNobody)
                guard result.status == 77 else {
                    #expect(result.status == 3, "\(result.text)")
                    break
                }
                let text = try #require(result.lines.last)
                messages.append(text)
                let mend = try #require(text.split(separator: "llow it: sudo ").last)
                // setfacl may not be installed.
                let command = String(mend).replacing("setfacl -m u:nobody:x", with: "chmod o+x")
                try runProgram(["/bin/sh", "-c", command])
            }
            let root = house.root
            #expect(messages.count == 3, "\(messages)")
            #expect(
                messages.first
                    == "photoinbox: nobody may not enter \(root) (root:root 0700). "
                    + (access("/usr/bin/setfacl", X_OK) == 0 ? "Allow it" : "Install the package acl, then allow it")
                    + ": sudo setfacl -m u:nobody:x \(root)")
            #expect(
                messages.dropFirst().first
                    == "photoinbox: nobody may not write to \(root)/inbox (root:root 0755). Allow it: "
                    + "sudo chown nobody: \(root)/inbox")
            // What cannot be seen while planning is reported the same way.
            #expect(messages.last?.contains("nobody may not make a directory in \(root) (root:root 0701)") == true)
            #expect(access(house.path("conf/photoinbox.toml"), F_OK) == 0)
        }
    }
}
