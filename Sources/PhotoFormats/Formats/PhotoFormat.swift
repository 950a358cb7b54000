/// The formats that are filed. Raw values are stored in the catalogue and never change.
package enum PhotoFormat: String, CaseIterable, Hashable, Sendable {
    case jpeg, png, gif, webp, tiff, heic, heif, avif, jxl, jp2, psd
    case dng, cr2, cr3, crw, nef, arw, raf, rw2, orf, pef, srw, mrw, x3f
    case mp4, mov, avi, mts, mkv

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
        case .jpeg, .png, .gif, .webp, .tiff, .heic, .heif, .avif, .jxl, .jp2, .psd: .picture
        case .dng, .cr2, .cr3, .crw, .nef, .arw, .raf, .rw2, .orf, .pef, .srw, .mrw, .x3f: .raw
        case .mp4, .mov, .avi, .mts, .mkv: .video
        }
    }

    /// The display name.
    package var name: String {
        switch self {
        case .webp: "WebP"
        case .jp2: "JPEG 2000"
        case .mts: "MPEG transport stream"
        case .mkv: "Matroska"
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
        case .jp2: ["jp2", "jpf", "jpx", "j2k", "j2c"]
        case .psd: ["psd", "psb"]
        case .mts: ["mts", "m2ts", "m2t"]
        case .mkv: ["mkv", "webm"]
        case .png, .gif, .webp, .jxl, .dng, .cr2, .cr3, .crw, .raf, .pef, .srw, .mrw, .x3f, .avi: [rawValue]
        }
    }

    /// Whether `ending`, in lower case without its dot, is an extension of this format.
    package func agrees(withExtension ending: some Collection<UInt8>) -> Bool {
        usualExtensions.contains { $0.utf8.elementsEqual(ending) }
    }

    /// The formats with the extension `ending`, in lower case without its dot.
    package static func formats(withExtension ending: some Collection<UInt8>) -> [PhotoFormat] {
        byExtension[Array(ending)] ?? []
    }

    private static let byExtension: [[UInt8]: [PhotoFormat]] = allCases.reduce(into: [:]) { formats, format in
        for ending in format.usualExtensions { formats[Array(ending.utf8), default: []].append(format) }
    }

    /// What shows that a file of this format is complete.
    package enum End: String, Hashable, Sendable {
        /// A marker at the end.
        case marker = "end marker"
        /// The lengths that its parts state.
        case lengths = "stated lengths"
        /// A directory at the end.
        case directory = "directory at the end"
        /// Nothing: the file must also be unchanged for a while.
        case quiet = "none: unchanged for `quiet`"
        /// Nothing, and such files are written slowly.
        case patience = "none: unchanged for `patience`"
    }

    /// What shows that a usual file of this format is complete.
    package var end: End {
        switch self {
        case .jpeg, .gif, .png, .jp2: .marker
        case .webp, .heic, .heif, .avif, .cr3, .jxl, .psd, .mrw, .mp4, .mov, .avi, .mkv: .lengths
        case .crw, .x3f: .directory
        case .tiff, .dng, .cr2, .nef, .arw, .raf, .rw2, .orf, .pef, .srw: .quiet
        case .mts: .patience
        }
    }

    /// The sources of its date and metadata, for people.
    package var metadataSources: String {
        switch self {
        case .jpeg, .tiff, .psd: "EXIF, XMP, IPTC"
        case .png: "EXIF, XMP, IPTC, texts"
        case .gif: "XMP"
        case .webp, .heic, .heif, .avif, .jp2, .jxl: "EXIF, XMP"
        case .dng, .cr2, .nef, .arw, .rw2, .orf, .pef, .srw: "EXIF, XMP, IPTC"
        case .cr3: "EXIF, XMP"
        case .raf, .mrw: "EXIF"
        case .crw: "CIFF"
        case .x3f: "properties, EXIF"
        case .mp4, .mov: "QuickTime, XMP"
        case .avi: "RIFF, XMP"
        case .mts: "AVCHD"
        case .mkv: "segment information"
        }
    }

    /// What its small pictures are made of, for people.
    package var thumbnail: String {
        switch self {
        case .jpeg: "yes; of lossless ones and those of 12 bits with libav"
        case .gif: "yes, of the first picture"
        case .psd: "the one in the file, of at most 160 pixels"
        case .heic, .heif, .avif: "yes, of the main picture"
        case .png, .webp, .tiff, .jxl, .jp2: "yes"
        case .dng, .cr2, .cr3, .crw, .nef, .arw, .raf, .rw2, .orf, .pef, .srw, .mrw, .x3f:
            "the camera's preview"
        case .mp4, .mov, .avi, .mts, .mkv: "a frame, with libav"
        }
    }
}
