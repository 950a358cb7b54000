import FileValues
import LinuxKernel
import Reporting

/// One thing that must be so.
struct SetupStep: Hashable {
    enum Act: Hashable {
        /// Makes a directory, or changes the one that was there.
        case directory(BytePath, was: SetupPlace?, owner: String?, group: String?, mode: UInt32?)
        /// Sets the access list of what will be put into a directory.
        case newFiles(BytePath, was: SetupPlace?, AccessList)
        /// Writes a file, in place of the one that was there, of which a copy stays.
        case file(BytePath, was: [UInt8]?, [UInt8], copy: BytePath)
        case run([String])
        /// Runs a program that starts the service with what was written, or restarts one that runs; `stop` is run if it
        /// did not run before and does not start.
        case start([String], stop: [String]?)
        case reload
        /// Left to a person.
        case byHand
    }

    let subject: String
    let found: String
    /// What will be so; empty if it is right already.
    var wanted = ""
    /// Nil if it is right already.
    var act: Act?
    /// What a person could type instead.
    var commands: [String] = []
    var undo: String?

    var isFile: Bool { if case .file = act { true } else { false } }

    /// For people who read it, and for a shell.
    var script: String {
        guard act != nil else { return "# \(subject): \(found). Nothing to do.\n" }
        let words = "\(subject): \(found); will be: \(wanted)"
        return words.split(separator: "\n").map { "# \($0)\n" }.joined() + commands.map { $0 + "\n" }.joined()
            + (undo.map { "# Undo: \($0)\n" } ?? "")
    }
}

extension [SetupStep] {
    /// Adds what is right already.
    mutating func addRight(_ subject: String, _ found: String) {
        append(SetupStep(subject: subject, found: found))
    }

    /// Adds a program to run.
    mutating func addRun(
        _ subject: String, _ found: String, _ wanted: String, _ words: [String], undo: [String]? = nil,
        as act: ([String]) -> SetupStep.Act = SetupStep.Act.run
    ) {
        let typed = words.map { $0.hasPrefix("-") ? $0 : shellQuoted($0) }.joined(separator: " ")
        add(subject, found, wanted, act(words), [typed], undo: undo?.joined(separator: " "))
    }

    /// Adds a change; `commands` do the same, and `undo` reverses it.
    mutating func add(
        _ subject: String, _ found: String, _ wanted: String, _ act: SetupStep.Act, _ commands: [String],
        undo: String? = nil
    ) {
        append(
            SetupStep(subject: subject, found: found, wanted: wanted, act: act, commands: commands, undo: undo))
    }

    /// Adds a file; a copy of the old one stays beside it, and after going back to that, `command` must be run.
    mutating func addFile(
        _ file: BytePath, _ found: String, _ wanted: String, was old: [UInt8]?, _ text: [UInt8], _ commands: [String],
        date: String, then command: String?
    ) {
        let (name, copy) = (file.quoted, file.addingSuffix(".before-setup-\(date)"))
        let undo = old == nil ? "rm \(name)" : "mv \(copy.quoted) \(name)"
        add(
            file.escaped, found, wanted, .file(file, was: old, text, copy: copy),
            (old == nil ? [] : ["cp -p \(name) \(copy.quoted)"]) + commands,
            undo: command.map { "\(undo); \($0)" } ?? undo)
    }
}

extension BytePath {
    /// As a shell reads it.
    var quoted: String { shellQuoted(escaped) }
}
