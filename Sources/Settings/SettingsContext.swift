package import FileValues
import Glibc

/// What the configuration takes from the process that reads it.
package struct SettingsContext: Hashable, Sendable {
    /// Absolute; what relative paths in flags, and of files, are relative to.
    package var workingDirectory: BytePath
    /// The service manager's StateDirectory=, from `$STATE_DIRECTORY`; see systemd.exec(5).
    package var stateDirectory: BytePath?
    /// The service manager's RuntimeDirectory=, from `$RUNTIME_DIRECTORY`.
    package var runtimeDirectory: BytePath?

    package init(workingDirectory: BytePath, stateDirectory: BytePath? = nil, runtimeDirectory: BytePath? = nil) {
        self.workingDirectory = workingDirectory
        self.stateDirectory = stateDirectory
        self.runtimeDirectory = runtimeDirectory
    }

    /// This process's; reads the environment, so call it before other threads might change that.
    package static func ofProcess() -> SettingsContext {
        SettingsContext(
            workingDirectory: currentDirectory, stateDirectory: firstPath(in: "STATE_DIRECTORY"),
            runtimeDirectory: firstPath(in: "RUNTIME_DIRECTORY"))
    }

    /// The process's working directory; `/` where it has none.
    static var currentDirectory: BytePath {
        guard let buffer = getcwd(nil, 0) else { return "/" }
        defer { free(buffer) }
        return BytePath(UnsafeBufferPointer(start: buffer, count: strlen(buffer)).map { UInt8(bitPattern: $0) })
    }

    /// The service manager separates several directories with colons; the first is ours.
    private static func firstPath(in variable: String) -> BytePath? {
        guard let value = getenv(variable) else { return nil }
        let bytes = UnsafeBufferPointer(start: value, count: strlen(value)).map { UInt8(bitPattern: $0) }
        let path = BytePath(bytes.prefix { $0 != UInt8(ascii: ":") })
        return path.isAbsolute ? path : nil
    }
}
