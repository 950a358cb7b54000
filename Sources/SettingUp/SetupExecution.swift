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
    private var lock: SetupLock?
    /// The files that it has written since the service ran with all of them, or may have written.
    private var written: [Written] = []
    /// Whether a start or a reload was tried with these.
    private var isTried = false
    /// Whether a start or a reload succeeded, so that files stay.
    private(set) var isSettled = false
    /// What else it has done that can be reversed.
    private var done: [String] = []

    private struct Written {
        let path: BytePath
        let old: [UInt8]?
        let new: [UInt8]
        /// The copy of the old content, if there was one.
        let copy: BytePath
    }

    private var contact: ControlContact { ControlContact(runtime: plan.settings.runtime) }

    init(plan: SetupPlan) { self.plan = plan }

    /// Returns what remains to be done, if it could not be; throws if the next steps need it, once files are put back.
    mutating func carryOut(_ step: SetupStep) throws -> String? {
        do {
            let rest = try change(step)
            switch step.act {
            case .start, .reload: (written, isTried, isSettled) = ([], false, true)
            case .directory, .newFiles, .run: if step.undo != nil { done.append(step.subject) }
            case .file, .byHand, nil: break
            }
            return rest
        } catch let failure as CommandFailure { throw putBack(after: failure, step.act) }
    }

    /// Puts files back, and returns the failure to report.
    mutating func stopped(before step: SetupStep) -> CommandFailure {
        let failure = CommandFailure(.failed, "stopped before \(step.subject)", action: "Run this again to go on.")
        return putBack(after: failure, nil)
    }

    private mutating func change(_ step: SetupStep) throws -> String? {
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
            case .run(let words): try run(words)
            case .start(let words, _):
                // One that runs may still have a configuration of before.
                try requireAccepted()
                isTried = true
                try run(words)
            case .reload:
                isTried = true
                try reload()
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
        // Who comes later would lock this one.
        if path == plan.configurationFile.parent { lock = try SetupLock(of: plan.configurationFile) }
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
    private mutating func replace(_ path: BytePath, _ was: [UInt8]?, _ bytes: [UInt8], _ copy: BytePath) throws {
        let directory = try openWithoutLinks(path.parent)
        let old = try Self.read(path.name, in: directory)
        guard old?.content == was else { throw changed(path) }
        func write(_ bytes: [UInt8], _ name: BytePath) throws {
            let file = try directory.openBeneath(name, [.write, .createNew])
            do {
                if let status = old?.status { try file.setOwner(user: status.user, group: status.group) }
                try file.setMode((old?.status.mode ?? 0o644) & 0o777)
                try file.write(bytes, at: 0)
                try file.sync()
            } catch {
                try? directory.unlink(name)
                throw error
            }
        }
        if let was { try write(was, copy.name) }
        written.append(Written(path: path, old: was, new: bytes, copy: copy))
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

    /// A file of a directory; nil if there is none.
    private static func read(
        _ name: BytePath, in directory: borrowing OwnedDescriptor
    ) throws(SystemCallError) -> (status: FileStatus, content: [UInt8])? {
        do throws(SystemCallError) {
            let file = try directory.openBeneath(name, [.read, .nonBlocking])
            return (try FileStatus(of: file), try file.read(1 << 20))
        } catch {
            if error.code == .noSuchFileOrDirectory { return nil }
            throw error
        }
    }

    /// Puts back the files that were there, and has a service that was started or reloaded with others be as it was;
    /// returns `failure` with what became of that.
    private mutating func putBack(after failure: CommandFailure, _ act: SetupStep.Act?) -> CommandFailure {
        if written.isEmpty, !isTried { return failure }
        var (back, left): ([BytePath], [String]) = ([], [])
        // The configuration first: while it is there, the service needs the drop-ins.
        var isNeeded = false
        for file in written.reversed() {
            let before = file.old == nil ? "there was none before" : "what was there before is \(file.copy)"
            if isNeeded {
                left.append("\(file.path) is left, since the configuration may need it; \(before)")
                continue
            }
            do {
                switch try restore(file) {
                case true?: back.append(file.path)
                case false?: left.append("\(file.path) was changed meanwhile, and is left; \(before)")
                case nil: break
                }
            } catch { left.append("\(file.path) could not be put back: \(error)") }
            isNeeded = file.path == plan.configurationFile && !left.isEmpty
        }
        var words = [failure.message]
        if !back.isEmpty {
            words.append("what was there before is put back: \(back.map(\.escaped).joined(separator: ", "))")
        }
        words += left
        func attempt(_ success: String?, _ work: () throws -> Void) {
            do {
                try work()
                if let success { words.append(success) }
            } catch { words.append("but \((error as? CommandFailure)?.message ?? "\(error)")") }
        }
        if back.contains(where: { $0 != plan.configurationFile }) {
            for case .run(let words)? in plan.steps.map(\.act) where words.last == "daemon-reload" {
                attempt(nil) { try run(words) }
            }
        }
        switch act {
        case .start(_, let stop?) where isTried: attempt("the service is stopped, as it was") { try run(stop) }
        case .start(let words, nil) where isTried && !written.isEmpty:
            attempt("the service runs with that") { try run(words) }
        // It reports the configuration that it has refused until the next reload.
        case .reload where isTried && !back.isEmpty: attempt("the service runs with that") { try reload() }
        default: break
        }
        if !done.isEmpty { words.append("not undone: \(done.joined(separator: ", "))") }
        (written, isTried) = ([], false)
        return CommandFailure(failure.status, words.joined(separator: "; "), action: failure.action)
    }

    /// Whether what was there before is put back: not if somebody has changed the file; nil if it is there already.
    private func restore(_ file: Written) throws(SystemCallError) -> Bool? {
        let directory = try openWithoutLinks(file.path.parent)
        let now = try Self.read(file.path.name, in: directory)?.content
        if now == file.old {
            if file.old != nil { try? directory.unlink(file.copy.name) }
            return nil
        }
        guard now == file.new else { return false }
        if file.old == nil {
            try directory.unlink(file.path.name)
        } else {
            try directory.rename(file.copy.name, replacing: file.path.name)
        }
        try directory.syncDirectory()
        return true
    }

    private func reload() throws {
        let answer = try contact.ask(ControlRequest(.reload))
        guard let failure = CommandFailure(answer) else { return }
        let mistakes = answer.text.map { ":\n" + $0 } ?? ""
        throw CommandFailure(failure.status, failure.message + mistakes, action: failure.action)
    }

    /// Throws unless the daemon accepts the configuration, or `content` as that, by the exit status of its check, which as
    /// root is made as the service's user: else it must neither be written nor read at a start.
    private func requireAccepted(_ content: [UInt8]? = nil) throws {
        let (file, program) = (plan.answers.configuration, programBeside("photoinboxd").escaped)
        let effect = content == nil ? "the service is not started with that" : "that is not written"
        let input = try memoryFile("configuration", content: content ?? [])
        let check = [program, "--check", "--config", file.escaped] + (content == nil ? [] : ["--input"])
        guard let done = try runTool(check, input: .descriptor(input.raw)) else {
            throw CommandFailure(
                .unavailable, "\(file) could not be checked, so \(effect): \(program) is not installed",
                action: "Install it, then run this again.")
        }
        if done.exit.isSuccess { return }
        let said = done.output.split(separator: "\n").map { "\n" + printable(String($0)) }.joined()
        let isRefused = done.exit == .exited(status: ExitStatus.configuration.rawValue)
        throw CommandFailure(
            isRefused ? .configuration : .failed,
            isRefused
                ? "photoinboxd refuses \(file), so \(effect):\(said)"
                : "\(file) could not be checked, so \(effect): \(program) --check \(done.exit)\(said)",
            action: isRefused ? "Correct that, then run this again." : "Run this again.")
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
