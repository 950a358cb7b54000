/// The result of reading a file; no pixels are decoded and nothing is guessed.
package struct PhotoReport: Equatable, Sendable {
    /// The format; nil if it is none that is filed.
    package var format: PhotoFormat?
    /// Whether the file is complete, as far as its structure shows.
    package var completeness: Completeness
    /// Pixels across, before any rotation; nil if unknown.
    package var width: UInt32?
    /// Pixels down, before any rotation; nil if unknown.
    package var height: UInt32?
    /// The orientation, 1 to 8 as in EXIF; for HEIF and video the equivalent of their own transformations.
    package var orientation: UInt8?
    /// All dates, in the order of the file, readable or not.
    package private(set) var dates: [RecordedDate] = []
    /// The common Apple UUID of a Live Photo's picture and film.
    package var contentIdentifier: String?
    /// The camera's maker.
    package var cameraMake: String?
    /// The camera's model.
    package var cameraModel: String?
    /// The metadata of each source in the file; ``MetadataDecision`` chooses among them.
    package var metadata: [MetadataSource: PhotoMetadata] = [:]
    /// Whether IPTC was changed after XMP; nil if no digest shows it.
    package var iptcIsNewer: Bool?
    /// The data after the picture's own end, in file order: further pictures, a motion photo's film, unknown bytes.
    package var trailers: [Trailer] = []
    /// The number of bytes read.
    package var bytesRead: UInt64 = 0

    /// Maker and model, as far as known; nil if neither is. Only the model if it begins with the maker's name, as
    /// "Canon EOS R6" and "NIKON Z 6" do.
    package var camera: String? {
        let names = [cameraMake, cameraModel].compactMap(\.self)
        if names.count == 2, let maker = names[0].split(separator: " ").first?.lowercased(),
            names[1].split(separator: " ").first?.lowercased() == maker
        {
            return names[1]
        }
        return names.isEmpty ? nil : names.joined(separator: " ")
    }

    /// A report without further data.
    package init(format: PhotoFormat?, completeness: Completeness) {
        self.format = format
        self.completeness = completeness
    }

    /// Adds a date, up to a limit, so that a hostile file cannot exhaust the memory.
    package mutating func record(_ date: RecordedDate) {
        if dates.count < 64 { dates.append(date) }
    }
}

/// Data after a picture's own end.
package struct Trailer: Equatable, Sendable {
    /// The kind of data.
    package enum Kind: String, Equatable, Sendable {
        /// Another JPEG: a multi-picture preview, a depth or gain map.
        case picture
        /// The film of a motion photo.
        case film
        /// Samsung's directory (SEFH to SEFT).
        case samsung
        /// Zero bytes.
        case padding
        /// Other data: viewers ignore it, and its end is unknown.
        case unknown
    }

    /// Its kind.
    package let kind: Kind
    /// Its offset in the file.
    package let offset: UInt64
    /// Its length in bytes.
    package let length: UInt64

    /// A trailer from its parts.
    package init(kind: Kind, offset: UInt64, length: UInt64) {
        self.kind = kind
        self.offset = offset
        self.length = length
    }
}
