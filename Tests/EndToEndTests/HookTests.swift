import Catalogue
import ControlProtocol
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

extension EndToEnd {
    @Suite("Hooks get events of filed and quarantined files", .timeLimit(.minutes(60)))
    struct Hooks {
        private static let canMakePictures =
            access("/usr/bin/jq", X_OK) == 0 && access("/usr/bin/vipsthumbnail", X_OK) == 0

        /// A hook that writes its events to the file `told`.
        private static let note = """
            [hook.note]
            command = ["/bin/sh", "-c", "cat >> @told"]

            """

        /// The lines of the file `told` of `house`.
        private func told(_ house: House, _ name: String = "told") throws -> [[String: Any]] {
            let text = house.files(in: house.root)[name].map { String(decoding: $0, as: UTF8.self) } ?? ""
            return try text.split(separator: "\n").map { line in
                try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
            }
        }

        private func place(_ object: [String: Any]?) -> String? { object?["path"] as? String }

        @Test("Each event has its subject and the current place")
        func events() async throws {
            let house = try House()
            let daemon = try await house.start(
                configuration: House.oneCard + "\n" + Self.note + "on = ['filed', 'quarantined', 'set-complete']\n")
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.lines(holding: ["filed card/a.jpg", "hook note exited with status 0"])
            let filed = try #require(try told(house).first)
            #expect(filed["format"] as? Int == 1 && filed["event"] as? String == "filed", "\(filed)")
            #expect(filed["inbox"] as? String == "card" && filed["file"] as? String == "a.jpg")
            #expect(filed["name"] as? String == "a.jpg" && filed["set"] is NSNull)
            #expect(place(filed) == "\(house.library)/\(Photos.day)/a.jpg")
            #expect((filed["captured"] as? [String: Any])?["local"] as? String == "2024-01-31T12:34:56", "\(filed)")
            #expect((filed["sha256"] as? String)?.count == 64 && (filed["photo"] as? Int) == 1)
            // A name that is not text is reported by its bytes.
            let hostile = Array("b\n".utf8) + [0xFF] + Array(".jpg".utf8)
            try house.drop(try Photos.unique(2), as: "b.jpg", into: house.outside)
            _ = try systemCall("rename") {
                "\(house.outside)/b.jpg".withCString { old in
                    (Array("\(house.inbox)/".utf8) + hostile + [0]).withUnsafeBytes {
                        rename(old, $0.baseAddress.map { $0.assumingMemoryBound(to: CChar.self) } ?? old)
                    }
                }
            }
            try await daemon.lines(holding: ["filed card/b", "hook note exited with status 0"])
            let base64 = try told(house).last?["file_base64"] as? String
            #expect(base64.flatMap { Data(base64Encoded: $0) } == Data(hostile))
            // A truncated photo is set aside, with the reason.
            try house.drop(try Photos.unique(3).dropLast(1_000), as: "short.jpg")
            try await daemon.lines(holding: ["quarantined card/short.jpg", "hook note exited with status 0"])
            let aside = try #require(try told(house).last)
            #expect(
                aside["event"] as? String == "quarantined" && place(aside) == "\(house.root)/quarantine/card/short.jpg")
            // Two members of a set.
            try house.drop(try Photos.named("mosaic.nef"), as: "IMG_7.nef")
            try house.drop(try Photos.unique(7), as: "IMG_7.jpg")
            try await daemon.lines(holding: ["filed card/IMG_7.nef", "filed card/IMG_7.jpg"])
            while !(try told(house)).contains(where: { $0["event"] as? String == "set-complete" }) {
                try await daemon.line(holding: "hook note exited with status 0")
            }
            let set = try #require(try told(house).last { $0["event"] as? String == "set-complete" })
            let files = try #require(set["files"] as? [[String: Any]])
            #expect(Set(files.compactMap { $0["role"] as? String }) == ["raw", "picture"])
            for file in files { #expect(place(file).map { access($0, R_OK) } == 0) }
            // The events of a run are recorded when it has ended.
            let state = try await house.state(of: daemon) { state in
                state.hooks?.first.map { $0.waiting == 0 && $0.told ?? 0 >= 5 } ?? false
            }
            let hook = try #require(state.hooks?.first)
            #expect(hook.name == "note" && hook.failures == 0 && hook.runs >= 4)
            #expect(hook.lastResult == "exited with status 0")
            try await daemon.stop()
        }

        @Test("A hook that cannot be run is a problem until it can, and does not delay filing")
        func absent() async throws {
            let house = try House()
            let script = house.path("note")
            func put() throws {
                try write(Data("#!/bin/sh\ncat >> \(house.path("told"))\n".utf8), to: script)
                chmod(script, 0o755)
            }
            try put()
            let daemon = try await house.start(
                configuration: House.oneCard + "\n[hook.note]\ncommand = ['@note']\non = ['filed']\n")
            unlink(script)
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.lines(holding: ["filed card/a.jpg", "PI-103"])
            try house.drop(try Photos.unique(2), as: "b.jpg")
            try await daemon.line(holding: "filed card/b.jpg")
            let status = try await house.ask("status")
            #expect(status.text.contains("PI-103") && status.text.contains("hook note failed"), "\(status.text)")
            try put()
            try await daemon.line(holding: "PI-103 is over for note")
            #expect(try told(house).compactMap { $0["file"] as? String } == ["a.jpg", "b.jpg"])
            try await daemon.stop()
        }

        @Test("explain shows for each hook whether it was run for a file")
        func explained() async throws {
            let house = try House()
            // A hook that fails repeatedly is eventually not run for a file; one that failed once is retried.
            func hook(_ name: String, _ more: String) -> String {
                """

                [hook.\(name)]
                command = ['/bin/sh', '-c', 'test -e @ready-\(name) || { mkdir @failed-\(name) && exit 1; exec sleep 9999; }']
                deadline = '1h'
                \(more)

                """
            }
            let both = hook("all", "on = ['filed', 'set-complete']") + hook("late", "on = ['filed']")
            let others = hook("aside", "on = ['quarantined']") + hook("asked", "")
            func rows(_ file: String) async throws -> [String] {
                let words = try await house.ask("explain", file).lines.map { $0.split(separator: " ") }
                return words.filter { $0.first == "hook" }.map { $0.dropFirst().joined(separator: " ") }
            }
            try house.configure(House.oneCard + both + others)
            try write(Data(), to: house.path("ready-all"))
            let daemon = try await house.start(configuration: House.oneCard + both + others)
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.lines(holding: ["filed card/a.jpg", "hook all exited with status 0", "PI-103"])
            let journal = "journalctl -t photoinboxd PHOTOINBOX_HOOK=all"
            // A hook's position is recorded after its output.
            var told = try await poll({ try await rows("card/a.jpg") }) { $0.first?.hasPrefix("all handled") ?? false }
            // The last output of a run may concern another photo.
            #expect(told.first == "all handled it: \(journal)", "\(told)")
            #expect(told.last?.hasPrefix("late has yet to handle it: it failed ") ?? false, "\(told)")
            #expect(told.last?.contains("exited with status 1") ?? false && told.count == 2, "\(told)")
            // A photo by its path in the library; a set by any of its members.
            try house.drop(try Photos.named("mosaic.nef"), as: "IMG_7.nef")
            try house.drop(try Photos.unique(7), as: "IMG_7.jpg")
            try await daemon.lines(holding: ["filed card/IMG_7.nef", "filed card/IMG_7.jpg"])
            _ = try await poll({ try await rows("card/IMG_7.jpg") }) { rows in
                rows.contains { $0.hasPrefix("all handled its set") }
            }
            let place = "\(house.library)/\(Photos.day)/IMG_7.nef"
            told = try await rows(place)
            #expect(told.filter { $0.hasPrefix("all handled it") }.count == 2, "\(told)")
            // Without a daemon it reports that. Hooks newer than the file, or not started yet, have no event of it.
            try await daemon.stop()
            told = try await rows("card/a.jpg")
            #expect(told.last == "late has yet to handle it; photoinboxd is not running", "\(told)")
            try house.configure(House.oneCard + both + hook("new", "on = ['filed']"))
            told = try await rows("card/a.jpg")
            #expect(
                told.contains("new did not run: photoinboxd has not loaded it yet, and it will handle later files only")
            )
            let again = try await house.start(configuration: House.oneCard + both + hook("new", "on = ['filed']"))
            told = try await rows("card/a.jpg")
            #expect(told.contains { $0.hasPrefix("new did not run: the hook is newer, of ") }, "\(told)")
            let json = try await house.ask("explain", "--json", "card/a.jpg").text
            let all = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
            let file = try #require((all["files"] as? [[String: Any]])?.first)
            let hooks = try #require(file["hooks"] as? [[String: Any]])
            #expect(hooks.map { $0["standing"] as? String } == ["told", "waiting", "not-told"], "\(hooks)")
            #expect(hooks.allSatisfy { $0["event"] as? String == "filed" && $0["operation"] as? Int == 1 })
            // Without the configuration it shows the records, and reports that they are incomplete.
            let program = try RunningProgram([
                BuiltPrograms.path("photoinbox"), "explain", "--state", house.path("st"), "--runtime",
                house.path("st/run"), "card/a.jpg",
            ])
            _ = try await program.ending()
            let recorded = program.lines.filter { $0.contains("if it handles such files") }
            #expect(
                recorded.count == 2 && recorded[0].contains("all handled it, if it handles such files"),
                "\(program.lines)")
            #expect(recorded[1].contains("late has yet to handle it"), "\(program.lines)")
            try await again.stop()
        }

        @Test(
            "What a hook has skipped is a problem, over restarts too, until it was given that again and has handled it")
        func skipped() async throws {
            let house = try House()
            let configuration =
                House.oneCard + """

                    [hook.note]
                    command = ['/bin/sh', '-c', 'all=$(cat); case $all in *bad*) test -e @well || exit 1;; esac; echo "$all" >> @told']
                    on = ['filed']

                    """
            try house.configure(configuration)
            let daemon = try await house.start(configuration: configuration)
            try house.drop(try Photos.unique(1), as: "bad.jpg")
            try await daemon.line(holding: "filed card/bad.jpg")
            func problems(_ daemon: RunningProgram) async throws -> [String] {
                try await house.state(of: daemon) { _ in true }.problems.map(\.code)
            }
            // A new configuration has it tried at once.
            _ = try await poll {
                _ = try await house.ask("reload")
                return try await problems(daemon)
            } until: {
                $0 == ["PI-114"]
            }
            try house.drop(try Photos.unique(2), as: "good.jpg")
            _ = try await poll({ try told(house).compactMap { $0["file"] as? String } }) { $0 == ["good.jpg"] }
            let place = "\(house.library)/\(Photos.day)/bad.jpg"
            func expectProblem(_ daemon: RunningProgram) async throws {
                #expect(try await problems(daemon) == ["PI-114"])
                let status = try await house.ask("status").text
                #expect(
                    status.contains("hook note skipped 1 file that it failed on repeatedly: \(place)"), "\(status)")
                let row = try await house.ask("explain", place).lines.first { $0.contains(" note ") } ?? ""
                let command = house.proposed("retry", "--all")
                #expect(row.contains("note skipped it after five failures; \(command) gives it to it"), "\(row)")
            }
            try await expectProblem(daemon)
            try await daemon.stop()
            let again = try await house.start(configuration: configuration)
            try await expectProblem(again)
            // It fails on it once more.
            let dry = try await house.ask("retry", "--all", "--dry-run").text
            #expect(dry.contains("0 of all inboxes, and 1 by the hooks that skipped it"), "\(dry)")
            _ = try await house.ask("retry", "--all")
            try await again.line(holding: "is skipped and not tried again")
            _ = try await poll({ try await problems(again) }) { $0 == ["PI-114"] }
            try await expectProblem(again)
            try write(Data(), to: house.path("well"))
            _ = try await house.ask("retry", "--all")
            try await again.line(holding: "PI-114 is over for note")
            #expect(try told(house).compactMap { $0["file"] as? String } == ["good.jpg", "bad.jpg"])
            #expect(try await house.ask("retry", "--all").status == 4)
            #expect(try await problems(again).isEmpty)
            try await again.stop()
        }

        @Test(
            "The hook of docs/hooks.md makes its small pictures, whatever the photos' names",
            .enabled(if: canMakePictures, "skipped: needs jq and vipsthumbnail in /usr/bin"))
        func documented() async throws {
            let house = try House()
            let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().appending(path: "docs/hooks.md")
            let text = try String(contentsOf: page, encoding: .utf8)
            func block(from beginning: String) throws -> String {
                let begin = try #require(text.range(of: beginning)).lowerBound
                let end = try #require(text.range(of: "```", range: begin..<text.endIndex)).lowerBound
                return String(text[begin..<end])
            }
            let (cache, script) = (house.path("cache"), house.path("thumbnails"))
            let program = try block(from: "#!/bin/sh\n# Makes a small picture")
            #expect(program.contains("/var/cache/thumbnails/"))
            try write(Data(program.replacing("/var/cache/thumbnails", with: cache).utf8), to: script)
            chmod(script, 0o755)
            let keys = try block(from: "[hook.thumbnails]").replacing("/usr/local/lib/photos/thumbnails", with: script)
            #expect(keys.contains(script))
            let daemon = try await house.start(configuration: House.oneCard + "\n" + keys)
            // Its directory is missing: no event is lost.
            let photos = try [Photos.unique(1), Photos.named("exif.png"), Photos.named("exif.heic")]
            try house.drop(photos[0], as: "-a [1] 'b\\\n$(c).jpg")
            try await daemon.lines(holding: ["filed card/-a", "PI-103"])
            try house.drop(photos[1], as: "b.png")
            try house.drop(photos[2], as: "c.heic")
            try house.drop(try Photos.named("film.mp4"), as: "d.mp4")
            try await daemon.lines(holding: ["filed card/b.png", "filed card/c.heic", "filed card/d.mp4"])
            try makeDirectory(cache)
            try await daemon.line(holding: "PI-103 is over for thumbnails")
            _ = try await house.state(of: daemon) { state in
                state.hooks?.first.map { $0.waiting == 0 && $0.phase == "idle" } ?? false
            }
            let made = house.files(in: cache)
            let catalogue = try CatalogueFile.openForReading(house.path("st/catalogue.sqlite"))
            let hashes = try catalogue.photos(matching: PhotoFilter(), limit: 10).map(\.photo)
                .filter { $0.format != "mp4" }.map { $0.sha256.map { String(format: "%02x", $0) }.joined() + ".jpg" }
            #expect(made.keys.sorted() == hashes.sorted() && made.count == photos.count, "\(made.keys)")
            #expect(made.values.allSatisfy { $0.starts(with: [0xFF, 0xD8]) && $0.count > 200 })
            try await daemon.stop()
        }

        @Test("A hook that failed gets the same events again")
        func failing() async throws {
            let house = try House()
            let daemon = try await house.start(
                configuration: House.oneCard + """

                    [hook.note]
                    command = ["/bin/sh", "-c", "test -e @ready && cat >> @told"]
                    on = ["filed"]
                    """)
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.lines(holding: ["filed card/a.jpg", "PI-103"])
            try write(Data(), to: house.path("ready"))
            try await daemon.line(holding: "PI-103 is over for note")
            #expect(try told(house).compactMap { $0["file"] as? String } == ["a.jpg"])
            try await daemon.stop()
        }

        @Test("A hook that floods its output, ignores TERM and has children is killed completely, and photos are filed")
        func hostile() async throws {
            let house = try House()
            let script = house.path("hostile")
            try write(
                Data(
                    """
                    #!/bin/sh
                    trap '' TERM
                    (exec >/dev/null; while :; do sleep 0.1; done) &
                    echo $! > \(house.path("child"))
                    printf '\\033[2J%02000d\\n' 1
                    while :; do echo flood; done
                    """.utf8), to: script)
            chmod(script, 0o755)
            let daemon = try await house.start(
                configuration: House.oneCard
                    + "\n[hook.note]\ncommand = ['@hostile']\non = ['filed']\ndeadline = '1s'\n")
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.lines(holding: ["filed card/a.jpg", "hook note: flood"])
            try house.drop(try Photos.unique(2), as: "b.jpg")
            try await daemon.line(holding: "filed card/b.jpg")
            try await daemon.line(holding: "did not end within 1s and killed by signal 9")
            #expect(daemon.lines.contains { $0.contains("more lines left out") })
            #expect(!daemon.lines.contains { $0.utf8.contains(0x1B) })
            let said = daemon.lines.filter { $0.contains("hook note: ") }
            #expect(said.count >= 500 && said.allSatisfy { $0.utf8.count < 5_000 })
            let child = try #require(
                house.files(in: house.root)["child"].flatMap {
                    Int32(String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines))
                })
            try await processIsGone(child)
            try await daemon.stop()
        }

        @Test("Events that were not confirmed before the daemon ended or was killed are delivered after the restart")
        func overRestarts() async throws {
            let house = try House()
            let slow =
                House.oneCard + """

                    [hook.note]
                    command = ["/bin/sh", "-c", "cat > @begun; exec sleep 3600"]
                    on = ["filed"]
                    deadline = "1h"
                    """
            var daemon = try await house.start(configuration: slow)
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.lines(holding: ["hook note runs", "filed card/a.jpg"])
            // It ends on TERM.
            try await daemon.stop()
            daemon = try await house.start(configuration: slow, reporting: ["hook note runs"])
            try house.drop(try Photos.unique(2), as: "b.jpg")
            try await daemon.line(holding: "filed card/b.jpg")
            daemon.signal(SIGKILL)
            _ = try await daemon.ending()
            daemon = try await house.start(
                configuration: House.oneCard + "\n" + Self.note + "on = ['filed']\n",
                reporting: ["hook note exited with status 0"])
            #expect(try told(house).compactMap { $0["file"] as? String } == ["a.jpg", "b.jpg"])
            try await daemon.stop()
        }

        @Test("A reload starts new hooks now, keeps the position of changed ones and stops removed ones")
        func reload() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "filed card/a.jpg")
            try house.configure(House.oneCard + "\n" + Self.note + "on = ['filed']\n")
            daemon.signal(SIGHUP)
            try await daemon.line(holding: "configuration from")
            try house.drop(try Photos.unique(2), as: "b.jpg")
            try await daemon.line(holding: "hook note exited with status 0")
            // One that any user can change is refused, with its path, and the old one stays.
            try write(Data("#!/bin/sh\n".utf8), to: house.path("open"))
            chmod(house.path("open"), 0o777)
            try house.configure(House.oneCard + "\n[hook.note]\ncommand = ['@open']\non = ['filed']\n")
            daemon.signal(SIGHUP)
            try await daemon.line(holding: "photoinbox.toml:10:11", "can be written to by others")
            try house.configure(
                House.oneCard + "\n[hook.note]\ncommand = ['/bin/sh', '-c', 'cat >> @other']\non = ['filed']\n")
            daemon.signal(SIGHUP)
            try await daemon.line(holding: "configuration from")
            try house.drop(try Photos.unique(3), as: "c.jpg")
            try await daemon.line(holding: "hook note exited with status 0")
            #expect(try told(house).compactMap { $0["file"] as? String } == ["b.jpg"])
            #expect(try told(house, "other").compactMap { $0["file"] as? String } == ["c.jpg"])
            try house.configure(House.oneCard)
            daemon.signal(SIGHUP)
            try await daemon.line(holding: "configuration from")
            _ = try await house.state(of: daemon) { $0.hooks?.isEmpty == true }
            try await daemon.stop()
        }

        @Test("A configuration that others can change runs no hook")
        func openConfiguration() async throws {
            let house = try House()
            try house.configure(House.oneCard + "\n" + Self.note + "on = ['filed']\n")
            chmod(house.path("photoinbox.toml"), 0o666)
            let daemon = try house.launch(["--config", house.path("photoinbox.toml"), "--check"])
            #expect(try await daemon.ending() == .status(78))
            #expect(
                daemon.lines.contains { $0.contains("a configuration with hooks must be safe") }, "\(daemon.lines)")
        }

        @Test("Under a service manager, a missing unit socket is reported and loses no event")
        func withoutItsUnit() async throws {
            let house = try House()
            let unit = "hooks = 'unit'\n" + House.oneCard + "\n" + Self.note + "on = ['filed']\n"
            let daemon = try await house.start(configuration: unit)
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.lines(holding: ["filed card/a.jpg", "is photoinboxd-hooks.socket started?"])
            try house.configure("hooks = 'child'\n" + House.oneCard + "\n" + Self.note + "on = ['filed']\n")
            daemon.signal(SIGHUP)
            try await daemon.line(holding: "hook note exited with status 0")
            #expect(try told(house).compactMap { $0["file"] as? String } == ["a.jpg"])
            try await daemon.stop()
        }
    }
}
