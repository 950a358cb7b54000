import CommandContact
import CommandSupport
import ControlProtocol
import FileValues
import Glibc
import LinuxKernel
import Reporting
import Settings
import SystemPackage

/// Carries out the steps of a plan. No link is followed, and only what was examined, or made by it, is changed.
struct SetupExecution {
    let plan: SetupPlan
    /// The directories that it has made.
    private var made: [BytePath: SetupPlace] = [:]
    /// The files that it has written, with the copies of those that were there.
    private var written: [(path: BytePath, copy: BytePath?)] = []

    private var contact: ControlContact { ControlContact(runtime: plan.settings.runtime) }

    init(plan: SetupPlan) { self.plan = plan }

    /// Returns what remains to be done, if it could not be; throws if the next steps need it.
    mutating func carryOut(_ step: SetupStep) throws -> String? {
        do {
            switch step.act {
            case .directory(let path, let was, let owner, let group, let mode):
                let user = try owner.map { try number(of: $0, "user", userNumber($0)) }
                let members = try group.map { try number(of: $0, "group", groupNumber($0)) }
                let directory: OwnedDescriptor
                if let was { directory = try open(path, was, whole: true) } else { directory = try make(path, mode) }
                // Of what is root's and empty a later run repairs what this one leaves.
                if let mode { try directory.setMode(mode) }
                if user != nil || members != nil { try directory.setOwner(user: user, group: members) }
                // The list that it got from its parent would let others in, or the group not.
                if let mode, was == nil, directory.attribute(AccessList.ofFile, most: 4_096) != nil {
                    directory.setAttribute(AccessList.ofFile, AccessList(mode: mode).attribute)
                }
            case .newFiles(let path, let was, let list):
                guard let was = was ?? made[path] else { throw changed(path) }
                let directory = try open(path, was, whole: false)
                if !directory.setAttribute(AccessList.ofNewFiles, list.attribute) {
                    let code = Errno(rawValue: errno)
                    guard code == .notSupported else { throw SystemCallError("setxattr", code, path: path) }
                    return "this file system keeps no access lists, so those who drop need the umask 002"
                }
            case .file(let path, let was, let bytes, let copy):
                // Before it is there, so that nothing that ends this leaves a file that no start accepts.
                if path == plan.configurationFile { try requireAccepted(bytes) }
                try replace(path, was, bytes, copy)
                written.append((path, was.map { _ in copy }))
            case .run(let words): try run(words)
            case .start(let words, let isRunning):
                // One that runs may still have a configuration of before.
                try requireAccepted()
                do { try run(words) } catch let failure as CommandFailure {
                    throw restored(after: failure, isRunning ? words : nil)
                }
            case .reload:
                let answer = try contact.ask(ControlRequest(.reload))
                if let failure = CommandFailure(answer) {
                    let mistakes = answer.text.map { ":\n" + $0 } ?? ""
                    throw restored(
                        after: CommandFailure(failure.status, failure.message + mistakes, action: failure.action), nil)
                }
            case .byHand: return "start it: \(step.commands.joined(separator: "; "))"
            case nil: break
            }
        } catch let error as SystemCallError where [.permissionDenied, .notPermitted].contains(error.code) {
            let own = Account.ofProcess().name
            throw CommandFailure(
                .permission, "\(own) may not change \(step.subject) (\(step.found)): \(error)",
                action: "As root: \(step.commands.joined(separator: "; "))")
        } catch let error as SystemCallError { throw CommandFailure(.failed, "\(step.subject): \(error)") }
        return nil
    }

    /// Makes a directory, and opens it. Between these somebody who may write to its parent can have put another one in
    /// its place: but not an empty one that is ours alone.
    private mutating func make(_ path: BytePath, _ mode: UInt32?) throws -> OwnedDescriptor {
        let parent = try openWithoutLinks(path.parent, .placeAlone)
        do { try parent.makeDirectory(path.name, mode: mode == nil ? 0o777 : 0o700) } catch {
            throw error.code == .fileExists ? changed(path) : error
        }
        let directory: OwnedDescriptor
        do { directory = try parent.openBeneath(path.name, [.read, .directory]) } catch { throw changed(path) }
        let place = SetupPlace(try FileStatus(of: directory))
        let isEmpty = try directory.entries().isEmpty
        guard isEmpty else { throw changed(path) }
        guard place.user == geteuid(), mode == nil || place.mode & 0o777 == 0o700 else {
            throw CommandFailure(
                .permission, "\(path) became \(place.text) when it was made: its file system keeps no owners or modes",
                action: "Name a directory on another file system, or mount it with options that give it to the service."
            )
        }
        made[path] = place
        return directory
    }

    /// Opens the directory that was examined or made; if `whole`, owner, group and mode must be those that were shown.
    private func open(_ path: BytePath, _ was: SetupPlace, whole: Bool) throws -> OwnedDescriptor {
        let directory: OwnedDescriptor
        do { directory = try openWithoutLinks(path) } catch {
            guard [.notDirectory, .tooManySymbolicLinkLevels, .noSuchFileOrDirectory].contains(error.code) else {
                throw error
            }
            throw changed(path)
        }
        let now = SetupPlace(try FileStatus(of: directory))
        guard (now.device, now.inode) == (was.device, was.inode), !whole || now.text == was.text else {
            throw changed(path)
        }
        return directory
    }

    /// Replaces or makes a file at once, durably; a copy of the old one stays.
    private func replace(_ path: BytePath, _ was: [UInt8]?, _ bytes: [UInt8], _ copy: BytePath) throws {
        let directory = try openWithoutLinks(path.parent)
        var old: FileStatus?
        do {
            let file = try directory.openBeneath(path.name, [.read, .nonBlocking])
            old = try FileStatus(of: file)
            guard try file.read(1 << 20) == was else { throw changed(path) }
        } catch let error as SystemCallError where error.code == .noSuchFileOrDirectory {
            if was != nil { throw changed(path) }
        }
        func write(_ bytes: [UInt8], _ name: BytePath) throws {
            let file = try directory.openBeneath(name, [.write, .createNew])
            if let old { try file.setOwner(user: old.user, group: old.group) }
            try file.setMode((old?.mode ?? 0o644) & 0o777)
            try file.write(bytes, at: 0)
            try file.sync()
        }
        if let was { try write(was, copy.name) }
        // Of one name, so that the next run replaces what an interrupted one left.
        let part = path.name.addingSuffix(".setup.part")
        try? directory.unlink(part)
        do {
            try write(bytes, part)
            try directory.rename(part, replacing: path.name)
            try directory.syncDirectory()
        } catch {
            try? directory.unlink(part)
            throw error
        }
    }

    /// Puts back the files that were there, with which `restart` has the service run again; returns `failure` with what
    /// became of that.
    private mutating func restored(after failure: CommandFailure, _ restart: [String]?) -> CommandFailure {
        if written.isEmpty { return failure }
        var words = failure.message + "; what was there before is put back: "
        words += written.map(\.path.escaped).joined(separator: ", ")
        do {
            for (path, copy) in written.reversed() {
                let directory = try openWithoutLinks(path.parent)
                if let copy {
                    try directory.rename(copy.name, replacing: path.name)
                } else {
                    try directory.unlink(path.name)
                }
                try directory.syncDirectory()
            }
            let isOfUnit = written.contains { $0.path != plan.configurationFile }
            written = []
            if isOfUnit { try run(["systemctl", "daemon-reload"]) }
            if let restart {
                try run(restart)
                words += "; the service runs with that"
            }
        } catch { words += "; but \((error as? CommandFailure)?.message ?? "\(error)")" }
        return CommandFailure(failure.status, words, action: failure.action)
    }

    /// Throws if the daemon would refuse the configuration, or `content` as that: then it must neither be written nor
    /// read at a restart.
    private func requireAccepted(_ content: [UInt8]? = nil) throws {
        guard let failure = try refusal(of: content) else { return }
        throw CommandFailure(
            .configuration,
            "photoinboxd refuses \(plan.answers.configuration), so "
                + "\(content == nil ? "it is not started with that" : "that is not written"):\n\(failure)",
            action: "Correct that, then run this again.")
    }

    /// What the daemon's check says, if it refuses the configuration: as root it is the service's user.
    private func refusal(of content: [UInt8]?) throws -> String? {
        let check = [programBeside("photoinboxd").escaped, "--check", "--config", plan.answers.configuration.escaped]
        let input = try memoryFile("configuration", content: content ?? [])
        let done = try runTool(check + (content == nil ? [] : ["--input"]), input: .descriptor(input.raw))
        guard let done, done.exit == .exited(status: ExitStatus.configuration.rawValue) else { return nil }
        return done.output.split(separator: "\n").map { printable(String($0)) }.joined(separator: "\n")
    }

    private func run(_ words: [String]) throws {
        let line = words.joined(separator: " ")
        guard let done = try runTool(words) else {
            throw CommandFailure(
                .unavailable, "\(words[0]) is not installed", action: "Install it, or do by hand what it does.")
        }
        if done.exit.isSuccess { return }
        let text = printable(done.output.split(separator: "\n").joined(separator: "; "))
        throw CommandFailure(
            .failed, "\(line) \(done.exit)\(text.isEmpty ? "" : ": ")\(text)",
            action: "Correct that, then run this again.")
    }

    private func number(of name: String, _ kind: String, _ number: UInt32?) throws -> UInt32 {
        if let number { return number }
        throw CommandFailure(
            .unavailable, "there is no \(kind) \(name), though it was made just now",
            action: "sudo make install installs its definition.")
    }

    private func changed(_ path: BytePath) -> CommandFailure {
        CommandFailure(.busy, "\(path) was changed meanwhile", action: "Run this again.")
    }
}
