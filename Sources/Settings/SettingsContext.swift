package import FileValues
import Glibc

/// The inputs of the settings besides files and flags: the working directory and environment of the process.
package struct SettingsContext: Hashable, Sendable {
    /// The absolute base of relative paths in flags and of files.
    package var workingDirectory: BytePath
    /// The service manager's StateDirectory=, from `$STATE_DIRECTORY`; see systemd.exec(5).
    package var stateDirectory: BytePath?
    /// The service manager's RuntimeDirectory=, from `$RUNTIME_DIRECTORY`.
    package var runtimeDirectory: BytePath?

    /// The user's directories; nil for a user without a home.
    package var home: Home?

    /// A user's own directories, by the XDG Base Directory Specification.
    package struct Home: Hashable, Sendable {
        /// `$XDG_CONFIG_HOME`, else .config in the home directory.
        package var configuration: BytePath
        /// `$XDG_STATE_HOME`, else .local/state there.
        package var state: BytePath
        /// `$XDG_DATA_HOME`, else .local/share there.
        package var data: BytePath?
        /// `$XDG_RUNTIME_DIR`; nil outside of a session.
        package var runtime: BytePath?

        package init(
            configuration: BytePath, state: BytePath, data: BytePath? = nil, runtime: BytePath? = nil
        ) {
            self.configuration = configuration
            self.state = state
            self.data = data
            self.runtime = runtime
        }

        /// The configuration of the user's own daemon.
        package var configurationFile: BytePath { configuration.appending("photoinbox/photoinbox.toml") }
    }

    package init(
        workingDirectory: BytePath, stateDirectory: BytePath? = nil, runtimeDirectory: BytePath? = nil,
        home: Home? = nil
    ) {
        self.workingDirectory = workingDirectory
        self.stateDirectory = stateDirectory
        self.runtimeDirectory = runtimeDirectory
        self.home = home
    }

    /// Returns the context of this process. Reads the environment, so call it before other threads might change that.
    package static func ofProcess() -> SettingsContext {
        SettingsContext(
            workingDirectory: currentDirectory, stateDirectory: firstPath(in: "STATE_DIRECTORY"),
            runtimeDirectory: firstPath(in: "RUNTIME_DIRECTORY"), home: homeOfProcess())
    }

    private static func homeOfProcess() -> Home? {
        let home = firstPath(in: "HOME")
        guard let configuration = firstPath(in: "XDG_CONFIG_HOME") ?? home?.appending(".config"),
            let state = firstPath(in: "XDG_STATE_HOME") ?? home?.appending(".local/state")
        else { return nil }
        return Home(
            configuration: configuration, state: state,
            data: firstPath(in: "XDG_DATA_HOME") ?? home?.appending(".local/share"),
            runtime: firstPath(in: "XDG_RUNTIME_DIR"))
    }

    /// The process's working directory; `/` if it has none.
    static var currentDirectory: BytePath {
        guard let buffer = getcwd(nil, 0) else { return "/" }
        defer { free(buffer) }
        return BytePath(UnsafeBufferPointer(start: buffer, count: strlen(buffer)).map { UInt8(bitPattern: $0) })
    }

    /// The service manager separates several directories with colons; the first is used.
    private static func firstPath(in variable: String) -> BytePath? {
        guard let value = getenv(variable) else { return nil }
        let bytes = UnsafeBufferPointer(start: value, count: strlen(value)).map { UInt8(bitPattern: $0) }
        let path = BytePath(bytes.prefix { $0 != UInt8(ascii: ":") })
        return path.isAbsolute ? path : nil
    }
}
