import CommandContact
import CommandSupport
import Decoding

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
}
