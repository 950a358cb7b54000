import CommandContact
import CommandSupport
import FileValues
import Glibc
import LinuxKernel
import Reporting
import Settings

/// A unit of the daemon, as systemctl(1) shows it.
struct SetupUnit: Hashable {
    /// `photoinboxd`, or `photoinboxd@NAME`.
    var name = "photoinboxd"
    var isOfUser = false
    var user: String?
    var isActive = false
    var isEnabled = false
    var isMasked = false
    /// Whether the manager has read its files as they are now.
    var isLoaded = true
    /// When its process was started, in seconds, and the groups that it has; nil if that is not known.
    var started: Int64?
    var groups: Set<UInt32>?
    /// Where it may write.
    var writable: [BytePath] = []
    /// Whether it sees no home directories but those in `bound`.
    var hidesHomes = false
    var bound: [BytePath] = []
    /// Whether it reaches other machines.
    var hasNetwork = false
    /// What those are in, without links.
    var homes: [BytePath] = ["/home", "/root"]

    /// `systemctl` and these words.
    func command(_ words: String...) -> [String] { ["systemctl"] + (isOfUser ? ["--user"] : []) + words }

    /// Asks the service manager for the unit, of the system or of a user, that reads `configuration`.
    static func ask(_ configuration: BytePath, isOfSystem: Bool, _ context: SettingsContext) -> SetupUnit? {
        var unit = SetupUnit()
        unit.homes = protectedHomes()
        switch StandardPlaces(of: configuration, home: context.home) {
        case .instance(let name) where isOfSystem: unit.name = "photoinboxd@\(name)"
        case .user where !isOfSystem: unit.isOfUser = true
        case nil where isOfSystem && configuration == StandardPlaces.systemFile: break
        default: return nil
        }
        let properties = [
            "LoadState", "ActiveState", "UnitFileState", "User", "ReadWritePaths", "ProtectHome", "BindPaths",
            "PrivateNetwork",
            "NeedDaemonReload", "MainPID", "ExecMainStartTimestampMonotonic",
        ]
        let question = unit.command("show", unit.name + ".service", "--property=\(properties.joined(separator: ","))")
        guard let answer = try? runTool(question), answer.exit.isSuccess else { return nil }
        let booted = Int64(nanoseconds(of: CLOCK_REALTIME) / 1_000) - Int64(monotonicNanoseconds() / 1_000)
        return unit.reading(answer.output, booted: booted)
    }

    /// The unit with the properties of an answer; nil if it is not installed.
    func reading(_ answer: String, booted: Int64 = 0) -> SetupUnit? {
        var values: [Substring: Substring] = [:]
        for line in answer.split(separator: "\n") {
            guard let equals = line.firstIndex(of: "=") else { continue }
            values[line[..<equals]] = line[line.index(after: equals)...]
        }
        guard let load = values["LoadState"], ["loaded", "masked"].contains(load) else { return nil }
        /// Paths without the signs of systemd.exec(5) before them, but those that are seen under another name.
        func paths(_ name: Substring) -> [BytePath] {
            (values[name] ?? "").split(separator: " ").compactMap { word in
                let parts = word.drop { "-+".contains($0) }.split(separator: ":")
                return parts.count > 1 && parts[0] != parts[1] ? nil : parts.first.map { BytePath($0.utf8) }
            }
        }
        var unit = self
        unit.isMasked = load == "masked"
        unit.user = values["User"].flatMap { $0.isEmpty ? nil : String($0) }
        unit.isActive = ["active", "activating", "reloading"].contains(values["ActiveState"])
        unit.isEnabled = values["UnitFileState"] == "enabled"
        unit.isLoaded = values["NeedDaemonReload"] != "yes"
        unit.writable = paths("ReadWritePaths")
        unit.hidesHomes = ["yes", "tmpfs"].contains(values["ProtectHome"])
        unit.bound = paths("BindPaths")
        unit.hasNetwork = values["PrivateNetwork"] == "no"
        if unit.isActive, let process = values["MainPID"].flatMap({ Int32($0) }), process > 0 {
            unit.started = values["ExecMainStartTimestampMonotonic"].flatMap { Int64($0) }.map {
                ($0 + booted) / 1_000_000
            }
            unit.groups = (try? contents(of: BytePath("/proc/\(process)/status"))).flatMap { Self.groups(ofStatus: $0) }
        }
        return unit
    }

    /// The groups in a file of /proc; see proc_pid_status(5).
    static func groups(ofStatus bytes: [UInt8]) -> Set<UInt32>? {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        let found = lines.filter { $0.hasPrefix("Gid:") || $0.hasPrefix("Groups:") }
        return found.count == 2
            ? Set(found.flatMap { $0.split { " \t".contains($0) }.dropFirst().compactMap { UInt32($0) } }) : nil
    }

    /// Whether it may write to `path`.
    func reaches(_ path: BytePath) -> Bool {
        writable.contains { path.isInside($0) }
            && (!hides(path) || bound.contains { path.isInside($0) })
    }

    private func hides(_ path: BytePath) -> Bool { hidesHomes && homes.contains { path.isInside($0) } }

    /// Places in home directories that alone it will see there.
    func hiddenRoots(of paths: [BytePath]) -> [BytePath] {
        hidesHomes ? bound + BytePath.roots(of: paths.filter { !reaches($0) }).filter { hides($0) } : []
    }

    /// The same without what a drop-in allows.
    func without(_ dropIn: [UInt8]) -> SetupUnit {
        let allowed = String(decoding: dropIn, as: UTF8.self).split(separator: "\n")
        var unit = self
        unit.writable.removeAll { allowed.contains("ReadWritePaths=\(Self.optional($0))"[...]) }
        unit.bound.removeAll { allowed.contains("BindPaths=\(Self.optional($0))"[...]) }
        if allowed.contains("PrivateNetwork=no") { unit.hasNetwork = false }
        return unit
    }

    /// Where the drop-in for a unit is.
    func dropIn(for unit: String) -> BytePath { BytePath("/etc/systemd/system/\(unit).service.d/\(name)-setup.conf") }

    /// A drop-in that lets it write to `places`, and start without those whose disk is absent, and reach the addresses
    /// `servers` alone.
    func dropInText(_ places: [BytePath], servers: [String] = []) -> String {
        // Where it sees home directories, somebody has decided so.
        let atHome = places.filter { hides($0) }
        let subject = servers.isEmpty ? "the places of photos" : "the places of photos and the catalogue's servers"
        return "# Written by photoinbox setup: \(subject).\n[Service]\n"
            + (atHome.isEmpty ? "" : "ProtectHome=tmpfs\n")
            + atHome.map { "BindPaths=\(Self.optional($0))\n" }.joined()
            + places.map { "ReadWritePaths=\(Self.optional($0))\n" }.joined()
            + (servers.isEmpty
                ? "" : "PrivateNetwork=no\nRestrictAddressFamilies=AF_UNIX AF_INET AF_INET6\n")
            + servers.map { "IPAddressAllow=\($0)\n" }.joined()
    }

    private static func optional(_ path: BytePath) -> String {
        let text = "-" + path.description.replacing("%", with: "%%")
        return text.contains { " '".contains($0) } ? "\"\(text)\"" : text
    }
}

extension SetupUnit? {
    /// The user as whom the daemon of the system runs, or will run.
    var service: String { self?.user ?? "_photoinbox" }

    /// The name of that user's group.
    var serviceGroup: String { account(service)?.groups.first.flatMap { groupName($0) } ?? service }
}

extension BytePath {
    /// Whether it is shared by programs or people, or all of somebody's files.
    var isShared: Bool {
        let names = components
        guard let first = names.first else { return true }
        switch names.count {
        case 1: return Self.ofMany.contains(first) || Self.ofSystem.contains(first)
        case 2: return ["home", "media", "var"].contains(first) || first != "tmp" && Self.ofSystem.contains(first)
        default: return false
        }
    }

    private static let ofMany: [BytePath] = ["home", "media", "mnt", "opt", "root", "srv", "var"]
    private static let ofSystem: [BytePath] = [
        "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "run", "sbin", "sys", "tmp", "usr",
    ]

    /// Whether it is the system's, or does not stay, or is another one for a service.
    var isOfSystem: Bool { isInside("/var/tmp") || components.first.map { Self.ofSystem.contains($0) } ?? true }

    /// The directories above it, from the root down.
    var ancestors: [BytePath] {
        components.dropLast().reduce(into: ["/"]) { all, name in all.append((all.last ?? "/").appending(name)) }
    }

    /// One directory that contains all of `paths`, since two that are made writable are two mounts, between which no file
    /// can be renamed; if that is ``isShared``, each of them.
    static func roots(of paths: [BytePath]) -> [BytePath] {
        guard let first = paths.first else { return [] }
        let common = (first.ancestors + [first]).last { above in paths.allSatisfy { $0.isInside(above) } }
        if let common, !common.isShared { return [common] }
        return paths.filter { path in !paths.contains { $0 != path && path.isInside($0) } }
    }
}
