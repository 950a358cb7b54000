/// The formats that are filed. Raw values are stored in the catalogue and never change.
package enum PhotoFormat: String, CaseIterable, Hashable, Sendable {
    case jpeg, png, gif, webp, tiff, heic, heif, avif
    case dng, cr2, cr3, nef, arw, raf, rw2, orf, pef, srw
    case mp4, mov

    /// The use of a format.
    package enum Family: String, Hashable, Sendable {
        /// A picture that viewers show directly.
        case picture
        /// Sensor data, to be developed.
        case raw
        /// A film by a camera or a telephone.
        case video
    }

    /// The use of the format.
    package var family: Family {
        switch self {
        case .jpeg, .png, .gif, .webp, .tiff, .heic, .heif, .avif: .picture
        case .dng, .cr2, .cr3, .nef, .arw, .raf, .rw2, .orf, .pef, .srw: .raw
        case .mp4, .mov: .video
        }
    }

    /// The display name.
    package var name: String {
        switch self {
        case .webp: "WebP"
        default: rawValue.uppercased()
        }
    }

    /// The extensions of this format in lower case, the most common one first.
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

    /// Whether `ending`, in lower case without its dot, is an extension of this format.
    package func agrees(withExtension ending: some Collection<UInt8>) -> Bool {
        usualExtensions.contains { $0.utf8.elementsEqual(ending) }
    }

    /// The formats with the extension `ending`, in lower case without its dot.
    package static func formats(withExtension ending: some Collection<UInt8>) -> [PhotoFormat] {
        allCases.filter { $0.agrees(withExtension: ending) }
    }
}
