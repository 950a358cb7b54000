package import FileValues

/// The source of a date, the most reliable first: the order of the cases is the order of choice.
///
/// Raw values are stored in the catalogue and never change.
package enum DateProvenance: String, CaseIterable, Hashable, Sendable {
    case exifOriginal = "exif-original"
    case exifDigitized = "exif-digitized"
    /// A field of a camera's own format.
    case camera = "camera"
    case gps = "gps"
    case videoCreation = "video-creation"
    case videoHeader = "video-header"
    case xmp = "xmp"
    case iptc = "iptc"
    case fileName = "file-name"
    case exifModified = "exif-modified"
    case pngText = "png-text"
    case pngTime = "png-time"
    case fileModified = "mtime"

    /// The display name, by the standard's name of the field.
    package var name: String {
        switch self {
        case .exifOriginal: "EXIF DateTimeOriginal"
        case .exifDigitized: "EXIF DateTimeDigitized"
        case .camera: "the camera's own date"
        case .gps: "GPS date and time"
        case .videoCreation: "QuickTime creation date"
        case .videoHeader: "the movie header's creation time"
        case .xmp: "XMP date"
        case .iptc: "IPTC date"
        case .fileName: "the file name"
        case .exifModified: "EXIF DateTime (last change)"
        case .pngText: "PNG creation time"
        case .pngTime: "PNG last change"
        case .fileModified: "the file's modification time"
        }
    }

    /// Whether the device that took the picture recorded the date of taking it; other dates are guesses.
    package var isSure: Bool {
        switch self {
        case .exifOriginal, .exifDigitized, .camera, .gps, .videoCreation, .videoHeader: true
        case .xmp, .iptc, .fileName, .exifModified, .pngText, .pngTime, .fileModified: false
        }
    }
}

/// How reliable a date must be for a photo to be filed by it; a photo without such a date is filed as undated.
///
/// Raw values are used in the configuration.
package enum DateTrust: String, CaseIterable, Hashable, Sendable {
    /// The clock of the device that took it: EXIF, GPS, a film's header.
    case device
    /// Any date in the file or its name.
    case recorded
    /// Also the file's modification time.
    case any

    /// Whether a date from this source is reliable enough.
    package func accepts(_ provenance: DateProvenance) -> Bool {
        switch self {
        case .device: provenance.isSure
        case .recorded: provenance != .fileModified
        case .any: true
        }
    }
}

/// One date in a file, readable or not.
package struct RecordedDate: Equatable, Sendable {
    /// The value of a date.
    package enum Reading: Equatable, Sendable {
        /// A local time and, if recorded, its offset in seconds east of UTC.
        case local(CivilDateTime, offset: Int32?, hasTime: Bool)
        /// An instant, recorded in UTC.
        case instant(FileTime)
        /// Not a date; the reason is a clause for people, such as "was never set".
        case unreadable(String)
    }

    /// Its source.
    package let provenance: DateProvenance
    /// The text in the file, escaped for display.
    package let text: String
    /// Its value.
    package let reading: Reading
    /// What was read otherwise than it is written, as a clause for people.
    package let remark: String?

    /// A date from its parts; `text` must be escaped for display.
    package init(provenance: DateProvenance, text: String, reading: Reading, remark: String? = nil) {
        self.provenance = provenance
        self.text = text
        self.reading = reading
        self.remark = remark
    }

    /// Reads IPTC's date `20240131` and its time of day, `123456+0100`.
    init(provenance: DateProvenance, iptc date: [UInt8], time: [UInt8]?) {
        var text = Array(date.prefix(8))
        if text.count == 8 {
            text.insert(UInt8(ascii: ":"), at: 6)
            text.insert(UInt8(ascii: ":"), at: 4)
        }
        if let time, time.count >= 6 {
            text +=
                [UInt8(ascii: " ")] + time[0..<2] + [UInt8(ascii: ":")] + time[2..<4] + [UInt8(ascii: ":")] + time[4...]
        }
        self.init(provenance: provenance, bytes: text)
    }

    /// Parses a date, with EXIF's separate fraction and offset.
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
                reading: .local(local, offset: separate ?? date.offset, hasTime: date.hasTime), remark: date.remark)
        } catch {
            self.init(provenance: provenance, text: shown, reading: .unreadable(error.words))
        }
    }
}
