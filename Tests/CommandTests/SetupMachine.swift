import CommandSupport
import FileValues
import LinuxKernel
import Reporting
import Settings
import Testing

@testable import SettingUp

/// A machine of values, on which plans are carried out.
struct SetupMachine {
    var places: [BytePath: SetupPlace] = [:]
    var files: [BytePath: [UInt8]] = [:]
    var accounts: [String: Account] = [:]
    var groups: [String: UInt32] = ["_photoinbox": 990, "ana": 1000]
    var unit: SetupUnit?
    var links: [BytePath: BytePath] = [:]
    /// When the drop-in of the daemon was changed.
    var modified: Int64?
    var hasSetfacl = true
    /// The configuration that the daemon runs with.
    var running: [UInt8]?
    /// The catalogue in PostgreSQL, its servers, the password file, and the photos of the one before.
    var catalogue = SetupCatalogue()
    var servers = ["192.0.2.10"]
    var passwordFile: String?
    var photos = 0

    init() {
        for path in ["/", "/srv", "/data", "/etc", "/etc/photoinbox", "/etc/systemd", "/etc/systemd/system", "/home"] {
            places[BytePath(path)] = SetupPlace()
        }
        accounts["_photoinbox"] = Account(name: "_photoinbox", user: 990, groups: [990])
        accounts["ana"] = Account(name: "ana", user: 1000, groups: [1000], home: "/home/ana")
        accounts["root"] = Account(name: "root", user: 0, groups: [0], home: "/root")
        places["/home/ana"] = place("ana", "ana", 0o700)
        unit = SetupUnit()
        unit?.writable = ["/srv"]
        unit?.hidesHomes = true
    }

    func place(_ owner: String, _ group: String, _ mode: UInt32) -> SetupPlace {
        SetupPlace(
            owner: owner, group: group, user: accounts[owner]?.user ?? 0, groupNumber: groups[group] ?? 0, mode: mode)
    }

    func facts(_ context: SettingsContext) -> SetupFacts {
        SetupFacts(
            service: "_photoinbox", serviceGroup: "_photoinbox", configuration: files[Self.configuration],
            unreadable: places[Self.configuration].map { _ in "Permission denied" }, context: context,
            hasSetfacl: hasSetfacl, date: "DATE", unit: unit,
            running: { _ in
                // Asking would start it through its socket.
                #expect(unit?.isActive != false)
                guard let running else { return nil }
                var builder = SettingsBuilder(context: context)
                builder.addFile(running, path: Self.configuration)
                let settings = try? builder.build()
                return (settings?.library?.path ?? "", settings?.inboxes.map(\.path) ?? [])
            }, account: { accounts[$0] }, groupNumber: { groups[$0] }, place: { places[$0] },
            resolve: { links[$0] ?? $0 }, content: { files[$0] }, modified: { _ in modified },
            named: { _ in (servers, passwordFile) }, catalogue: { _, _ in catalogue }, photos: { _ in photos })
    }

    static let configuration: BytePath = "/etc/photoinbox/photoinbox.toml"

    mutating func carryOut(_ plan: SetupPlan) {
        for step in plan.steps {
            switch step.act {
            case .directory(let path, let was, let owner, let group, let mode):
                #expect(places[path] == was && places[path.parent] != nil, "\(path)")
                places[path] = place(
                    owner ?? was?.owner ?? "root", group ?? was?.group ?? "root", mode ?? was?.mode ?? 0o755)
            case .newFiles(let path, _, let list): places[path]?.newFiles = list
            case .file(let path, let was, let bytes, _):
                #expect(files[path] == was && places[path.parent] != nil, "\(path)")
                files[path] = bytes
            case .run(let words), .start(let words, _): run(words)
            case .reload: running = files[Self.configuration]
            case .byHand, nil: break
            }
        }
    }

    private mutating func run(_ words: [String]) {
        switch words[0] {
        case "systemd-sysusers":
            accounts["_photoinbox"] = Account(name: "_photoinbox", user: 990, groups: [990])
            groups["_photoinbox"] = 990
        case "groupadd": groups[words[2]] = 2000
        case "usermod":
            let (old, number) = (accounts[words[3]], groups[words[2]])
            accounts[words[3]] = old.map {
                Account(name: $0.name, user: $0.user, groups: $0.groups + (number.map { [$0] } ?? []), home: $0.home)
            }
        default: systemctl(words)
        }
    }

    private mutating func systemctl(_ words: [String]) {
        #expect(words[0] == "systemctl")
        switch words[1] {
        case "enable": unit?.isEnabled = true
        case "daemon-reload":
            // As systemd reads a drop-in.
            let text = String(
                decoding: files["/etc/systemd/system/photoinboxd.service.d/photoinboxd-setup.conf"] ?? [], as: UTF8.self
            )
            for line in text.split(separator: "\n") {
                if line.hasPrefix("ReadWritePaths=-") { unit?.writable.append(BytePath(String(line.dropFirst(16)))) }
                if line == "PrivateNetwork=no" { unit?.hasNetwork = true }
                if line.hasPrefix("BindPaths=-") { unit?.bound.append(BytePath(String(line.dropFirst(11)))) }
            }
        default:
            #expect(["start", "restart"].contains(words[1]), "\(words)")
            unit?.isActive = true
            running = files[Self.configuration]
        }
    }
}

extension SetupMachine {
    var photoPlaces: [BytePath] {
        ["/srv/photos", "/data/photos", "/data", "/home/ana/Pictures"].flatMap { above in
            ["inbox", "library", "in"].map { BytePath(above).appending($0) }
        }
    }

    /// Makes all directories of photos.
    mutating func make(_ owner: String, _ group: String, _ mode: UInt32) {
        for path in photoPlaces {
            if places[path.parent] == nil { places[path.parent] = SetupPlace() }
            places[path] = place(owner, group, mode)
        }
    }
}

/// What tests of setup ask for; conformed to by their suites.
protocol SetupSuite {}

extension SetupSuite {
    var context: SettingsContext { SettingsContext(workingDirectory: "/") }

    func answers(
        _ droppers: Droppers = .local, inbox: BytePath = "/srv/photos/inbox", library: BytePath = "/srv/photos/library",
        user: String = "ana", group: String? = "_photoinbox", joined: String? = nil
    ) -> SetupAnswers {
        SetupAnswers(
            droppers: droppers, inbox: inbox, inboxName: "inbox", library: library, user: user, group: group,
            configuration: SetupMachine.configuration, joined: joined)
    }

    func plan(_ answers: SetupAnswers, _ machine: SetupMachine) throws -> SetupPlan {
        try SetupPlan(answers, machine.facts(context))
    }

    /// What a failed plan says.
    func failure(_ answers: SetupAnswers, _ machine: SetupMachine) -> (status: Int32, text: String)? {
        do { _ = try plan(answers, machine) } catch let error as CommandFailure {
            return (error.status.rawValue, error.text)
        } catch {}
        return nil
    }

    /// u::rwx,u:USER:rwx,g::r-x,m::MASK,o::r-x
    static func list(user: UInt32, mask: UInt8) -> [UInt8] {
        let none: [UInt8] = [255, 255, 255, 255]
        let number = (0..<4).map { UInt8(truncatingIfNeeded: user >> (8 * $0)) }
        let entries: [(UInt8, UInt8, [UInt8])] = [
            (1, 7, none), (2, 7, number), (4, 5, none), (16, mask, none), (32, 5, none),
        ]
        return entries.reduce([2, 0, 0, 0]) { $0 + [$1.0, 0, $1.1, 0] + $1.2 }
    }
}
