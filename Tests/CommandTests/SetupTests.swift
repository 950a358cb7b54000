import CommandSupport
import FileValues
import Foundation
import Glibc
import LinuxKernel
import Settings
import TestSupport
import Testing

@testable import SettingUp

@Suite("What setup plans", .timeLimit(.minutes(60))) struct SetupTests: SetupSuite {
    private static let beginnings: [(String, @Sendable (inout SetupMachine) -> Void)] = [
        ("a fresh machine", { _ in }),
        (
            "no user of the service",
            {
                $0.accounts["_photoinbox"] = nil; $0.groups["_photoinbox"] = nil
            }
        ),
        ("no service manager", { $0.unit = nil }),
        (
            "an idle service",
            {
                $0.unit?.isActive = true; $0.running = [];
                $0.files[SetupMachine.configuration] = Array(Settings.defaultFileText().utf8)
            }
        ),
        (
            "a service that cannot be asked",
            {
                $0.unit?.isActive = true; $0.unit?.isEnabled = true
            }
        ),
        ("directories of root", { $0.make("root", "root", 0o755) }),
        ("directories of a person", { $0.make("ana", "ana", 0o700) }),
        (
            "a list that shuts the group out",
            { machine in
                machine.make("_photoinbox", "_photoinbox", 0o2775)
                for path in machine.photoPlaces { machine.places[path]?.newFiles = AccessList(mode: 0o700) }
            }
        ),
        (
            "another inbox and library",
            {
                $0.files[SetupMachine.configuration] = Array(
                    "# Mine.\n[inbox.card]\npath = \"/srv/card\"\nlibrary = \"/srv/photos/library\"".utf8)
            }
        ),
    ]

    @Test("A plan that was carried out leaves nothing to do", arguments: Droppers.allCases, beginnings.indices)
    func idempotence(_ droppers: Droppers, _ beginning: Int) throws {
        for (inbox, library, group): (BytePath, BytePath, String) in [
            ("/srv/photos/inbox", "/srv/photos/library", "_photoinbox"),
            ("/data/photos/inbox", "/data/photos/library", "photos"),
            ("/data/in", "/srv/photos/library", "_photoinbox"),
            ("/home/ana/Pictures/inbox", "/home/ana/Pictures/library", "_photoinbox"),
        ] {
            // Only ana may enter her home directory.
            if Self.beginnings[beginning].0 == "no service manager", inbox.isInside("/home") { continue }
            if Self.beginnings[beginning].0 == "another inbox and library", library != "/srv/photos/library" {
                continue
            }
            var machine = SetupMachine()
            Self.beginnings[beginning].1(&machine)
            let answers = answers(droppers, inbox: inbox, library: library, group: group)
            let first = try plan(answers, machine)
            #expect(!first.isRight)
            machine.carryOut(first)
            let second = try plan(answers, machine)
            let left = second.steps.filter { $0.act != nil && $0.act != .byHand }
            #expect(left == [], "\(Self.beginnings[beginning].0), \(inbox)")
            #expect(machine.unit == nil || machine.unit?.isActive == true && machine.unit?.isEnabled == true)
            // Who drops may write, and the service may take it out.
            let place = try #require(machine.places[inbox])
            #expect(place.grants(3, to: try #require(machine.accounts["ana"])))
            let service = try #require(machine.accounts["_photoinbox"])
            #expect(place.grants(7, to: service) && !place.isSticky(for: service))
            #expect(try #require(machine.places[library]).grants(7, to: service))
            #expect(place.newFiles?.isOpenToGroup == true && place.mode & 0o2000 != 0)
        }
    }

    @Test("Every step that changes something says what a person could type, and how to reverse it")
    func script() throws {
        let plan = try plan(
            answers(inbox: "/data/photos/inbox", library: "/data/photos/library", group: "photos"), SetupMachine())
        #expect(
            plan.steps.flatMap(\.commands) == [
                "groupadd --system photos", "usermod -aG photos ana", "usermod -aG photos _photoinbox",
                "install -d -o root -g root -m 0755 /data/photos",
                "install -d -o _photoinbox -g photos -m 2775 /data/photos/inbox",
                "setfacl -d --set u::rwx,g::rwx,o::r-x /data/photos/inbox",
                "install -d -o _photoinbox -g _photoinbox -m 2755 /data/photos/library",
                "install -d -o _photoinbox -g _photoinbox -m 0750 /data/photos/quarantine",
                "install -d -o _photoinbox -g _photoinbox -m 0750 /data/photos/duplicates",
                "install -d -o _photoinbox -g _photoinbox -m 0750 /data/photos/returned",
                "install -d -o _photoinbox -g _photoinbox -m 0750 /data/photos/trash",
                "install -d -o root -g root -m 0755 /etc/systemd/system/photoinboxd-fetch@.service.d",
                "tee /etc/systemd/system/photoinboxd-fetch@.service.d/photoinboxd-setup.conf <<'END'",
                "# Written by photoinbox setup: the places of photos.", "[Service]",
                "ReadWritePaths=-/data/photos/inbox", "END",
                "install -d -o root -g root -m 0755 /etc/systemd/system/photoinboxd.service.d",
                "tee /etc/systemd/system/photoinboxd.service.d/photoinboxd-setup.conf <<'END'",
                "# Written by photoinbox setup: the places of photos.", "[Service]", "ReadWritePaths=-/data/photos",
                "END",
                "systemctl daemon-reload", "tee /etc/photoinbox/photoinbox.toml <<'END'",
                "# Every key is explained in photoinbox.toml(5). Check this file: photoinboxd --check",
                "library = \"/data/photos/library\"", "", "[inbox.inbox]", "path = \"/data/photos/inbox\"", "END",
                "systemctl start photoinboxd.service", "systemctl enable photoinboxd.service",
            ])
        #expect(plan.steps.filter { $0.act != nil && $0.undo == nil }.map(\.subject) == ["systemd"])
        #expect(plan.steps.map(\.script).joined().contains("\n# Undo: gpasswd -d ana photos\n"))
    }

    private static let words = "hostaddr=192.0.2.10 dbname=photoinbox"

    @Test(
        "A host that joins others reaches their server and nothing else, and a later setup leaves that",
        arguments: [false, true])
    func join(isConfigured: Bool) throws {
        var machine = SetupMachine()
        if isConfigured { machine.files[SetupMachine.configuration] = Array(Settings.defaultFileText().utf8) }
        machine.catalogue.libraries = ["/srv/photos/library"]
        machine.carryOut(try plan(answers(joined: Self.words), machine))
        let text = String(decoding: machine.files[SetupMachine.configuration] ?? [], as: UTF8.self)
        #expect(text.contains("\ncatalogue = \"\(Self.words)\"\n"))
        #expect(text.contains("\nlibrary = \"/srv/photos/library\"\n"))
        #expect(try #require(machine.unit).hasNetwork)
        #expect(
            String(decoding: machine.files[dropIn] ?? [], as: UTF8.self) == """
                # Written by photoinbox setup: the places of photos and the catalogue's servers.
                [Service]
                PrivateNetwork=no
                RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
                IPAddressAllow=192.0.2.10

                """)
        for joined in [Self.words, nil] { #expect(try plan(answers(joined: joined), machine).isRight) }
        // Another directory is added to it.
        var other = answers(inbox: "/data/in")
        other.inboxName = "second"
        machine.carryOut(try plan(other, machine))
        let more = String(decoding: machine.files[dropIn] ?? [], as: UTF8.self)
        #expect(more.contains("ReadWritePaths=-/data/in\n") && more.contains("IPAddressAllow=192.0.2.10\n"))
    }

    @Test(
        "A server on this machine, or a network that the unit has already, needs no drop-in", arguments: [true, false])
    func noNetwork(_ isLocal: Bool) throws {
        var machine = SetupMachine()
        if isLocal { machine.servers = ["/run/postgresql"] } else { machine.unit?.hasNetwork = true }
        machine.carryOut(try plan(answers(joined: Self.words), machine))
        #expect(machine.files[dropIn] == nil)
        #expect(try plan(answers(joined: Self.words), machine).isRight)
    }

    private static let refused: [(String, @Sendable (inout SetupMachine) -> Void)] = [
        ("are in /srv/other, and not in /srv/photos/library", { $0.catalogue.libraries = ["/srv/other"] }),
        ("the host press-1 has an inbox inbox already", { $0.catalogue.inboxOwner = "press-1" }),
        ("12 photos in a catalogue of its own, /var/lib/photoinbox/catalogue.sqlite", { $0.photos = 12 }),
        ("looks up no names, and db is one", { $0.servers = ["db"] }),
        ("there is no password file /etc/pgpass", { $0.passwordFile = "/etc/pgpass" }),
        (
            "the password file /etc/pgpass is root:root 0600, and has to be readable by _photoinbox alone",
            {
                $0.passwordFile = "/etc/pgpass"
                $0.places["/etc/pgpass"] = $0.place("root", "root", 0o600)
            }
        ),
        (
            "the catalogue is dbname=other already (/etc/photoinbox/photoinbox.toml:1)",
            { $0.files[SetupMachine.configuration] = Array("catalogue = \"dbname=other\"".utf8) }
        ),
    ]

    @Test("What a host cannot join is refused before anything is changed", arguments: refused.indices)
    func refusedJoin(_ index: Int) throws {
        var machine = SetupMachine()
        Self.refused[index].1(&machine)
        let found = try #require(failure(answers(joined: Self.words), machine))
        #expect(found.text.contains(Self.refused[index].0), "\(found)")
    }

    private var dropIn: BytePath { "/etc/systemd/system/photoinboxd.service.d/photoinboxd-setup.conf" }

    @Test("Places in a home directory are shown to the service, and nothing else there")
    func home() throws {
        let plan = try plan(
            answers(.me, inbox: "/home/ana/Pictures/inbox", library: "/home/ana/Pictures/library"), SetupMachine())
        let text = plan.steps.flatMap(\.commands)
        for (line, count) in [
            ("ProtectHome=tmpfs", 2), ("BindPaths=-/home/ana/Pictures", 1), ("ReadWritePaths=-/home/ana/Pictures", 1),
            // Downloads go into inboxes, and see nothing of the library.
            ("BindPaths=-/home/ana/Pictures/inbox", 1), ("ReadWritePaths=-/home/ana/Pictures/inbox", 1),
        ] {
            #expect(text.count { $0 == line } == count, "\(line)")
        }
        #expect(text.contains("install -d -o ana -g _photoinbox -m 2770 /home/ana/Pictures/inbox"))
        // In her home directory what is missing becomes hers.
        #expect(text.contains("install -d -o ana -g ana -m 0755 /home/ana/Pictures"))
    }

    @Test("One directory is made writable, since two would be two mounts; but none with other uses")
    func roots() {
        #expect(BytePath.roots(of: ["/data/p/in", "/data/p/lib", "/data/p/x/y"]) == ["/data/p"])
        #expect(BytePath.roots(of: ["/data/in", "/mnt/lib"]) == ["/data/in", "/mnt/lib"])
        #expect(BytePath.roots(of: ["/home/ana/in", "/home/ana/lib"]) == ["/home/ana/in", "/home/ana/lib"])
        #expect(BytePath.roots(of: ["/data/in"]) == ["/data/in"])
        #expect(BytePath.roots(of: []) == [])
        for path: BytePath in [
            "/", "/srv", "/home", "/home/ana", "/tmp", "/var/lib", "/dev/shm", "/media/ana", "/boot/efi", "/etc/in",
            "/usr/lib",
        ] {
            #expect(path.isShared, "\(path)")
        }
        for path: BytePath in ["/data", "/srv/photos", "/home/ana/in", "/mnt/photos", "/media/ana/disk"] {
            #expect(!path.isShared && !path.isOfSystem, "\(path)")
        }
        for path: BytePath in [
            "/tmp/a/b", "/var/tmp/a", "/dev/shm/a", "/proc/a/b", "/sys/a/b", "/run/a/b/c", "/etc/a/b/c",
        ] {
            #expect(path.isOfSystem, "\(path)")
            #expect(failure(answers(inbox: path), SetupMachine())?.status == 64, "\(path)")
        }
    }

    @Test("A second inbox elsewhere keeps what an earlier drop-in allows")
    func secondInbox() throws {
        var machine = SetupMachine()
        machine.carryOut(try plan(answers(inbox: "/data/in"), machine))
        var second = answers(inbox: "/mnt/in")
        second.inboxName = "second"
        machine.places["/mnt"] = SetupPlace()
        machine.carryOut(try plan(second, machine))
        let text = machine.files["/etc/systemd/system/photoinboxd.service.d/photoinboxd-setup.conf"] ?? []
        #expect(String(decoding: text, as: UTF8.self).hasSuffix("ReadWritePaths=-/data/in\nReadWritePaths=-/mnt/in\n"))
        // What somebody allowed by hand needs no drop-in of ours.
        var other = SetupMachine()
        other.unit?.writable.append("/data")
        let byHand = try plan(answers(inbox: "/data/in"), other)
        #expect(!byHand.steps.contains { $0.subject.hasSuffix(".conf") })
    }

    @Test("A missing permission is reported with the user, the mode and the command that gives it")
    func permissions() {
        var machine = SetupMachine()
        machine.places["/data/private"] = machine.place("root", "root", 0o750)
        let wanted = answers(inbox: "/data/private/inbox")
        #expect(failure(wanted, machine)?.status == 77)
        #expect(
            failure(wanted, machine)?.text
                == "ana may not enter /data/private (root:root 0750). Allow it: sudo setfacl -m u:ana:x /data/private")
        machine.unit = nil
        let athome = answers(.me, inbox: "/home/ana/inbox")
        #expect(
            failure(athome, machine)?.text
                == "_photoinbox may not enter /home/ana (ana:ana 0700). "
                + "Allow it: sudo setfacl -m u:_photoinbox:x /home/ana")
        // A user's own.
        machine.places["/srv/photos"] = machine.place("root", "root", 0o755)
        let own = answers(.me, group: nil)
        #expect(
            failure(own, machine)?.text
                == "ana may not make a directory in /srv/photos (root:root 0755). Allow it: "
                + "sudo install -d -o ana /srv/photos/inbox /srv/photos/library /srv/photos/quarantine "
                + "/srv/photos/duplicates /srv/photos/returned /srv/photos/trash")
        machine.places["/srv/photos/inbox"] = machine.place("root", "root", 0o755)
        #expect(
            failure(own, machine)?.text
                == "ana may not write to /srv/photos/inbox (root:root 0755). Allow it: sudo chown ana: /srv/photos/inbox"
        )
        #expect(failure(answers(.local, group: nil), machine)?.status == 77)
    }

    @Test("No advice gives away what is the system's, or another person's")
    func advisedOwners() {
        var machine = SetupMachine()
        machine.accounts["bob"] = Account(name: "bob", user: 1001, groups: [1001], home: "/data/bob")
        let system = "It is the system's: use sudo photoinbox setup, or name another."
        let own = answers(.me, group: nil)
        for (place, entries, advice) in [
            (machine.place("root", "root", 0o755), 1, system), (machine.place("root", "root", 0o755), nil, system),
            (machine.place("_photoinbox", "_photoinbox", 0o750), 0, system),
            (machine.place("bob", "root", 0o755), 0, "It is bob's: name another."),
        ] as [(SetupPlace, Int?, String)] {
            machine.places["/srv/photos"] = SetupPlace()
            machine.places["/srv/photos/inbox"] = place
            machine.places["/srv/photos/inbox"]?.entries = entries
            #expect(failure(own, machine)?.text.hasSuffix(advice) == true, "\(place.text)")
        }
        machine.places["/etc/a"] = SetupPlace()
        #expect(failure(answers(.me, inbox: "/etc/a/in", group: nil), machine)?.text.hasSuffix(system) == true)
        // It would be overwritten.
        machine.places[SetupMachine.configuration] = SetupPlace(isDirectory: false, mode: 0o600)
        #expect(
            failure(own, machine)?.text
                == "ana cannot read /etc/photoinbox/photoinbox.toml (root:root 0600): Permission denied. " + system)
        #expect(
            failure(answers(), machine)?.text
                == "root cannot read /etc/photoinbox/photoinbox.toml (root:root 0600): Permission denied")
    }

    @Test("Directories of others, and those with files, are not taken over")
    func others() throws {
        var machine = SetupMachine()
        machine.accounts["bob"] = Account(name: "bob", user: 1001, groups: [1001], home: "/data/bob")
        machine.places["/srv/photos"] = SetupPlace()
        func found(_ owner: String, _ mode: UInt32, _ entries: Int?, _ path: BytePath = "/srv/photos/inbox")
            -> SetupMachine
        {
            var other = machine
            other.places[path] = machine.place(owner, owner == "bob" ? "ana" : owner, mode)
            other.places[path]?.entries = entries
            return other
        }
        for droppers in [Droppers.me, .local] {
            #expect(
                failure(answers(droppers), found("bob", 0o755, 0))?.text.contains(
                    "/srv/photos/inbox (bob:ana 0755) belongs to bob. Name another directory") == true)
            for entries in [1, nil] {
                let found = failure(answers(droppers), found("root", 0o755, entries))
                #expect(found?.status == 77 && found?.text.contains("is not empty") == true)
            }
            for owner in ["root", "ana", "_photoinbox"] {
                #expect(failure(answers(droppers), found(owner, 0o755, 0)) == nil, "\(owner)")
            }
        }
        for (owner, entries, isRefused) in [
            ("ana", 3, true), ("root", 3, true), ("bob", 0, true), ("ana", 0, false), ("_photoinbox", 3, false),
        ] {
            for path: BytePath in ["/srv/photos/library", "/srv/photos/quarantine"] {
                let failed = failure(answers(), found(owner, 0o550, entries, path))
                #expect((failed?.status == 77) == isRefused, "\(owner) \(entries)")
                #expect(
                    !isRefused
                        || failed?.text.hasSuffix(
                            entries == 0
                                ? "Allow it: sudo setfacl -m u:_photoinbox:rwx,d:u:_photoinbox:rwx \(path)"
                                : "Allow it: sudo setfacl -R -m u:_photoinbox:rwX,d:u:_photoinbox:rwX \(path)") == true
                )
            }
        }
        // What is right already is nobody's to take, and what was advised is right.
        machine.places["/srv/photos/library"] = machine.place("bob", "ana", 0o750)
        machine.places["/srv/photos/library"]?.entries = 3
        #expect(failure(answers(), machine)?.status == 77)
        machine.places["/srv/photos/library"]?.access = AccessList(attribute: Self.list(user: 990, mask: 7))
        #expect(try !plan(answers(), machine).steps.contains { $0.subject == "/srv/photos/library" && $0.act != nil })
        // Before the service's user exists, and where setfacl is not installed.
        var bare = found("bob", 0o755, 0)
        bare.accounts["_photoinbox"] = nil
        bare.hasSetfacl = false
        #expect(
            failure(answers(), bare)?.text.hasSuffix(
                "Install the package acl, then allow it: sudo systemd-sysusers; sudo setfacl -m "
                    + "g:_photoinbox:rwx,d:g:_photoinbox:rwx /srv/photos/inbox") == true)
        // Somebody's home, also by the name that a link of root's gives it.
        machine.links["/home/bob"] = "/data/bob"
        machine.accounts["bob"] = Account(name: "bob", user: 1001, groups: [1001], home: "/home/bob")
        machine.places["/data/bob"] = machine.place("bob", "ana", 0o777)
        #expect(failure(answers(inbox: "/data/bob"), machine)?.text.hasPrefix("/data/bob has other uses") == true)
        // The sticky bit is for those who share it.
        let sticky = found("root", 0o1777, 0)
        #expect(failure(answers(), sticky)?.text.contains("only the owner of a file may remove it") == true)
        #expect(failure(answers(), sticky)?.status == 77)
    }

    @Test("A directory beside the library that the service may not write to is really repaired")
    func asides() throws {
        var machine = SetupMachine()
        machine.carryOut(try plan(answers(), machine))
        machine.places["/srv/photos/quarantine"] = machine.place("root", "root", 0o755)
        let second = try plan(answers(), machine)
        machine.carryOut(second)
        let service = try #require(machine.accounts["_photoinbox"])
        #expect(machine.places["/srv/photos/quarantine"]?.grants(7, to: service) == true)
        #expect(try plan(answers(), machine).isRight)
        // What no owner, group and mode would mend is not reported as done.
        machine.accounts["_photoinbox"] = Account(name: "_photoinbox", user: 990, groups: [5])
        machine.places["/srv/photos/quarantine"] = machine.place("ana", "ana", 0o755)
        #expect(failure(answers(.me), machine)?.text.contains("would not do as ana:_photoinbox 2775 either") == true)
    }

    @Test("The group of a directory makes nobody its member unless the service files from it already")
    func groups() {
        let service = Account(name: "_photoinbox", user: 990, groups: [990, 2000])
        let place = SetupPlace(group: "photos", groupNumber: 2000, mode: 0o2775)
        #expect(SetupPlan.knownGroup(place, isConfigured: true, service) == "photos")
        #expect(SetupPlan.knownGroup(place, isConfigured: false, service) == nil)
        let staff = SetupPlace(group: "staff", groupNumber: 50, mode: 0o2775)
        #expect(SetupPlan.knownGroup(staff, isConfigured: true, service) == nil)
        #expect(SetupPlan.knownGroup(place, isConfigured: true, nil) == nil)
        #expect(SetupPlan.knownGroup(nil, isConfigured: true, service) == nil)
        var machine = SetupMachine()
        machine.groups["root"] = 0
        for group in ["root", "12345", "a b"] {
            #expect(failure(answers(group: group), machine)?.status == 64, "\(group)")
        }
        for user in ["root", "_photoinbox"] {
            let found = failure(answers(user: user), machine)
            #expect(found?.status == 64 && found?.text.contains("would show nothing") == true, "\(user)")
        }
        // For one user the service gets into no group, and must not be taken for a member of it.
        machine.groups["photos"] = 2000
        machine.places["/data/photos"] = SetupPlace(group: "photos", groupNumber: 2000, mode: 0o710)
        machine.accounts["ana"] = Account(name: "ana", user: 1000, groups: [1000, 2000], home: "/home/ana")
        #expect(
            failure(answers(.me, inbox: "/data/photos/in", group: "photos"), machine)?.text.hasPrefix(
                "_photoinbox may not enter /data/photos") == true)
    }

    @Test("The directory of another group stays with it unless that group is named, and a used inbox keeps its owner")
    func teams() throws {
        var machine = SetupMachine()
        machine.groups["family"] = 3000
        machine.places["/srv/photos"] = SetupPlace()
        for (owner, group) in [("ana", "family"), ("root", "family"), ("_photoinbox", "family")] {
            for path: BytePath in ["/srv/photos/inbox", "/srv/photos/library"] {
                var other = machine
                other.places[path] = machine.place(owner, group, 0o2750)
                let found = failure(answers(), other)
                if path == "/srv/photos/library", owner == "_photoinbox" {
                    // It is the service's to write to already.
                    #expect(found == nil)
                    continue
                }
                #expect(found?.status == 77, "\(owner) \(path)")
                #expect(found?.text.contains("is for the group family. ") == true, "\(owner) \(path)")
            }
        }
        machine.places["/srv/photos/inbox"] = machine.place("root", "family", 0o2750)
        var named = answers(group: "photos")
        named.isGroupChosen = true
        #expect(failure(named, machine) == nil)
        // A unit with another user and group.
        machine = SetupMachine()
        machine.carryOut(try plan(answers(), machine))
        #expect(failure(answers(.me), machine) == nil)
        machine.carryOut(try plan(answers(.me), machine))
        #expect(machine.places["/srv/photos/inbox"]?.owner == "_photoinbox")
    }

    @Test("Access lists that are there keep their entries, and let nobody else do more")
    func lists() throws {
        let list = try #require(AccessList(attribute: Self.list(user: 1001, mask: 5)))
        #expect(list.text == "u::rwx,u:1001:rwx,g::r-x,m::r-x,o::r-x")
        let open = list.openingToGroup()
        #expect(open.text == "u::rwx,u:1001:r-x,g::rwx,m::rwx,o::r-x" && open.isOpenToGroup)
        let bob = Account(name: "bob", user: 1001, groups: [1001])
        #expect(!open.grants(2, to: bob, owner: 1, group: 1) && open.grants(5, to: bob, owner: 1, group: 1))
        var machine = SetupMachine()
        machine.places["/srv/photos"] = SetupPlace()
        machine.places["/srv/photos/inbox"] = machine.place("_photoinbox", "_photoinbox", 0o2770)
        let made = try plan(answers(), machine).steps.first { $0.subject == "new files in /srv/photos/inbox" }
        #expect(made?.commands == ["setfacl -d --set u::rwx,g::rwx,o::--- /srv/photos/inbox"])
        #expect(made?.undo == "setfacl -k /srv/photos/inbox")
        machine.places["/srv/photos/inbox"]?.newFiles = list
        let step = try plan(answers(), machine).steps.first { $0.subject == "new files in /srv/photos/inbox" }
        #expect(step?.act == .newFiles("/srv/photos/inbox", was: machine.places["/srv/photos/inbox"], open))
        #expect(step?.undo == "setfacl -d --set \(list.text) /srv/photos/inbox")
        // With a list of its own, chmod would change the mask.
        machine.places["/srv/photos/inbox"]?.access = AccessList(attribute: Self.list(user: 1001, mask: 5))
        #expect(
            failure(answers(), machine)?.text.hasSuffix(
                "Allow it: sudo setfacl -m g:_photoinbox:rwx,d:g:_photoinbox:rwx /srv/photos/inbox") == true)
        #expect(failure(answers(), machine)?.status == 77)
        machine.places["/srv/photos/inbox"]?.owner = "bob"
        machine.places["/srv/photos/inbox"]?.user = 1001
        let both = AccessList(attribute: Self.list(user: 990, mask: 7))
        machine.accounts["ana"] = Account(name: "ana", user: 990, groups: [990], home: "/home/ana")
        machine.places["/srv/photos/inbox"]?.access = both
        #expect(failure(answers(.me), machine)?.status == 77, "files in it would not be for the service")
        machine.places["/srv/photos/inbox"]?.newFiles = both
        #expect(failure(answers(.me), machine) == nil)
    }

    @Test("A drop-in shows no home directories where somebody has decided that, and needs no disk")
    func dropIns() throws {
        var machine = SetupMachine()
        machine.unit?.hidesHomes = false
        machine.places["/home/ana"] = machine.place("ana", "ana", 0o755)
        let commands = try plan(
            answers(.me, inbox: "/home/ana/Pictures/in", library: "/home/ana/Pictures/lib"), machine
        ).steps.flatMap(\.commands)
        #expect(commands.contains("ReadWritePaths=-/home/ana/Pictures"))
        #expect(!commands.contains { $0.hasPrefix("ProtectHome=") || $0.hasPrefix("BindPaths=") })
        // A changed one is put back with its own command.
        machine.carryOut(try plan(answers(inbox: "/data/in"), machine))
        var second = answers(inbox: "/mnt/in")
        second.inboxName = "second"
        machine.places["/mnt"] = SetupPlace()
        let file = "/etc/systemd/system/photoinboxd.service.d/photoinboxd-setup.conf"
        let steps = try plan(second, machine).steps
        #expect(
            steps.first { $0.subject == file }?.undo
                == "mv \(file).before-setup-DATE \(file); systemctl daemon-reload")
        #expect(
            steps.first { $0.subject == "/etc/photoinbox/photoinbox.toml" }?.undo
                == "mv /etc/photoinbox/photoinbox.toml.before-setup-DATE /etc/photoinbox/photoinbox.toml; "
                + "photoinbox reload")
    }

    @Test("A service that was started before its group or its drop-in is restarted by a later run, too")
    func outdated() throws {
        var machine = SetupMachine()
        let answers = answers(inbox: "/data/photos/inbox", library: "/data/photos/library", group: "photos")
        machine.carryOut(try plan(answers, machine))
        machine.unit?.groups = [990, 2000]
        machine.unit?.started = 100
        machine.modified = 99
        #expect(try plan(answers, machine).isRight)
        machine.modified = 101
        #expect(try plan(answers, machine).steps.last?.commands == ["systemctl restart photoinboxd.service"])
        machine.modified = 99
        machine.unit?.groups = [990]
        #expect(try plan(answers, machine).steps.last?.commands == ["systemctl restart photoinboxd.service"])
        machine.unit?.isMasked = true
        #expect(failure(answers, machine)?.text.contains("photoinboxd.service is masked") == true)
        #expect(SetupUnit.groups(ofStatus: Array("Uid:\t1\nGid:\t5\t5\t5\t5\nGroups:\t7 8 \n".utf8)) == [5, 7, 8])
        #expect(SetupUnit.groups(ofStatus: []) == nil)
    }

    @Test("Files that are in a new inbox are counted, since they are moved")
    func arrivals() throws {
        var machine = SetupMachine()
        machine.places["/srv/photos"] = SetupPlace()
        machine.places["/srv/photos/inbox"] = machine.place("_photoinbox", "_photoinbox", 0o2775)
        machine.places["/srv/photos/inbox"]?.entries = 12
        let first = try plan(answers(), machine)
        #expect(first.arrivals == 12)
        #expect(first.steps.contains { $0.wanted.contains("12 files or directories in /srv/photos/inbox are filed") })
        let kept = try plan(answers(.syncthing), machine)
        #expect(kept.steps.contains { $0.wanted.hasSuffix("12 files or directories in /srv/photos/inbox are filed") })
        machine.carryOut(first)
        machine.places["/srv/photos/inbox"]?.entries = 12
        #expect(try plan(answers(), machine).arrivals == 0)
    }

    @Test("Paths of the configuration may be links, and are the same as what they lead to")
    func links() throws {
        var machine = SetupMachine()
        machine.carryOut(try plan(answers(), machine))
        for name: BytePath in ["inbox", "library", "quarantine", "duplicates", "returned", "trash"] {
            machine.links[BytePath("/photos").appending(name)] = BytePath("/srv/photos").appending(name)
        }
        #expect(try plan(answers(inbox: "/photos/inbox", library: "/photos/library"), machine).isRight)
        let text = String(decoding: machine.files[SetupMachine.configuration] ?? [], as: UTF8.self)
        machine.files[SetupMachine.configuration] = Array(text.replacing("/srv/photos/", with: "/photos/").utf8)
        machine.running = machine.files[SetupMachine.configuration]
        #expect(try plan(answers(), machine).isRight)
    }

    @Test("What is somebody else's decision is refused")
    func refusals() {
        var machine = SetupMachine()
        #expect(failure(answers(inbox: "/srv"), machine)?.text == "/srv has other uses. Name a directory of its own.")
        #expect(failure(answers(inbox: "/home/ana"), machine)?.status == 64)
        #expect(
            failure(answers(user: "bob"), machine)?.text
                == "there is no user bob. Name one of those who drop: --as USER")
        #expect(failure(answers(inbox: "/srv/photos/library/in"), machine)?.status == 64)
        machine.places["/srv/photos"] = SetupPlace(isDirectory: false)
        #expect(failure(answers(), machine)?.text.hasPrefix("/srv/photos is not a directory.") == true)
        machine = SetupMachine()
        for (text, status, words) in [
            ("library = \"/srv/other\"", 78, "the library is /srv/other already (/etc/photoinbox/photoinbox.toml:1)"),
            ("library = \"/srv/l\"\n[inbox.inbox]\npath = \"/srv/a\"", 78, "the library is /srv/l already"),
            (
                "library = \"/srv/photos/library\"\n[inbox.inbox]\npath = \"/srv/a\"", 78,
                "the inbox inbox is /srv/a already"
            ),
            ("libary = 1", 78, "photoinbox.toml:1:1"), ("\u{0}", 78, "NUL"),
        ] as [(String, Int32, String)] {
            machine.files[SetupMachine.configuration] = Array(text.utf8)
            let found = failure(answers(), machine)
            #expect(
                found?.status == status && found?.text.contains(words) == true, "\(text): \(String(describing: found))")
        }
        machine.files[SetupMachine.configuration] = Array(
            "library = \"/srv/photos/library\"\n[inbox.phones]\npath = \"/srv/photos/inbox\"".utf8)
        #expect(failure(answers(.syncthing), machine)?.text.contains("Add mode = \"copy\" to [inbox.phones]") == true)
    }

    @Test("A configuration is only extended, and no line of it changed")
    func configuration() throws {
        for (old, new) in [
            (
                "",
                "# Every key is explained in photoinbox.toml(5). Check this file: photoinboxd --check\n"
                    + "library = \"/l\"\n\n[inbox.inbox]\npath = \"/i\"\n"
            ), ("[log]\n#library = x", "library = \"/l\"\n[log]\n#library = x\n\n[inbox.inbox]\npath = \"/i\"\n"),
            (
                "# Mine.\n[inbox.a]\npath = \"/a\"\nlibrary = \"/l\"",
                "# Mine.\n[inbox.a]\npath = \"/a\"\nlibrary = \"/l\"\n\n[inbox.inbox]\npath = \"/i\"\n"
            ), ("library = \"/l\" # here\n", "library = \"/l\" # here\n\n[inbox.inbox]\npath = \"/i\"\n"),
            (
                "# x\n#library = \"/srv/photos/library\"\n\n[log]\nlevel = \"info\"\n",
                "# x\n#library = \"/srv/photos/library\"\nlibrary = \"/l\"\n\n[log]\nlevel = \"info\"\n\n[inbox.inbox]\npath = \"/i\"\n"
            ),
        ] {
            let answers = answers(inbox: "/i", library: "/l")
            let scratch = try ScratchDirectory()
            let file = scratch.appending("photoinbox.toml")
            try Data(old.utf8).write(to: URL(filePath: file))
            let made = try SetupConfiguration(answers, old: Array(old.utf8), context) {
                $0 == SetupMachine.configuration ? BytePath(file) : $0
            }
            #expect(String(decoding: made.text ?? [], as: UTF8.self) == new)
            // The commands do the same.
            try shell(made.commands.joined(separator: "\n"), in: scratch)
            #expect(try String(contentsOfFile: file, encoding: .utf8) == new)
            let again = try SetupConfiguration(answers, old: made.text, context)
            #expect(again.text == nil && again.added.isEmpty && again.inbox == "inbox")
        }
        // Within a text of several lines an added line would be text.
        let trap = "[[hook]]\nname = \"a\"\ncommand = [\"/bin/true\", \"\"\"\n#library = x\n\"\"\"]\n"
        #expect(throws: CommandFailure.self) {
            _ = try SetupConfiguration(answers(inbox: "/i", library: "/l"), old: Array(trap.utf8), context)
        }
        let standard = Array(Settings.defaultFileText().utf8)
        let made = try SetupConfiguration(answers(.syncthing), old: standard, context)
        #expect(made.settings.library?.path == "/srv/photos/library" && made.settings.inboxes.first?.mode == .copy)
    }
}
