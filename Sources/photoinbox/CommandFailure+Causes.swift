import Catalogue
import Decoding
import FileValues
import LinuxKernel
import Reporting
import SystemPackage

/// Why a command could not do what it was asked for, and what to do about it.
struct CommandFailure: Error, Hashable {
    let status: ExitStatus
    /// One sentence or clause, without a final stop.
    let message: String
    /// What to do, where something can be done.
    let action: String?

    init(_ status: ExitStatus, _ message: String, action: String? = nil) {
        self.status = status
        self.message = message.hasSuffix(".") ? String(message.dropLast()) : message
        self.action = action.map { DaemonAddress.asked.completing($0) }
    }

    /// For people: one line, unless the message has several.
    var text: String { action.map { message + (message.hasSuffix("?") ? " " : ". ") + $0 } ?? message }

    /// For machines.
    var json: JSONValue {
        .document([
            JSONField(
                "error",
                .object([
                    JSONField("message", .string(message)), JSONField("action", action.map { .string($0) } ?? .null),
                    JSONField("exit_status", .integer(Int64(status.rawValue))),
                ]))
        ])
    }
}

/// The end of a command that has said all it has to say: with this status.
struct CommandEnd: Error, Hashable {
    let status: ExitStatus
}

extension CommandFailure {
    /// A system call's failure, in words that say what to do.
    init(_ error: SystemCallError) {
        let path = error.path.map { $0.isEmpty ? "." : $0.escaped } ?? error.call
        switch error.code {
        case .noSuchFileOrDirectory: self.init(.failed, "\(path) is not there", action: "Correct the path.")
        case .notDirectory: self.init(.failed, "\(path) is not a directory", action: "Give a directory.")
        case .permissionDenied, .notPermitted:
            self.init(.permission, "you may not read \(path)", action: "Ask its owner, or use sudo.")
        case .noSpace where error.call == "inotify_add_watch":
            self.init(
                .failed, "the kernel's watch limit is reached; the disk is fine",
                action: "Raise fs.inotify.max_user_watches.")
        case .tooManyOpenFiles where error.call == "inotify_init1":
            self.init(
                .failed, "the kernel's limit of watching programs is reached",
                action: "Raise fs.inotify.max_user_instances.")
        default: self.init(.failed, "\(error)")
        }
    }

    /// Why no pictures can be made.
    init(_ trouble: DecoderTrouble) {
        switch trouble {
        case .cannotBeKept(let error) where [.permissionDenied, .notPermitted].contains(error.code):
            self.init(.permission, "you may not write thumbnails", action: Self.asOwner)
        case .cannotBeKept: self.init(.failed, "\(trouble)")
        case .cannotStart, .cannotBeConfined, .stopped:
            self.init(
                .unavailable, "\(trouble)",
                action: "See confinement and decoder under [pictures] in photoinbox.toml(5).")
        }
    }

    static func mayNotChange(_ catalogue: BytePath) -> CommandFailure {
        CommandFailure(.permission, "you may not change the catalogue \(catalogue)", action: asOwner)
    }

    private static let asOwner = "Use sudo, or run this as the daemon's user."

    /// A catalogue's failure.
    init(_ error: CatalogueError, path: String) {
        switch error.code {
        case .missing:
            self.init(
                .unavailable, "there is no catalogue at \(path) yet",
                action: "Start photoinboxd, or name its state directory with --state.")
        case .permission:
            self.init(
                .permission, "you may not read the catalogue \(path)", action: permissionAdvice(for: BytePath(path)))
        case .readOnly: self = .mayNotChange(BytePath(path))
        case .newerSchema:
            self.init(
                .failed, "the catalogue \(path) was written by a newer photoinboxd",
                action: "Use the photoinbox that came with it.")
        case .olderSchema:
            self.init(
                .failed, "the catalogue \(path) was written by an older photoinboxd",
                action: "Start the new photoinboxd once: it brings the catalogue up to date.")
        case .busy: self.init(.busy, "the catalogue \(path) is in use", action: "Try again.")
        case .corrupt:
            self.init(
                .failed, "the catalogue \(path) is damaged",
                action: "Restart photoinboxd: it sets the damaged file aside.")
        default: self.init(.failed, "\(error)")
        }
    }
}
