import Catalogue
import CommandSupport
import Decoding
import FileValues
import LinuxKernel
import Reporting
import SystemPackage

extension CommandFailure {
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
