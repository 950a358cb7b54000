package import FileValues
import Glibc
package import LinuxKernel
package import Reporting
package import Settings

/// Where the settings come from: a file, flags over it. Read again at each reload.
package struct DaemonOptions: Sendable {
    /// The file that `--config` names.
    package var file: BytePath?
    /// `NAME=DIR` or `DIR`, from `--inbox`.
    package var inboxes: [String] = []
    /// Flags that set one key each: flag, key, value.
    package var values: [(flag: String, key: String, value: String)] = []
    /// `KEY=VALUE`, from `--set`.
    package var assignments: [String] = []
    /// What is checked as the content of ``file``, which it is to become.
    package var content: [UInt8]?
    /// Whether they are checked for a unit that this process is not in.
    package var isOutsideUnit = false
    /// Environment and directories of the process, read once.
    package let context: SettingsContext

    package init(context: SettingsContext) { self.context = context }

    /// The file that counts, if any.
    package var effectiveFile: BytePath? {
        if let file { return file }
        guard inboxes.isEmpty else { return nil }
        let standard = context.standardFile
        return (try? FileStatus(at: standard, followingLinks: true)) == nil ? nil : standard
    }

    /// Whether nothing at all is configured: there is no file, and no flag.
    package var isEmpty: Bool { effectiveFile == nil && inboxes.isEmpty && values.isEmpty && assignments.isEmpty }

    /// How people reach a daemon with these settings.
    package func address(_ settings: Settings) -> DaemonAddress {
        effectiveFile.map { DaemonAddress(configuration: $0, context) } ?? .state(settings.state.escaped)
    }

    /// Reads and checks everything, directories included. Throws every mistake at once; gives back the warnings.
    package func load() throws(SettingsError) -> (settings: Settings, warnings: [SettingsIssue]) {
        try read().build(checkingAgainst: LocalFileSystem(isOutsideUnit: isOutsideUnit))
    }

    /// Reads everything.
    package func read() -> SettingsBuilder {
        var builder = SettingsBuilder(context: context)
        if let file = effectiveFile {
            do {
                let bytes = if let content { content } else { try Self.content(of: file) }
                builder.addFile(bytes, path: file)
            } catch {
                builder.addUnreadableFile(path: file, reason: "cannot be read: \(error.code)")
            }
        }
        builder.trustPrograms(of: programOwners())
        for argument in inboxes { builder.addInbox(argument, flag: "--inbox") }
        for (flag, key, value) in values { builder.addFlag(flag, key: key, value: value) }
        for assignment in assignments { builder.addAssignment(assignment, flag: "--set") }
        return builder
    }

    /// Root, and whoever runs us where the configuration is theirs, or there is none but their flags: they can have us do
    /// anything that they can do. Under a service manager the configuration is root's, and so must programs be.
    package func programOwners() -> Set<UInt32> {
        guard let file = effectiveFile else { return [0, geteuid()] }
        let owner = try? FileStatus(at: file, followingLinks: true).user
        return owner == geteuid() ? [0, geteuid()] : [0]
    }

    /// The content of a configuration; EFBIG for one of more than 1 MiB, which is a mistake.
    package static func content(of path: BytePath) throws(SystemCallError) -> [UInt8] {
        try contents(of: path, most: 1 << 20)
    }
}
