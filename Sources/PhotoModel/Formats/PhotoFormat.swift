/// The formats that are filed. Raw values are stored in the catalogue and never change.
package enum PhotoFormat: String, CaseIterable, Hashable, Sendable {
    case jpeg, png, gif, webp, tiff, heic, heif, avif
    case dng, cr2, cr3, nef, arw, raf, rw2, orf, pef, srw
    case mp4, mov

    /// What a format is used for.
    package enum Family: String, Hashable, Sendable {
        /// A picture that viewers show as it is.
        case picture
        /// What the sensor saw, to be developed.
        case raw
        /// A film, such as cameras and telephones make.
        case video
    }

    /// What the format is used for.
    package var family: Family {
        switch self {
        case .jpeg, .png, .gif, .webp, .tiff, .heic, .heif, .avif: .picture
        case .dng, .cr2, .cr3, .nef, .arw, .raf, .rw2, .orf, .pef, .srw: .raw
        case .mp4, .mov: .video
        }
    }

    /// The name for people.
    package var name: String {
        switch self {
        case .webp: "WebP"
        default: rawValue.uppercased()
        }
    }

    /// Extensions in lower case that files of this format bear, the usual one first.
    package var usualExtensions: [String] {
        switch self {
        case .jpeg: ["jpg", "jpeg", "jpe", "jfif", "mpo", "insp"]
        case .tiff: ["tif", "tiff"]
        case .heic: ["heic", "heif", "hif", "heics"]
        case .heif: ["heif", "heic", "hif", "heifs"]
        case .avif: ["avif", "avifs"]
        case .nef: ["nef", "nrw"]
        case .arw: ["arw", "sr2", "srf"]
        case .rw2: ["rw2", "rwl"]
        case .orf: ["orf", "ori"]
        case .mp4: ["mp4", "m4v", "3gp", "3g2", "insv"]
        case .mov: ["mov", "qt"]
        case .png, .gif, .webp, .dng, .cr2, .cr3, .raf, .pef, .srw: [rawValue]
        }
    }

    /// Whether `ending`, an extension in lower case without its dot, is one that files of this format bear.
    package func agrees(withExtension ending: some Collection<UInt8>) -> Bool {
        usualExtensions.contains { $0.utf8.elementsEqual(ending) }
    }

    /// The formats whose files bear `ending`, an extension in lower case without its dot; empty if none does.
    package static func formats(withExtension ending: some Collection<UInt8>) -> [PhotoFormat] {
        allCases.filter { $0.agrees(withExtension: ending) }
    }
}
