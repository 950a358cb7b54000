package import FileValues
import Glibc
package import LinuxKernel
package import Reporting
import Settings
import SystemPackage

/// Why a command failed, and what to do about it.
package struct CommandFailure: Error, Hashable {
    package let status: ExitStatus
    /// One sentence or clause, without a final stop.
    package let message: String
    /// What to do, if something can be done.
    package let action: String?

    package init(_ status: ExitStatus, _ message: String, action: String? = nil) {
        self.status = status
        self.message = message.hasSuffix(".") ? String(message.dropLast()) : message
        self.action = action.map { DaemonAddress.current.completing($0) }
    }

    /// The text: one line, unless the message has several.
    package var text: String { action.map { message + (message.hasSuffix("?") ? " " : ". ") + $0 } ?? message }

    package var json: JSONValue {
        .document([
            JSONField(
                "error",
                .object([
                    JSONField("message", message), JSONField("action", action),
                    JSONField("exit_status", status.rawValue),
                ]))
        ])
    }
}

/// Ends a command without an error text, with this status.
package struct CommandEnd: Error, Hashable {
    package let status: ExitStatus

    package init(status: ExitStatus) { self.status = status }
}

extension CommandFailure {
    /// A system call's failure, with advice.
    package init(_ error: SystemCallError) {
        let path = error.path.map { $0.isEmpty ? "." : $0.escaped } ?? error.call
        switch error.code {
        case .noSuchFileOrDirectory: self.init(.failed, "\(path) does not exist", action: "Correct the path.")
        case .notDirectory: self.init(.failed, "\(path) is not a directory", action: "Give a directory.")
        case .permissionDenied, .notPermitted:
            let reason = error.path.map { permissionDenied(to: $0) } ?? "permission denied"
            self.init(.permission, "cannot read \(path): \(reason)", action: "Ask its owner, or use sudo.")
        case .noSpace where error.call == "inotify_add_watch":
            self.init(
                .failed, "the kernel's watch limit is reached; the disk is fine",
                action: "Raise fs.inotify.max_user_watches.")
        case .tooManyOpenFiles where error.call == "inotify_init1":
            self.init(
                .failed, "the kernel's limit of inotify instances is reached",
                action: "Raise fs.inotify.max_user_instances.")
        default: self.init(.failed, "\(error)")
        }
    }
}

extension DaemonAddress {
    /// The daemon that this command's options name, or that it finds.
    package static let current = named(by: RawArgument.ofProcess())

    /// The state of this user's own `make run` in the working directory, where there is no configuration: somebody else's could
    /// name other files. Nil if there is none.
    package static var ownState: BytePath? {
        let (standard, state) = (SettingsContext.ofProcess().standardFile, BytePath(".photo-inbox"))
        guard (try? FileStatus(at: standard, followingLinks: true)) == nil, let status = try? FileStatus(at: state),
            (try? FileStatus(at: state.appending("catalogue.sqlite"))) != nil
        else { return nil }
        return status.kind == .directory && status.user == geteuid() ? state : nil
    }

    /// The daemon that `--config` or `--state` names among these arguments. Pure but for the working directory.
    package static func named(by arguments: [String]) -> DaemonAddress {
        func value(_ option: String) -> BytePath? {
            let words = arguments.prefix { $0 != "--" }
            let joined = words.last { $0.hasPrefix(option + "=") }.map { String($0.dropFirst(option.count + 1)) }
            let next = words.lastIndex(of: option).map { $0 + 1 }.flatMap {
                words.indices.contains($0) ? words[$0] : nil
            }
            return (next ?? joined).flatMap { RawArgument(argument: $0)?.path }
        }
        if let file = value("--config") { return DaemonAddress(configuration: file, .ofProcess()) }
        if let state = value("--state") { return .state(state.escaped) }
        let named = Terminal.variable("PHOTOINBOX_STATE").flatMap { $0.isEmpty ? nil : BytePath($0) }
        return (named ?? ownState).map { .state($0.escaped, isFound: true) } ?? .system
    }
}
