import FileValues
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import Settings

private struct FakeFileSystem: FileSystemFacts {
    var entries: [BytePath: FileSystemEntry] = [:]

    init(directories: [BytePath], more: [BytePath: FileSystemEntry] = [:]) {
        for (number, path) in directories.enumerated() { entries[path] = Self.directory(number, path) }
        entries.merge(more) { $1 }
    }

    static func directory(_ inode: Int, _ path: BytePath?, readable: Bool = true, writable: Bool = true)
        -> FileSystemEntry
    {
        let mark = KernelPlace.Mark(device: 1, inode: UInt64(inode))
        let place = path.map { KernelPlace(mount: 1, path: $0, marks: [mark]) }
        return .directory(
            DirectoryFacts(isReadable: readable, isWritable: writable, realPath: path, place: place))
    }

    func entry(at path: BytePath) -> FileSystemEntry { entries[path] ?? .missing }
    func inbox(at path: BytePath) -> FileSystemEntry { entry(at: path) }
    var objections: [BytePath: String] = [:]

    func objection(to path: BytePath, owners: Set<UInt32>, isProgram: Bool) -> String? { objections[path] }
    var user = (name: "ana", isService: false)
    var isOutsideUnit = false
    var homes: [BytePath] = ["/home", "/root"]
    func hasUser(_ name: String) -> Bool { name == "ana" }
    func hasGroup(_ name: String) -> Bool { name == "photos" }
    var mayGiveFiles: Bool? = true
    func mayGiveFiles(toUser name: String) -> Bool { mayGiveFiles == true }
    func mayGiveFiles(toGroup name: String, in library: BytePath) -> Bool? { mayGiveFiles }
    var lost: String?
    func groupLost(below path: BytePath) -> String? { path == "/p/library" ? lost : nil }
    var mountLines = ["1 0 8:1 / / rw - ext4 /dev/a rw"]
    func mounts() -> MountTable { MountTable(parsing: Array(mountLines.joined(separator: "\n").utf8)) }
    var probed: PlaceMeeting.Relation?
    func probe(_ first: BytePath, _ second: BytePath) -> PlaceMeeting.Relation? { probed }
}

struct CheckTests {
    private static let text = """
        library = "/p/library"
        [inbox.card]
        path = "/in"
        [filing]
        owner = "bob"
        group = "photos"
        [[descriptor]]
        name = "c"
        fifo = "/p/fifo"
        [hook.h]
        command = ["/bin/hook"]
        """
    private static let sound: [BytePath] = ["/p", "/p/library", "/in"]

    private static func issues(_ facts: FakeFileSystem) throws -> [String] {
        try settings(text, at: "/x.toml").check(against: facts).map(\.description)
    }

    @Test func onlyTheUnknownUserIsReportedIfAllElseExists() throws {
        let facts = FakeFileSystem(directories: Self.sound, more: ["/bin/hook": .file(isExecutable: true)])
        #expect(try Self.issues(facts) == ["/x.toml:5:9: owner = \"bob\": no such user"])
    }

    @Test("An owner or a group that filed photos cannot be given to is an error, outside of the unit a warning")
    func owners() throws {
        let text = "library = \"/p/library\"\n[inbox.in]\npath = \"/in\"\n[filing]\nowner = \"ana\"\ngroup = \"photos\""
        let given = try settings(text, at: "/x.toml")
        var facts = FakeFileSystem(directories: Self.sound)
        func issues() -> [SettingsIssue] {
            given.check(against: facts).filter { $0.statement.hasPrefix("owner") || $0.statement.hasPrefix("group") }
        }
        #expect(issues().isEmpty)
        facts.mayGiveFiles = false
        #expect(
            issues().map(\.description) == [
                "/x.toml:5:9: owner = \"ana\": ana may not give files to another user, which needs CAP_CHOWN and CAP_FOWNER; "
                    + "leave it out, and set group and mode",
                "/x.toml:6:9: group = \"photos\": ana may not give files to this group, which it is not a member of; "
                    + "sudo usermod -aG photos ana, then restart photoinboxd",
            ])
        facts.isOutsideUnit = true
        #expect(issues().map(\.severity) == [.warning, .warning])
        // Of a library that cannot be seen nobody knows.
        (facts.isOutsideUnit, facts.mayGiveFiles) = (false, nil)
        #expect(issues().map(\.severity) == [.error, .warning])
        (facts.mayGiveFiles, facts.lost) = (true, "family")
        #expect(
            given.check(against: facts).map(\.description).contains {
                $0.hasPrefix("/x.toml:1:11: warning: ")
                    && $0.contains("ana is not a member of the group family of this")
                    && $0.contains("those that group; sudo")
            })
    }

    @Test func programOrConfigurationThatOthersCanChangeIsRefused() throws {
        var facts = FakeFileSystem(directories: Self.sound, more: ["/bin/hook": .file(isExecutable: true)])
        facts.objections["/bin/hook"] = "/bin is open"
        let line = "/x.toml:11:11: command = [\"/bin/hook\"]: "
        #expect(
            try Self.issues(facts).last == line
                + "/bin is open; whoever can change it could run programs as the hooks' user")
        facts.objections = ["/x.toml": "/x.toml is open"]
        #expect(try Self.issues(facts).last == line + "a configuration with hooks must be safe: /x.toml is open")
    }

    @Test func missingEntriesAreReportedWithTheirRemedy() throws {
        #expect(
            try Self.issues(FakeFileSystem(directories: [])) == [
                "/x.toml:1:11: library = \"/p/library\": no such directory; create it (mkdir -p /p/library), "
                    + "or correct the path",
                "/x.toml:3:8: path = \"/in\": no such directory; create it (mkdir -p /in), or correct the path",
                "/x.toml:5:9: owner = \"bob\": no such user",
                "/x.toml:9:8: fifo = \"/p/fifo\": no such directory: /p; create it, or correct the path",
                "/x.toml:11:11: command = [\"/bin/hook\"]: no such program: /bin/hook",
                "quarantine = \"/p/quarantine\": no such directory; create it (mkdir -p /p/quarantine), "
                    + "or correct the path",
                "duplicates = \"/p/duplicates\": no such directory; create it (mkdir -p /p/duplicates), "
                    + "or correct the path",
                "state = \"/p/state\": no such directory; create it (mkdir -p /p/state), or correct the path",
                "runtime = \"/p/state/run\": no such directory; create it (mkdir -p /p/state/run), or correct the path",
            ])
    }

    @Test func wrongKindsAndPermissionsAreReported() throws {
        let found = try Self.issues(
            FakeFileSystem(
                directories: ["/p"],
                more: [
                    "/p/library": FakeFileSystem.directory(7, "/p/library", writable: false), "/p/quarantine": .other,
                    "/in": FakeFileSystem.directory(8, "/in", readable: true, writable: false),
                    "/p/fifo": .file(isExecutable: false), "/bin/hook": .file(isExecutable: false),
                    "/p/duplicates": .unknown("Permission denied"),
                ]))
        #expect(
            found == [
                "/x.toml:1:11: library = \"/p/library\": ana has no permission to write to this directory",
                "/x.toml:3:8: warning: path = \"/in\": not writable, so filed photos cannot be removed from it; "
                    + "set mode = \"copy\" to keep them there",
                "/x.toml:5:9: owner = \"bob\": no such user",
                "/x.toml:9:8: fifo = \"/p/fifo\": this is not a FIFO; choose another path",
                "/x.toml:11:11: command = [\"/bin/hook\"]: /bin/hook is not executable; run chmod +x on it",
                "quarantine = \"/p/quarantine\": this is not a directory",
                "duplicates = \"/p/duplicates\": cannot be checked: Permission denied",
            ])
    }

    @Test func unusableDirectoryOfMetricsIsAWarning() throws {
        let metrics = try settings(Self.text + "\n[metrics]\ntextfile = \"/m/p.prom\"\n", at: "/x.toml")
        for (entry, words) in [
            (FakeFileSystem.directory(9, "/m", writable: false), "ana has no permission to write to its directory"),
            (.missing, "its directory does not exist"), (.other, "its parent is not a directory"),
        ] {
            let facts = FakeFileSystem(
                directories: Self.sound, more: ["/bin/hook": .file(isExecutable: true), "/m": entry])
            #expect(
                metrics.check(against: facts).map(\.description).last
                    == "/x.toml:13:12: warning: textfile = \"/m/p.prom\": \(words)")
        }
    }

    @Test("A home directory that this process may not enter is a warning if it checks for a unit that it is not in")
    func hiddenHomes() throws {
        let text = "library = \"/home/ana/library\"\n[inbox.in]\npath = \"/home/ana/in\"\nquiet = \"1s\""
        let hidden = try settings(text, at: "/x.toml")
        var facts = FakeFileSystem(
            directories: Self.sound,
            more: [
                "/home/ana/library": .unknown("Permission denied"), "/home/ana/in": .unknown("Permission denied"),
                "/srv/library": .unknown("Permission denied"),
            ])
        func severities(_ settings: Settings) -> [SettingsIssue.Severity] {
            settings.check(against: facts).filter { $0.message.hasPrefix("cannot be checked") }.map(\.severity)
        }
        #expect(severities(hidden) == [.error, .error])
        facts.isOutsideUnit = true
        #expect(severities(hidden) == [.warning, .warning])
        let elsewhere = try settings(text.replacing("/home/ana/library", with: "/srv/library"), at: "/x.toml")
        #expect(severities(elsewhere) == [.error, .warning])
        // Where /home is a link, as a unit resolves it.
        facts.homes.append("/srv")
        #expect(severities(elsewhere) == [.warning, .warning])
    }

    @Test("An inbox on a disk that does not answer is a warning, a library there an error")
    func unreachable() throws {
        let found = try Self.issues(
            FakeFileSystem(
                directories: ["/p"],
                more: [
                    "/p/library": .unreachable("Input/output error"),
                    "/in": .unreachable("Transport endpoint is not connected"), "/bin/hook": .file(isExecutable: true),
                ]))
        #expect(
            found == [
                "/x.toml:1:11: library = \"/p/library\": cannot be checked: Input/output error",
                "/x.toml:3:8: warning: path = \"/in\": does not answer (Transport endpoint is not connected); "
                    + "it will be watched once it answers, other inboxes are watched now",
                "/x.toml:5:9: owner = \"bob\": no such user",
            ])
    }

    @Test func overlapByLinksOrMountsIsReported() throws {
        let linked = FakeFileSystem(
            directories: ["/p", "/p/library"],
            more: [
                "/in": FakeFileSystem.directory(9, "/p/library/2024"), "/bin/hook": .file(isExecutable: true),
            ])
        #expect(
            try Self.issues(linked).first
                == "/x.toml:3:8: path = \"/in\": this inbox lies inside the library, /p/library (/x.toml:1): "
                + "without links they are /p/library/2024 and /p/library; give each a directory of its own")
        let mounted = FakeFileSystem(
            directories: ["/p", "/p/library"],
            more: ["/in": FakeFileSystem.directory(1, "/in"), "/bin/hook": .file(isExecutable: true)])
        #expect(
            try Self.issues(mounted).first
                == "/x.toml:3:8: path = \"/in\": this inbox is also the library, /p/library (/x.toml:1): "
                + "both lie in ext4 8:1, as /in and /p/library; give each a directory of its own")
    }

    @Test("Overlaps by mounts are reported, also while the daemon runs, but not those that are permitted by name")
    func nesting() throws {
        func directory(_ inode: UInt64, _ mount: Int, _ path: BytePath) -> FileSystemEntry {
            .directory(
                DirectoryFacts(
                    isReadable: true, isWritable: true, realPath: path,
                    place: KernelPlace(mount: mount, path: path, marks: [.init(device: 1, inode: inode)])))
        }
        var facts = FakeFileSystem(
            directories: ["/p"],
            more: [
                "/p/library": directory(7, 2, "/p/library"), "/in": directory(8, 3, "/in"),
                "/bin/hook": .file(isExecutable: true),
            ])
        facts.mountLines += ["2 1 8:2 /data/library /p/library rw - ext4 /dev/b rw"]
        let inbox = "3 1 8:2 /data /in rw - ext4 /dev/b rw"
        facts.mountLines.append(inbox)
        let evidence = "both lie in ext4 8:2, as /data and /data/library"
        #expect(
            try Self.issues(facts).first
                == "/x.toml:3:8: path = \"/in\": this inbox contains the library, /p/library (/x.toml:1): \(evidence); "
                + "give each a directory of its own")
        let configuration = try settings(Self.text, at: "/x.toml")
        #expect(
            configuration.nestings(seenBy: facts)
                == ["inbox card, /in, contains the library, /p/library: \(evidence)"])
        facts.mountLines[2] = "3 1 8:2 /data/in /in rw - ext4 /dev/b rw"
        #expect(configuration.nestings(seenBy: facts).isEmpty)
        // The quarantine does not exist yet, and would be in the inbox.
        facts.mountLines[2] = "3 1 8:1 /p /in rw - ext4 /dev/a rw"
        #expect(
            configuration.nestings(seenBy: facts).contains(
                "inbox card, /in, contains the quarantine, /p/quarantine: both lie in ext4 8:1, as /p and /p/quarantine"
            ))
        // An inbox below the state directory is harmless.
        facts.entries["/p/state"] = directory(9, 1, "/p/state")
        facts.mountLines[2] = "3 1 8:1 /p/state/in /in rw - ext4 /dev/a rw"
        #expect(configuration.nestings(seenBy: facts).isEmpty)
    }

    @Test("Overlaps of mounts with separate file systems are found by a probe, but not while the daemon runs")
    func probed() throws {
        var facts = FakeFileSystem(
            directories: ["/p"],
            more: [
                "/p/library": FakeFileSystem.directory(7, "/p/library"), "/bin/hook": .file(isExecutable: true),
                "/in": .directory(
                    DirectoryFacts(
                        isReadable: true, isWritable: true, realPath: "/in", place: KernelPlace(mount: 2, path: "/in"))),
            ])
        facts.mountLines.append("2 1 0:50 / /in rw - nfs4 s:/a rw")
        #expect(try Self.issues(facts) == ["/x.toml:5:9: owner = \"bob\": no such user"])
        facts.probed = .firstInSecond
        #expect(
            try Self.issues(facts).first
                == "/x.toml:3:8: path = \"/in\": this inbox contains the library, /p/library (/x.toml:1): a file made in "
                + "one was seen in the other, though they are mounts of their own; give each a directory of its own")
        #expect(try settings(Self.text, at: "/x.toml").nestings(seenBy: facts).isEmpty)
    }

    @Test("A probe finds how two directories overlap, and leaves no file")
    func realProbe() throws {
        let scratch = try ScratchDirectory()
        for name in ["a", "a/in", "b"] { #expect(mkdir(scratch.appending(name), 0o755) == 0) }
        let facts = LocalFileSystem()
        func probe(_ first: String, _ second: String) -> PlaceMeeting.Relation? {
            facts.probe(BytePath(scratch.appending(first)), BytePath(scratch.appending(second)))
        }
        #expect(mkdir(scratch.appending("a/in/deep"), 0o755) == 0)
        #expect(probe("a", "a/in/deep") == .secondInFirst && probe("a/in/deep", "a") == .firstInSecond)
        #expect(
            facts.probe(BytePath(scratch.appending("a")), in: BytePath(scratch.appending("a/in"))) == .secondInFirst)
        #expect(rmdir(scratch.appending("a/in/deep")) == 0)
        #expect(probe("a", "a") == .same && probe("a", "b") == nil)
        #expect(probe("a", "a/in") == .secondInFirst && probe("a/in", "a") == .firstInSecond)
        #expect(try openDirectory(BytePath(scratch.appending("a"))).entries().map(\.name) == ["in"])
        #expect(try openDirectory(BytePath(scratch.appending("a/in"))).entries().isEmpty)
    }

    @Test func factsOfTheRealFileSystem() throws {
        let scratch = try ScratchDirectory()
        let facts = LocalFileSystem()
        let path = scratch.bytePath
        #expect(facts.entry(at: path.appending("none")) == .missing)
        #expect(mkfifo(scratch.appending("fifo"), 0o600) == 0)
        #expect(facts.entry(at: path.appending("fifo")) == .fifo)
        #expect(symlink(scratch.path, scratch.appending("link")) == 0)
        guard case .directory(let direct) = facts.entry(at: path),
            case .directory(let linked) = facts.entry(at: path.appending("link"))
        else { throw SettingsError(issues: []) }
        #expect(direct.place?.marks == linked.place?.marks && direct.place?.path == linked.realPath)
        #expect(direct.isReadable && direct.isWritable)
        #expect(linked.realPath == direct.realPath)
        #expect(facts.entry(at: "/bin/sh") == .file(isExecutable: true))
        #expect(facts.entry(at: "/etc/passwd") == .file(isExecutable: false))
        #expect(facts.entry(at: "/dev/null") == .other)
        guard case .unknown = facts.entry(at: "/etc/passwd/x") else {
            Issue.record("a file on the way is not a missing directory")
            return
        }
        #expect(facts.hasUser("root") && !facts.hasUser("no such user") && facts.hasUser("4711"))
        #expect(facts.hasGroup("root") && !facts.hasGroup("no such group"))
    }
}
