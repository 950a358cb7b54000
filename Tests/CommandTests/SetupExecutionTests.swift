import CommandSupport
import ControlProtocol
import FileValues
import Foundation
import Glibc
import LinuxKernel
import Reporting
import TestSupport
import Testing

@testable import SettingUp

@Suite("What setup examines and carries out", .timeLimit(.minutes(60))) struct SetupExecutionTests: SetupSuite {
    @Test("The properties that systemctl shows are read")
    func unit() throws {
        let shown = """
            LoadState=loaded
            ActiveState=active
            UnitFileState=enabled
            User=_photoinbox
            ReadWritePaths=-/srv /data/photos
            ProtectHome=tmpfs
            BindPaths=/home/ana/Pictures:/home/ana/Pictures:rbind /data/x:/home/ana/x:rbind
            NeedDaemonReload=no
            """
        let unit = try #require(SetupUnit().reading(shown))
        #expect(unit.isActive && unit.isEnabled && unit.isLoaded && unit.user == "_photoinbox" && unit.hidesHomes)
        #expect(unit.reaches("/srv/x") && unit.reaches("/data/photos") && !unit.reaches("/data"))
        #expect(!unit.reaches("/home/ana/Pictures/x"))
        #expect(unit.bound == ["/home/ana/Pictures"])
        #expect(SetupUnit().reading("LoadState=masked")?.isMasked == true)
        #expect(SetupUnit().reading(shown.replacing("LoadState=loaded", with: "LoadState=not-found")) == nil)
        #expect(SetupUnit().reading("") == nil)
        // As systemd resolves a link at /home.
        var elsewhere = unit
        elsewhere.homes = ["/home", "/var/home"]
        #expect(!unit.dropInText(["/var/home/ana/P"]).contains("Bind"))
        #expect(elsewhere.dropInText(["/var/home/ana/P"]).contains("ProtectHome=tmpfs\nBindPaths=-/var/home/ana/P\n"))
        let text = unit.dropInText(["/data/my photos/100%", "/home/ana/P"])
        #expect(
            text.hasSuffix(
                "ProtectHome=tmpfs\nBindPaths=-/home/ana/P\nReadWritePaths=\"-/data/my photos/100%%\"\nReadWritePaths=-/home/ana/P\n"
            ))
    }

    @Test("An access list grants as acl(5) says, and survives its attribute")
    func accessLists() throws {
        let ana = Account(name: "ana", user: 1000, groups: [1000, 50])
        for (mode, owner, group, wanted, isGranted) in [
            (0o700, 1000, 1, 7, true), (0o077, 1000, 1, 1, false), (0o070, 1, 50, 7, true), (0o707, 1, 50, 1, false),
            (0o705, 1, 1, 5, true), (0o705, 1, 1, 2, false),
        ] as [(UInt32, UInt32, UInt32, UInt32, Bool)] {
            #expect(AccessList(mode: mode).grants(wanted, to: ana, owner: owner, group: group) == isGranted, "\(mode)")
        }
        // u::rwx,u:1000:rwx,g::---,g:50:rwx,m::r-x,o::--- as the kernel stores it.
        func bytes(_ entries: [(UInt8, UInt8, [UInt8])]) -> [UInt8] {
            entries.reduce([2, 0, 0, 0]) { $0 + [$1.0, 0, $1.1, 0] + $1.2 }
        }
        let none: [UInt8] = [255, 255, 255, 255]
        let stored = bytes([
            (1, 7, none), (2, 7, [0xE8, 3, 0, 0]), (4, 0, none), (8, 7, [50, 0, 0, 0]), (16, 5, none), (32, 0, none),
        ])
        let list = try #require(AccessList(attribute: stored))
        #expect(list.attribute == stored)
        #expect(list.grants(5, to: ana, owner: 1, group: 1) && !list.grants(2, to: ana, owner: 1, group: 1))
        let bob = Account(name: "bob", user: 1001, groups: [50])
        #expect(list.grants(5, to: bob, owner: 1, group: 50) && !list.grants(2, to: bob, owner: 1, group: 50))
        #expect(!list.grants(1, to: Account(name: "eve", user: 7, groups: [7]), owner: 1, group: 1))
        #expect(list.changed(to: 0o2740).text == "u::rwx,u:1000:rwx,g::---,g:50:rwx,m::r--,o::---")
        #expect(AccessList(mode: 0o777).changed(to: 0o2750) == AccessList(mode: 0o750))
        for count in 0..<stored.count where count % 8 != 4 {
            #expect(AccessList(attribute: Array(stored[..<count])) == nil)
        }
        #expect(AccessList(attribute: [1, 0, 0, 0]) == nil && AccessList(attribute: bytes([(3, 7, none)])) == nil)
    }

    @Test("A test photo that is not filed in time is reported with its user, and with what the daemon says")
    func lateness() throws {
        let account = Account(name: "ana", user: 1000, groups: [1000])
        let trial = SetupTest(try plan(answers(), SetupMachine()), as: account)
        var state = DaemonState()
        #expect(
            trial.late(state).text
                == "the test photo of ana (gone) was not filed in time, and is removed: photoinboxd has not seen it. "
                + "See: photoinbox status")
        var waiting = DaemonState.InHand()
        (waiting.inbox, waiting.file) = ("inbox", trial.name.escaped)
        (waiting.stage, waiting.what) = ("deferred", "library disk full")
        state.inHand = [waiting, DaemonState.InHand(), DaemonState.InHand()]
        let problem = """
            {"code": "PI-402", "severity": "stopped", "what": "library disk full", "effect": "photos wait",
             "action": "make room", "since": ""}
            """
        state.problems = [try JSONDecoder().decode(DaemonState.Problem.self, from: Data(problem.utf8))]
        let failure = trial.late(state)
        #expect(failure.status == .failed && failure.action?.hasPrefix("make room") == true)
        #expect(
            failure.message.hasSuffix(
                "deferred, library disk full; 2 other arrivals are in hand\nPI-402 library disk full: photos wait"))
        // What has another content is not removed.
        var ended = DaemonState.Ended()
        #expect(throws: CommandFailure.self) { try trial.requireOwn(ended) }
        ended.sha256 = String(repeating: "0", count: 64)
        #expect(throws: CommandFailure.self) { try trial.requireOwn(ended) }
    }

    @Test("A test photo that the configuration excludes is not dropped")
    func excluded() throws {
        let account = Account(name: "ana", user: 1000, groups: [1000])
        var machine = SetupMachine()
        for (exclude, isIncluded) in [("[\"*.tmp\"]", true), ("[\"*.jpg\"]", false)] {
            machine.files[SetupMachine.configuration] = Array(
                "library = \"/srv/photos/library\"\n[inbox.a]\npath = \"/srv/photos/inbox\"\nexclude = \(exclude)\n"
                    .utf8)
            let trial = SetupTest(try plan(answers(), machine), as: account)
            if isIncluded {
                try trial.requireIncluded()
            } else {
                #expect(throws: CommandFailure.self) { try trial.requireIncluded() }
            }
        }
    }

    @Test("What was put in the place of an examined directory or file is left alone")
    func swapped() throws {
        let scratch = try ScratchDirectory()
        let (inbox, other) = (scratch.bytePath.appending("inbox"), scratch.bytePath.appending("other"))
        try makeDirectories(scratch.appending("inbox"))
        try makeDirectories(scratch.appending("other"))
        let (was, before) = (SetupPlace(at: inbox), SetupPlace(at: other))
        try shell("mv inbox away; ln -s other inbox", in: scratch)
        var work = SetupExecution(plan: try plan(answers(), SetupMachine()))
        let copy = scratch.bytePath.appending("copy")
        for act: SetupStep.Act in [
            .directory(inbox, was: was, owner: nil, group: nil, mode: 0o777),
            .directory(inbox, was: nil, owner: nil, group: nil, mode: 0o777),
            .directory(inbox.appending("new"), was: nil, owner: nil, group: nil, mode: 0o777),
            .newFiles(inbox, was: was, AccessList(mode: 0o700)), .newFiles(inbox, was: nil, AccessList(mode: 0o700)),
            // The same directory by another path, or made by somebody else.
            .directory(inbox, was: before, owner: nil, group: nil, mode: 0o777),
            .newFiles(inbox, was: before, AccessList(mode: 0o700)), .newFiles(other, was: nil, AccessList(mode: 0o700)),
            .file(scratch.bytePath.appending("file"), was: [1], [2], copy: copy),
            .file(inbox.appending("file"), was: nil, [2], copy: copy),
            .file(inbox, was: nil, [2], copy: copy),
        ] {
            #expect(throws: CommandFailure.self, "\(act)") {
                _ = try work.carryOut(SetupStep(subject: "inbox", found: "there", act: act))
            }
        }
        #expect(SetupPlace(at: other) == before && SetupPlace(at: inbox)?.isDirectory == false)
        // What is there is changed, and a file's old content kept.
        let list = try #require(AccessList(attribute: Self.list(user: 1001, mask: 7)))
        #expect(
            try work.carryOut(SetupStep(subject: "", found: "", act: .newFiles(other, was: before, list))) == nil)
        #expect(SetupPlace(at: other)?.newFiles == list)
        // A new directory in it has the mode that was shown, and not what that list makes of it.
        let new = other.appending("new")
        _ = try work.carryOut(
            SetupStep(subject: "", found: "", act: .directory(new, was: nil, owner: nil, group: nil, mode: 0o2770)))
        #expect(SetupPlace(at: new)?.modeText == "2770" && SetupPlace(at: new)?.access == nil)
        #expect(
            try work.carryOut(
                SetupStep(subject: "", found: "", act: .newFiles(new, was: nil, AccessList(mode: 0o775)))) == nil)
        #expect(SetupPlace(at: new)?.newFiles == AccessList(mode: 0o775))
        try shell("printf old >file; chmod 0600 file", in: scratch)
        let file = scratch.bytePath.appending("file")
        let write = SetupStep(
            subject: "", found: "", act: .file(file, was: Array("old".utf8), Array("new".utf8), copy: copy))
        _ = try work.carryOut(write)
        #expect(try bytes(of: scratch.appending("file")) == Array("new".utf8))
        #expect(try bytes(of: scratch.appending("copy")) == Array("old".utf8))
        #expect(SetupPlace(at: file)?.modeText == "0600" && SetupPlace(at: copy)?.modeText == "0600")
        // A copy overwrites nothing.
        try shell("printf old >file", in: scratch)
        #expect(throws: CommandFailure.self) { _ = try work.carryOut(write) }
    }

    @Test("If the service does not start with what was written, what was there before is put back")
    func restored() throws {
        let scratch = try ScratchDirectory()
        let (file, copy) = (scratch.bytePath.appending("file"), scratch.bytePath.appending("copy"))
        try shell("mkdir library inbox st", in: scratch)
        // What the daemon accepts, since setup asks it where it is built.
        let path = scratch.path
        let old = Array(
            "library = \"\(path)/library\"\nstate = \"\(path)/st\"\n[inbox.a]\npath = \"\(path)/inbox\"\n".utf8)
        var answers = answers()
        answers.configuration = file
        let plan = try plan(answers, SetupMachine())
        func run(_ program: String, was: [UInt8]?, stop: [String]? = nil) throws -> CommandFailure? {
            var work = SetupExecution(plan: plan)
            let step = { SetupStep(subject: "x", found: "x", act: $0) }
            _ = try work.carryOut(step(.file(file, was: was, old + Array("# new\n".utf8), copy: copy)))
            do {
                _ = try work.carryOut(step(.start([program], stop: stop)))
                return nil
            } catch let failure as CommandFailure { return failure }
        }
        let words = "/bin/false exited with status 1; what was there before is put back: \(file)"
        let failure = try #require(try run("/bin/false", was: nil, stop: ["mkdir", scratch.appending("stopped")]))
        #expect(failure.message == words + "; the service is stopped, as it was", "\(failure.message)")
        #expect(SetupPlace(at: file) == nil && SetupPlace(at: scratch.bytePath.appending("stopped")) != nil)
        try Data(old).write(to: URL(filePath: scratch.appending("file")))
        let again = try #require(try run("/bin/false", was: old))
        #expect(again.message.hasPrefix(words + "; but /bin/false "), "\(again.message)")
        #expect(try bytes(of: scratch.appending("file")) == old && SetupPlace(at: copy) == nil)
        // One that fails the first time alone.
        try shell(
            "printf '#!/bin/sh\\n! rmdir %s/once 2>/dev/null\\n' \"$PWD\" >try; chmod 700 try; mkdir once", in: scratch)
        let once = try #require(try run(scratch.appending("try"), was: old))
        #expect(once.message.hasSuffix("; the service runs with that"), "\(once.message)")
        #expect(try bytes(of: scratch.appending("file")) == old)
        // What somebody writes meanwhile stays.
        try shell(
            "printf '#!/bin/sh\\necho \"# edited\" >>%s/file; exit 1' \"$PWD\" >edit; chmod 700 edit", in: scratch)
        let edited = try #require(try run(scratch.appending("edit"), was: old))
        #expect(
            edited.message.contains(
                "; \(file) was changed meanwhile, and is left; what was there before is \(copy); but "),
            "\(edited.message)")
        #expect(try bytes(of: scratch.appending("file")).starts(with: old + Array("# new\n# edited\n".utf8)))
        #expect(try bytes(of: scratch.appending("copy")) == old)
        try shell("mv copy file", in: scratch)
        #expect(try run("/bin/true", was: old) == nil)
        #expect(try bytes(of: scratch.appending("file")).count == old.count + 6)
    }

    @Test("Whatever fails or stops it after a file was written, that is put back, the configuration first")
    func restoredOthers() throws {
        let scratch = try ScratchDirectory()
        try shell("mkdir a b library inbox st", in: scratch)
        let (path, root) = (scratch.path, scratch.bytePath)
        let files = ["a/drop-in", "b/drop-in", "file"].map { root.appending(BytePath($0)) }
        let text = "library = \"\(path)/library\"\nstate = \"\(path)/st\"\n[inbox.a]\npath = \"\(path)/inbox\"\n"
        var answers = answers()
        answers.configuration = files[2]
        let plan = try plan(answers, SetupMachine())
        let step = { SetupStep(subject: "x", found: "x", act: $0, undo: "rmdir x") }
        func written() throws -> SetupExecution {
            var work = SetupExecution(plan: plan)
            _ = try work.carryOut(
                step(.directory(root.appending("made"), was: nil, owner: nil, group: nil, mode: nil)))
            for file in files {
                _ = try work.carryOut(step(.file(file, was: nil, Array(text.utf8), copy: root.appending("copy"))))
            }
            try shell("rmdir made", in: scratch)
            return work
        }
        /// What fails, and what is there then.
        func failure(_ act: SetupStep.Act) throws -> (text: String, left: [Bool]) {
            var work = try written()
            let failure = #expect(throws: CommandFailure.self) { _ = try work.carryOut(step(act)) }
            return (failure?.message ?? "", files.map { SetupPlace(at: $0) != nil })
        }
        let all = "; what was there before is put back: \(files[2]), \(files[1]), \(files[0]); not undone: x"
        #expect(try failure(.run(["/bin/false"])) == ("/bin/false exited with status 1" + all, [false, false, false]))
        #expect(try failure(.file(root.appending("c/x"), was: nil, [], copy: "/")).left == [false, false, false])
        var work = try written()
        #expect(work.stopped(before: step(nil)).message == "stopped before x" + all)
        #expect(files.allSatisfy { SetupPlace(at: $0) == nil })
        // What cannot be put back keeps nothing else from that, nor the service from being started again.
        try shell(
            "printf '#!/bin/sh\\necho >>%s/starts; rm -r %s/b; exit 1' \"$PWD\" \"$PWD\" >fail; chmod 700 fail",
            in: scratch)
        let partly = try failure(.start([scratch.appending("fail")], stop: nil))
        #expect(
            partly.text.contains("is put back: \(files[2]), \(files[0]); \(files[1]) could not be put back: "),
            "\(partly)")
        #expect(try partly.left == [false, false, false] && bytes(of: scratch.appending("starts")).count == 2)
        // While the configuration stays, the drop-ins do.
        try shell("mkdir b; printf '#!/bin/sh\\necho >>%s/file; exit 1' \"$PWD\" >fail", in: scratch)
        let kept = try failure(.start([scratch.appending("fail")], stop: ["true"]))
        #expect(kept.left == [true, true, true] && !kept.text.contains("put back"), "\(kept)")
        #expect(kept.text.contains("and is left; there was none before; \(files[1]) is left, since"), "\(kept)")
        // What is done with a service that runs with it is no longer put back.
        try shell("rm file a/* b/*", in: scratch)
        work = try written()
        _ = try work.carryOut(step(.start(["true"], stop: nil)))
        #expect(throws: CommandFailure.self) { _ = try work.carryOut(step(.run(["false"]))) }
        #expect(files.allSatisfy { SetupPlace(at: $0) != nil })
    }

    @Test("A second setup of the same configuration is refused, also where the first one makes its directory")
    func locks() async throws {
        let scratch = try ScratchDirectory()
        let file = try realPath(scratch.bytePath).appending("conf/file")
        var answers = answers()
        answers.configuration = file
        var work = SetupExecution(plan: try plan(answers, SetupMachine()))
        var first: SetupLock? = try SetupLock(of: file)
        func refusal() -> CommandFailure? {
            do { _ = try SetupLock(of: file) } catch { return error }
            return nil
        }
        #expect(
            refusal()?.message == "another setup may be running: \(file.parent.parent) is locked by process \(getpid())"
        )
        _ = try work.carryOut(
            SetupStep(
                subject: "", found: "", act: .directory(file.parent, was: nil, owner: nil, group: nil, mode: nil)))
        #expect(refusal()?.message.hasPrefix("another setup may be running: \(file.parent) is locked") == true)
        #expect(refusal()?.status == .busy)
        #expect(throws: CommandFailure.self) { _ = try SetupLock(of: file.parent) }
        first = nil
        // A program that another test starts has all descriptors between its fork and its exec, and so the lock.
        _ = try await poll {
            try? SetupLock(of: file.parent)
        } until: {
            $0 != nil
        }
        #expect(first == nil && refusal() != nil)
        work = SetupExecution(plan: try plan(answers, SetupMachine()))
        try await poll {
            refusal()
        } until: {
            $0 == nil
        }
    }

    @Test("A parent that is exchanged while a directory is made does not have another one changed")
    func exchanged() async throws {
        let scratch = try ScratchDirectory()
        try shell("mkdir parent evil; mkdir -m 0700 evil/inbox; touch evil/inbox/file", in: scratch)
        let inbox = scratch.bytePath.appending("parent/inbox")
        let victim = try #require(SetupPlace(at: scratch.bytePath.appending("evil/inbox")))
        let isOver = Locked(false)
        let path = scratch.path
        async let exchanges: Void = aside {
            var count = 0
            while !isOver.withLock({ $0 }) {
                try swapPlaces("\(path)/parent", "\(path)/evil")
                count += 1
            }
            if count % 2 == 1 { try swapPlaces("\(path)/parent", "\(path)/evil") }
        }
        let plan = try plan(answers(), SetupMachine())
        var made = 0
        for _ in 0..<2_000 {
            var work = SetupExecution(plan: plan)
            let act = SetupStep.Act.directory(inbox, was: nil, owner: nil, group: nil, mode: 0o777)
            do {
                _ = try work.carryOut(SetupStep(subject: "", found: "", act: act))
                made += 1
            } catch is CommandFailure {}
            for name in ["parent", "evil"] { rmdir("\(path)/\(name)/inbox") }
        }
        isOver.withLock { $0 = true }
        try await exchanges
        #expect(made > 0)
        #expect(SetupPlace(at: scratch.bytePath.appending("evil/inbox")) == victim)
    }

    @Test("Links are resolved before anything is judged, if nobody else can have made or can change them")
    func walks() throws {
        let scratch = try ScratchDirectory()
        let root = try realPath(scratch.bytePath)
        let own: Set<UInt32> = [0, geteuid()]
        try shell(
            "mkdir -p a/b; ln -s a/b link; ln -s b/../b a/up; ln -s nowhere dangling; ln -s loop loop", in: scratch)
        func walk(_ name: BytePath, _ owners: Set<UInt32>? = nil) throws(CommandFailure) -> LinkWalk {
            try LinkWalk(root.appending(name), owners: owners ?? own)
        }
        #expect(try walk("link").path == root.appending("a/b"))
        #expect(try walk("link/new/inbox").path == root.appending("a/b/new/inbox"))
        #expect(try walk("a/b").foreign == nil)
        for name: BytePath in ["dangling", "dangling/x", "loop"] {
            #expect(throws: CommandFailure.self, "\(name)") { _ = try walk(name) }
        }
        // One of somebody else, or that somebody else could change.
        #expect(throws: CommandFailure.self) { _ = try walk("link", [4_000_000_000]) }
        #expect(try walk("a/b", [4_000_000_000]).foreign != nil)
        chmod(scratch.appending("a"), 0o775)
        #expect(try walk("a/b").foreign?.hasPrefix("\(root.appending("a")) (") == true)
        #expect(throws: CommandFailure.self) { _ = try walk("a/up") }
        chmod(scratch.appending("a"), 0o1777)
        #expect(throws: CommandFailure.self) { _ = try walk("a/up") }
        chmod(scratch.appending("a"), 0o755)
        #expect(try walk("a/up").path == root.appending("a/b"))
        // Nothing is opened through a link.
        #expect(SetupPlace(at: root.appending("link"))?.isDirectory == false)
        #expect(SetupPlace(at: root.appending("link/.")) == nil && SetupPlace(at: root.appending("dangling/x")) == nil)
        #expect(throws: (any Error).self) { _ = try openWithoutLinks(root.appending("link")).raw }
    }

    @Test("What the daemon says that it returned is removed only below its directory, and through no link")
    func returned() throws {
        let scratch = try ScratchDirectory()
        let root = try realPath(scratch.bytePath)
        try shell("mkdir -p library returned/inbox other", in: scratch)
        var machine = SetupMachine()
        machine.files[SetupMachine.configuration] = Array(
            "library = \"\(root)/library\"\nreturned = \"\(root)/returned\"\n[inbox.a]\npath = \"/srv/photos/inbox\"\n"
                .utf8)
        for name: BytePath in ["library", "quarantine", "duplicates", "returned", "trash"] {
            machine.links[root.appending(name)] = BytePath("/srv/photos").appending(name)
        }
        let trial = SetupTest(try plan(answers(), machine), as: Account(name: "ana", user: 1000, groups: [1000]))
        let name = trial.name.escaped
        try shell("touch returned/inbox/\(name) other/\(name); ln -s ../other returned/link", in: scratch)
        for place in ["other", "returned/link", "returned/../other"] {
            #expect(throws: (any Error).self) { try trial.remove(root.appending(BytePath("\(place)/\(name)"))) }
        }
        #expect(throws: CommandFailure.self) { try trial.remove(root.appending("returned/inbox/another.jpg")) }
        try trial.remove(root.appending(BytePath("returned/inbox/\(name)")))
        #expect(access(scratch.appending("other/\(name)"), F_OK) == 0)
        #expect(access(scratch.appending("returned/inbox/\(name)"), F_OK) != 0)
    }

    @Test("A request to stop is obeyed between two steps")
    func stopped() throws {
        let plan = try plan(answers(), SetupMachine())
        let failure = #expect(throws: CommandFailure.self) {
            _ = try SetupCommand.carryOut(plan, SetupOutput()) { true }
        }
        #expect(failure?.text == "stopped before user _photoinbox. Run this again to go on.")
    }

    @Test("What to add to other servers names the place and the group")
    func advice() {
        let samba = Droppers.samba.advice(answers(.samba, group: "photos")) ?? ""
        #expect(samba.contains("path = /srv/photos/inbox") && samba.contains("force group = photos"))
        #expect(samba.contains("directory mask = 2775"))
        #expect(
            Droppers.sftp.advice(answers(.sftp))?.contains("Match User ana\n    ForceCommand internal-sftp -u 0002")
                == true)
        // A blank would end the path, and % begin a token.
        for inbox: BytePath in ["/srv/my photos/inbox", "/srv/ana's"] {
            let failure = self.failure(answers(.sftp, inbox: inbox), SetupMachine())
            #expect(failure?.status == 64 && failure?.text.contains("sshd cannot begin in \(inbox)") == true)
            #expect(self.failure(answers(.samba, inbox: inbox), SetupMachine()) == nil)
        }
        #expect(Droppers.sftp.advice(answers(.sftp, inbox: "/srv/100%"))?.contains("-d /srv/100%%\n") == true)
        #expect(Droppers.samba.advice(answers(.samba, inbox: "/srv/100% a"))?.contains("path = /srv/100% a\n") == true)
        // smbd has no way to write these.
        for inbox: BytePath in ["/srv/100%in", "/srv/%$(HOME)"] {
            let failure = self.failure(answers(.samba, inbox: inbox), SetupMachine())
            #expect(failure?.status == 64 && failure?.text.hasPrefix("smbd would replace %") == true)
        }
        var named = answers(.samba)
        named.inboxName = "Global"
        #expect(failure(named, SetupMachine())?.text.contains("cannot be named Global") == true)
        #expect(
            Droppers.sftp.advice(answers(.sftp))?.contains(
                "; else sudo rm /etc/ssh/sshd_config.d/photoinbox-ana.conf; fi") == true)
        // Who could paste it there would have no shell after that.
        named.isCaller = true
        #expect(Droppers.sftp.advice(named)?.split(separator: "\n").allSatisfy { $0.hasPrefix("# ") } == true)
        #expect(Droppers.ftp.advice(answers(.ftp))?.contains("local_umask=002") == true)
        #expect(Droppers.syncthing.advice(answers(.syncthing))?.contains("Receive Only") == true)
        #expect(Droppers.local.advice(answers()) == nil && Droppers.me.advice(answers(.me)) == nil)
    }
}
