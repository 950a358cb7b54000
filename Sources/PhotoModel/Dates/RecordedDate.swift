package import FileValues

/// Where a date comes from, the surest first: the order of the cases is the order of choice.
///
/// Raw values are stored in the catalogue and never change.
package enum DateProvenance: String, CaseIterable, Hashable, Sendable {
    case exifOriginal = "exif-original"
    case exifDigitized = "exif-digitized"
    case gps = "gps"
    case videoCreation = "video-creation"
    case videoHeader = "video-header"
    case xmp = "xmp"
    case fileName = "file-name"
    case exifModified = "exif-modified"
    case pngText = "png-text"
    case pngTime = "png-time"
    case fileModified = "mtime"

    /// The name for people, as the standards name the field.
    package var name: String {
        switch self {
        case .exifOriginal: "EXIF DateTimeOriginal"
        case .exifDigitized: "EXIF DateTimeDigitized"
        case .gps: "GPS date and time"
        case .videoCreation: "QuickTime creation date"
        case .videoHeader: "movie header's creation time"
        case .xmp: "XMP date"
        case .fileName: "file name"
        case .exifModified: "EXIF DateTime (last change)"
        case .pngText: "PNG creation time"
        case .pngTime: "PNG last change"
        case .fileModified: "file's modification time"
        }
    }

    /// Whether the date is of the picture's taking, by the device that took it; the others are guesses.
    package var isSure: Bool {
        switch self {
        case .exifOriginal, .exifDigitized, .gps, .videoCreation, .videoHeader: true
        case .xmp, .fileName, .exifModified, .pngText, .pngTime, .fileModified: false
        }
    }
}

/// How sure a date must be for a photo to be filed by it; what has no such date is filed as undated.
///
/// Raw values stand in the configuration.
package enum DateTrust: String, CaseIterable, Hashable, Sendable {
    /// The clock of the device that took it: EXIF, GPS, a film's header.
    case device
    /// What the file or its name bears, by whatever program.
    case recorded
    /// The file's modification time, too.
    case any

    /// Whether a date from there is sure enough.
    package func accepts(_ provenance: DateProvenance) -> Bool {
        switch self {
        case .device: provenance.isSure
        case .recorded: provenance != .fileModified
        case .any: true
        }
    }
}

/// One date that a file bears, readable or not.
package struct RecordedDate: Equatable, Sendable {
    /// What a date says.
    package enum Reading: Equatable, Sendable {
        /// A clock's time and, if recorded, how many seconds east of UTC that clock was.
        case local(CivilDateTime, offset: Int32?, hasTime: Bool)
        /// An instant, recorded in UTC.
        case instant(FileTime)
        /// No date; the reason is a clause for people, such as "was never set".
        case unreadable(String)
    }

    /// Where it comes from.
    package let provenance: DateProvenance
    /// As it stands in the file, made safe to show.
    package let text: String
    /// What it says.
    package let reading: Reading

    /// A date from its parts; `text` must be safe to show.
    package init(provenance: DateProvenance, text: String, reading: Reading) {
        self.provenance = provenance
        self.text = text
        self.reading = reading
    }

    /// Reads a date from the bytes that a file has for it, with EXIF's separate fraction and offset.
    init(
        provenance: DateProvenance, bytes: some Collection<UInt8>, fraction: [UInt8]? = nil, offset: [UInt8]? = nil
    ) {
        let shown = escapeForDisplay(bytes.prefix(64))
        do throws(DateText.Refusal) {
            let date = try DateText.parse(bytes)
            let separate = offset.flatMap { DateText.parseOffset($0) }
            let local =
                fraction.flatMap { DateText.parseFraction($0) }.map(date.local.replacingNanosecond) ?? date.local
            self.init(
                provenance: provenance, text: shown,
                reading: .local(local, offset: separate ?? date.offset, hasTime: date.hasTime))
        } catch {
            self.init(provenance: provenance, text: shown, reading: .unreadable(error.words))
        }
    }
}
