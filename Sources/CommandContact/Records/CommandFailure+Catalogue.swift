package import Catalogue
package import CommandSupport
package import FileValues
package import LinuxKernel
package import Reporting
import SystemPackage

extension CommandFailure {
    package static func cannotChange(_ catalogue: BytePath) -> CommandFailure {
        CommandFailure(.permission, "cannot change the catalogue \(catalogue): permission denied", action: asOwner)
    }

    package static let asOwner = "Use sudo, or run it as the daemon's user."

    /// A catalogue's failure.
    package init(_ error: CatalogueError, path: String) {
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
