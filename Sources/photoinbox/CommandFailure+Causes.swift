import Catalogue
import CommandSupport
import Decoding
import FileValues
import LinuxKernel
import Reporting
import SystemPackage

extension CommandFailure {
    /// The failure to make pictures.
    init(_ trouble: DecoderTrouble) {
        switch trouble {
        case .cannotBeKept(let error) where [.permissionDenied, .notPermitted].contains(error.code):
            self.init(.permission, "cannot write thumbnails: permission denied", action: Self.asOwner)
        case .cannotBeKept: self.init(.failed, "\(trouble)")
        case .cannotStart, .cannotBeConfined, .stopped:
            self.init(
                .unavailable, "\(trouble)",
                action: "See confinement and decoder under [pictures] in photoinbox.toml(5).")
        }
    }

    static func cannotChange(_ catalogue: BytePath) -> CommandFailure {
        CommandFailure(.permission, "cannot change the catalogue \(catalogue): permission denied", action: asOwner)
    }

    private static let asOwner = "Use sudo, or run it as the daemon's user."

    /// A catalogue's failure.
    init(_ error: CatalogueError, path: String) {
        switch error.code {
        case .missing:
            self.init(
                .unavailable, "there is no catalogue at \(path) yet",
                action: "Start photoinboxd, or name its state directory with --state.")
        case .permission:
            self.init(
                .permission, "cannot read the catalogue \(path): permission denied",
                action: permissionAdvice(for: BytePath(path)))
        case .readOnly: self = .cannotChange(BytePath(path))
        case .newerSchema:
            self.init(
                .failed, "the catalogue \(path) was written by a newer photoinboxd",
                action: "Use the photoinbox of the same version.")
        case .olderSchema:
            self.init(
                .failed, "the catalogue \(path) was written by an older photoinboxd",
                action: "Start the new photoinboxd once: it updates the catalogue.")
        case .busy: self.init(.busy, "the catalogue \(path) is in use", action: "Try again.")
        case .corrupt:
            self.init(
                .failed, "the catalogue \(path) is damaged",
                action: "Restart photoinboxd: it sets the damaged file aside and rebuilds the catalogue.")
        default: self.init(.failed, "\(error)")
        }
    }
}
