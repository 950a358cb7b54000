import Catalogue
import FileValues
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

/// A state directory with a catalogue of a few filed photos, an inbox, a library, and a configuration for them.
struct RecordedHouse {
    let directory: ScratchDirectory
    let filed: FiledIDs
    let quarantined: Int64

    /// When the first photo was filed: 2025-11-21 13:07:31 UTC.
    static let moment = FileTime(seconds: 1_763_730_451, nanoseconds: 123_000_000)

    init() throws {
        directory = try ScratchDirectory()
        for name in ["inbox/sub", "library/2026/11", "state/run", "quarantine/card", "duplicates/card"] {
            try makeDirectories(directory.appending(name))
        }
        let root = BytePath(directory.path)
        let catalogue = try CatalogueFile.openForWriting(
            directory.appending("state/catalogue.sqlite"), now: Self.moment)
        let first = Self.photo("IMG_1.jpg", hash: 1, in: root)
        let intent = try catalogue.beginIntent(
            token: "one", temporary: "t", photo: first, since: Self.moment)
        filed = try catalogue.commitFiling(
            FilingCommit(intent: intent, photo: first, filedAt: Self.moment, reason: "date from EXIF DateTimeOriginal"))
        try catalogue.closeIntent(intent)
        // Later, and with a name that is no text.
        let odd = Self.photo(BytePath(Array("odd\n".utf8) + [0xFF]), hash: 2, in: root)
        let later = FileTime(seconds: Self.moment.seconds + 86_400 * 2, nanoseconds: 0)
        let second = try catalogue.beginIntent(token: "two", temporary: "t2", photo: odd, since: later)
        _ = try catalogue.commitFiling(FilingCommit(intent: second, photo: odd, filedAt: later, reason: "file time"))
        try catalogue.closeIntent(second)
        try catalogue.recordOutcome(
            OutcomeRecord(
                at: later, inbox: "card", path: "again.jpg", outcome: .duplicate, reason: "the same bytes",
                sha256: first.sha256, photoID: filed.photo, destination: root.appending("duplicates/card/again.jpg")))
        quarantined = try catalogue.recordOutcome(
            OutcomeRecord(
                at: later, inbox: "card", path: "cut.jpg", outcome: .quarantined, reason: "JPEG is cut short: 12 bytes",
                destination: root.appending("quarantine/card/cut.jpg")))
        catalogue.close()
        try write(
            """
            library = "\(directory.path)/library"
            state = "\(directory.path)/state"

            [inbox.card]
            path = "\(directory.path)/inbox"
            exclude = ["*.tmpx", "@mine"]

            """, to: Array(directory.appending("photoinbox.toml").utf8))
    }

    static func photo(_ name: BytePath, hash: UInt8, in root: BytePath) -> PhotoRecord {
        PhotoRecord(
            sha256: Array(repeating: hash, count: 32), size: 3_145_728, library: root.appending("library"),
            libraryPath: BytePath("2026/11").appending(name), inbox: "card",
            sourcePath: BytePath("DCIM").appending(name), originalName: name, format: "jpeg",
            captured: RecordedCaptureDate(local: "2025-11-21T14:07:31", offset: 3600, provenance: "exif-original"),
            width: 4000,
            height: 3000, camera: "Acme X", proof: "no writer left (lease), JPEG ends with its end marker",
            sourceIdentity: FileIdentity(inode: 1, size: 3_145_728, modified: moment, changed: moment))
    }

    /// How proposed commands name this house's configuration.
    var option: String { "--config \(directory.appending("photoinbox.toml"))" }

    /// Runs a command with this house's configuration.
    func run(_ arguments: [String], _ environment: [String: String] = [:]) async throws -> CommandResult {
        try await photoinbox(
            arguments + ["--config", "photoinbox.toml"], in: directory, environment: environment)
    }
}

@Suite(.timeLimit(.minutes(60))) struct CatalogueCommandTests {
    let house: RecordedHouse

    init() throws { house = try RecordedHouse() }

    @Test func listsPhotosNewestFirst() async throws {
        let result = try await house.run(["list"])
        #expect(result.status == 0)
        let lines = result.text.split(separator: "\n").map(String.init)
        #expect(lines.count == 3)
        #expect(lines.first == "NUMBER  FILED             TAKEN         SIZE  INBOX  PLACE")
        #expect(lines.dropFirst().first?.hasSuffix("card   2026/11/odd\\n\\xff") == true)
        #expect(lines.last == "     1  2025-11-21 13:07  2025-11-21  3.1 MB  card   2026/11/IMG_1.jpg")
    }

    @Test func listsByInboxTimeAndOutcome() async throws {
        #expect(try await house.run(["list", "--since", "2025-11-22"]).text.contains("odd"))
        #expect(try await !house.run(["list", "--since", "2025-11-22"]).text.contains("IMG_1"))
        #expect(try await house.run(["list", "--limit", "1"]).text.split(separator: "\n").count == 2)
        let none = try await house.run(["list", "--inbox", "phones"])
        #expect(none.status == 4 && none.output.isEmpty)
        let only = "photoinbox: no inbox phones is configured; inboxes: card\n"
        #expect(none.errors == only + "photoinbox: nothing matches\n")
        let outcomes = try await house.run(["list", "--outcome", "quarantined"])
        #expect(outcomes.text.contains("card/cut.jpg  quarantined  JPEG is cut short: 12 bytes"))
        #expect(try await house.run(["list", "--since", "someday"]).status == 64)
        // Both were filed long before.
        #expect(try await house.run(["list", "--since", "yesterday"]).status == 4)
        #expect(try await house.run(["list", "--limit", "0"]).status == 64)
    }

    @Test func writesPureJSON() async throws {
        let photos = try await house.run(["list", "--json"]).json()
        #expect(photos["format"] as? Int == 1)
        let rows = try #require(photos["photos"] as? [[String: Any]])
        #expect(rows.count == 2)
        #expect(rows[0]["path_base64"] as? String == Data("2026/11/odd\n".utf8 + [0xFF]).base64EncodedString())
        #expect(rows[1]["filed_at"] as? String == "2025-11-21T13:07:31.123Z")
        #expect(rows[1]["bytes"] as? Int == 3_145_728)
        let none = try await house.run(["list", "--json", "--inbox", "phones"])
        #expect(none.status == 4)
        #expect((try none.json()["photos"] as? [Any])?.isEmpty == true)
    }

    @Test func showsEveryRecordOfAPhoto() async throws {
        let operation = try await house.run(["show", "\(house.filed.outcome)"])
        #expect(operation.status == 0)
        for line in [
            "  outcome  filed", "     from  card/DCIM/IMG_1.jpg",
            "    taken  2025-11-21 14:07:31 +01:00, from EXIF DateTimeOriginal",
            "     kind  jpeg, 4000 × 3000, 3,145,728 bytes", "   camera  Acme X",
            "   sha256  " + String(repeating: "01", count: 32),
        ] { #expect(operation.text.contains(line + "\n"), "\(line)") }
        #expect(operation.text.contains("card/again.jpg: duplicate"))
        let same = try await house.run(["show", String(repeating: "01", count: 32)])
        #expect(same.text.contains("number  \(house.filed.outcome)\n"))
        #expect(try await house.run(["show", "photo:1"]).text == same.text)
        let json = try await house.run(["show", "--json", "\(house.quarantined)"]).json()
        #expect((json["operation"] as? [String: Any])?["outcome"] as? String == "quarantined")
        #expect(json["photo"] is NSNull)
        #expect(try await house.run(["show", "999"]).status == 4)
        #expect(try await house.run(["show", "IMG_1"]).status == 4)
    }

    @Test func countsByDay() async throws {
        let all = try await house.run(["stats", "--since", "2025-01-01"], ["TZ": "UTC"])
        #expect(all.status == 0)
        let lines = all.text.split(separator: "\n").map { $0.split(separator: " ", omittingEmptySubsequences: true) }
        #expect(
            lines.map { $0.joined(separator: " ") } == [
                "DAY INBOX FILED SIZE DUPLICATE QUARANTINED IGNORED WITHDRAWN", "2025-11-23 card 1 3.1 MB 1 1 0 0",
                "2025-11-21 card 1 3.1 MB 0 0 0 0", "total 2 6.2 MB 1 1 0 0",
            ])
        let json = try await house.run(["stats", "--since", "2025-11-22", "--json"]).json()
        #expect((json["days"] as? [[String: Any]])?.count == 1)
        #expect((json["total"] as? [String: Any])?["filed_bytes"] as? Int == 3_145_728)
        let none = try await house.run(["stats", "--since", "2025-01-01", "--inbox", "phones"])
        #expect(none.status == 4)
        #expect(
            none.errors == "photoinbox: no inbox phones is configured; inboxes: card\nphotoinbox: no file arrived\n")
        #expect(try await house.run(["stats", "--since", "lately"]).status == 64)
    }

    @Test func showsTheConfiguration() async throws {
        let changed = try await house.run(["config", "--changed"])
        #expect(changed.status == 0)
        #expect(changed.text.contains("photoinbox.toml:1\n") && !changed.text.contains("default"), "\(changed.text)")
        let inbox = try await house.run(["config", "inbox.card"])
        #expect(inbox.text.contains("inbox.card.exclude") && inbox.text.contains("photoinbox.toml:6"))
        #expect(inbox.text.contains("default") && !inbox.text.contains("library"), "\(inbox.text)")
        let json = try await house.run(["config", "--json", "inbox.card.path"]).json()
        let settings = try #require(json["settings"] as? [[String: Any]])
        #expect(settings.count == 1 && (settings[0]["origin"] as? String)?.hasSuffix("photoinbox.toml:5") == true)
        // What is made of its photos, where nobody has said it.
        let renditions = try await house.run(["config", "--json", "inbox.card.renditions"]).json()
        let made = try #require((renditions["settings"] as? [[String: Any]])?.first)
        #expect(made["value"] as? String == #"["thumbnail", "preview", "hash"]"#)
        #expect(made["origin"] as? String == "default")
        #expect(try await house.run(["config", "inbox.phones"]).status == 4)
        let state = try await photoinbox(["config", "--state", "state"], in: house.directory)
        #expect(state.status == 78 && state.errors.contains("--config"))
        #expect(state.errors.contains("ps -o args -C photoinboxd"))
    }

    @Test func showsTheLastOutcomes() async throws {
        let last = try await house.run(["tail", "--no-follow", "-n", "2"], ["TZ": "UTC"])
        #expect(last.status == 0)
        #expect(
            last.text == """
                2025-11-23 13:07  duplicate    card/again.jpg: the same bytes
                2025-11-23 13:07  quarantined  card/cut.jpg: JPEG is cut short: 12 bytes

                """)
        let filed = try await house.run(["tail", "--no-follow", "--outcome", "filed", "-n", "1"])
        #expect(filed.text.contains("filed        card/DCIM/odd\\n\\xff  → 2026/11/odd\\n\\xff\n"), "\(filed.text)")
        #expect(try await house.run(["tail", "--no-follow", "-n", "0"]).text.isEmpty)
        #expect(try await house.run(["tail", "-n", "-1"]).status == 64)
        // An inbox of former times may be meant, or a mistake.
        let mistaken = try await house.run(["tail", "--no-follow", "--inbox", "crad"])
        #expect(mistaken.status == 0 && mistaken.errors.contains("no inbox crad is configured; did you mean \"card\"?"))
        let json = try await house.run(["tail", "--no-follow", "--inbox", "crad", "--json"])
        #expect(json.errors.contains(#""remark""#), "\(json.errors)")
        #expect(try await house.run(["tail", "--no-follow", "--inbox", "card"]).errors.isEmpty)
        let all = try await house.run(["tail", "--no-follow", "--json"])
        let formats = try all.output.split(separator: 0x0A).map { line in
            try (JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])?["format"] as? Int
        }
        #expect(formats == [1, 1, 1, 1])
        for command in [["list"], ["stats"], ["search", "x"], ["similar"]] {
            let errors = try await house.run(command + ["--inbox", "crad"]).errors
            #expect(errors.contains("no inbox crad is configured"), "\(command) \(errors)")
        }
    }

    @Test(
        "Without a configuration, the state of one's own daemon in the working directory is used",
        .enabled(
            if: access("/etc/photoinbox/photoinbox.toml", F_OK) != 0, "skipped: this machine has a configuration"))
    func ownState() async throws {
        let environment = ["HOME": house.directory.path, "XDG_CONFIG_HOME": house.directory.appending("none")]
        let none = try await photoinbox(["list"], in: house.directory, environment: environment)
        #expect(none.status == 78 && none.errors.contains("there is no configuration"), "\(none.errors)")
        let state = house.directory.appending(".photo-inbox")
        #expect(rename(house.directory.appending("state"), state) == 0)
        let found = try await photoinbox(["list"], in: house.directory, environment: environment)
        #expect(found.status == 0 && found.text.contains("IMG_1.jpg"), "\(found.errors)")
        guard geteuid() == 0 else { return }
        #expect(chown(state, 65_534, 65_534) == 0)
        #expect(try await photoinbox(["list"], in: house.directory, environment: environment).status == 78)
    }

    @Test func writesCompletions() async throws {
        for shell in ["bash", "zsh", "fish"] {
            let script = try await photoinbox(["--generate-completion-script", shell], in: house.directory)
            #expect(script.status == 0 && script.text.contains("explain") && script.text.contains("outcome"))
        }
    }

    @Test func explainsFilesThatAreGone() async throws {
        let filed = try await house.run(["explain", "card/DCIM/IMG_1.jpg"])
        #expect(filed.status == 0)
        #expect(filed.text.hasPrefix("card/DCIM/IMG_1.jpg: filed as 2026/11/IMG_1.jpg\n"))
        #expect(filed.text.contains("proof  no writer left (lease), JPEG ends with its end marker\n"))
        #expect(filed.text.contains(" date  2025-11-21 14:07:31 +01:00, from EXIF DateTimeOriginal\n"))
        let quarantined = try await house.run(["explain", "inbox/cut.jpg"])
        #expect(quarantined.text.contains("card/cut.jpg: quarantined 2025-11-23 13:07, unchanged\n"))
        #expect(quarantined.text.contains("   why  JPEG is cut short: 12 bytes\n"))
        #expect(quarantined.text.contains("  best  copy the original into the inbox again\n"))
        let duplicate = try await house.run(["explain", "card/again.jpg"])
        #expect(duplicate.text.hasPrefix("card/again.jpg: duplicate of 2026/11/IMG_1.jpg, "))
        // As our own output writes the name, and as the shell gives its bytes.
        let odd = try await house.run(["explain", "card/DCIM/odd\\n\\xff"])
        #expect(odd.text.hasPrefix("card/DCIM/odd\\n\\xff: filed as 2026/11/odd\\n\\xff\n"))
        let raw = try await photoinboxRaw(
            [Array("explain".utf8), Array("--config=photoinbox.toml".utf8), Array("card/DCIM/odd\n".utf8) + [0xFF]],
            in: house.directory)
        #expect(raw.text == odd.text)
    }

    @Test func explainsWhereALibraryPhotoCameFrom() async throws {
        try write("x", to: Array(house.directory.appending("library/2026/11/IMG_1.jpg").utf8))
        let known = try await house.run(["explain", "library/2026/11/IMG_1.jpg"])
        #expect(known.status == 0)
        #expect(known.text.contains("/library/2026/11/IMG_1.jpg: filed 2025-11-21 13:07 from card/DCIM/IMG_1.jpg\n"))
        #expect(known.text.contains("photoinbox show \(house.option) \(house.filed.outcome)\n"))
        let unknown = try await house.run(["explain", "library/2026/11/by-hand.jpg"])
        #expect(unknown.status == 4)
        #expect(unknown.text.contains("in the library, but not filed by photoinboxd"))
        let aside = try await house.run(["explain", "quarantine/card/cut.jpg"])
        #expect(aside.status == 0)
        #expect(aside.text.contains("  from  card/cut.jpg\n"))
    }

    @Test func explainsRules() async throws {
        for name in ["inbox/a.tmpx", "inbox/b.jpg.part", "inbox/.DS_Store", "inbox/c.xmp", "inbox/new.jpg"] {
            try write("x", to: Array(house.directory.appending(name).utf8))
        }
        #expect(symlink("/etc/passwd", house.directory.appending("inbox/link.jpg")) == 0)
        let result = try await house.run([
            "explain", "--json", "inbox/a.tmpx", "inbox/b.jpg.part", "inbox/.DS_Store", "inbox/c.xmp", "inbox/link.jpg",
            "inbox/new.jpg", "inbox/absent.jpg", "/etc/passwd",
        ])
        // That the new file waits for the daemon weighs more than files that nobody knows.
        #expect(result.status == 69)
        let files = try #require(try result.json()["files"] as? [[String: Any]])
        #expect(
            files.map { $0["verdict"] as? String } == [
                "excluded", "unfinished", "ignored", "ignored", "ignored", "never-seen", "never-seen", "outside",
            ])
        let exclusion = try #require(files[0]["excluded_by"] as? [String: Any])
        #expect(exclusion["pattern"] as? String == "*.tmpx")
        #expect(exclusion["origin"] as? String == "photoinbox.toml:6")
        #expect((files[2]["name_rule"] as? String)?.contains("macOS") == true)
    }

    @Test func explainsAFileThatIsKept() async throws {
        let path = house.directory.appending("inbox/kept.jpg")
        try write("kept", to: Array(path.utf8))
        let identity = try FileStatus(at: BytePath(path)).identity
        let catalogue = try CatalogueFile.openForWriting(
            house.directory.appending("state/catalogue.sqlite"), now: RecordedHouse.moment)
        try catalogue.recordOutcome(
            OutcomeRecord(
                at: RecordedHouse.moment, inbox: "card", path: "kept.jpg", outcome: .filed, reason: "file time",
                photoID: house.filed.photo, destination: "2026/11/IMG_1.jpg"),
            kept: KeptSource(
                inbox: "card", path: "kept.jpg", identity: identity, since: RecordedHouse.moment, why: "mode = \"copy\""
            ))
        catalogue.close()
        let kept = try await house.run(["explain", "inbox/kept.jpg"])
        #expect(kept.text.hasPrefix("card/kept.jpg: filed as 2026/11/IMG_1.jpg, and kept here: mode = \"copy\"\n"))
        // Another file under its name is another file.
        #expect(unlink(path) == 0)
        try write("another one", to: Array(path.utf8))
        let other = try await house.run(["explain", "inbox/kept.jpg"])
        #expect(other.status == 69)
        #expect(other.text.hasPrefix("card/kept.jpg: never seen, unlike an earlier file of this name; "))
    }

    @Test func requiresADaemonForWhatOnlyItKnows() async throws {
        for command in ["status", "dump"] {
            let result = try await house.run([command])
            #expect(result.status == 69)
            #expect(result.output.isEmpty)
            #expect(result.errors.hasSuffix("photoinboxd is not running. Start it: photoinboxd \(house.option)\n"))
        }
        // A stale process number that belongs to another process is not signalled, which would end it.
        try write("\(getpid())\n", to: Array(house.directory.appending("state/run/photoinboxd.pid").utf8))
        #expect(try await house.run(["status"]).status == 69)
    }

    @Test func reportsMissingDirectories() async throws {
        let absent = try await photoinbox(["list", "--state", "nowhere"], in: house.directory)
        #expect(absent.status == 69)
        #expect(absent.errors.contains("the state directory nowhere does not exist"))
        try makeDirectories(house.directory.appending("empty"))
        let empty = try await photoinbox(["list"], in: house.directory, environment: ["PHOTOINBOX_STATE": "empty"])
        #expect(empty.status == 69)
        #expect(empty.errors.contains("there is no catalogue at empty/catalogue.sqlite yet"))
        try write("libary = 3\n", to: Array(house.directory.appending("bad.toml").utf8))
        let bad = try await photoinbox(["list", "--config", "bad.toml"], in: house.directory)
        #expect(bad.status == 78)
        #expect(bad.errors.contains("bad.toml:1:1: ") && bad.errors.contains("did you mean \"library\"?"))
        // The state directory alone is enough for what is recorded.
        #expect(try await photoinbox(["list", "--state", "state"], in: house.directory).status == 0)
    }
}
