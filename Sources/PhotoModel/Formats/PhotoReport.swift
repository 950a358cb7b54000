/// What the bytes of a file say about it: no pixels are decoded and nothing is guessed.
package struct PhotoReport: Equatable, Sendable {
    /// The format, or nil if it is none that is filed.
    package var format: PhotoFormat?
    /// Whether the file is all there, as far as its structure can tell.
    package var completeness: Completeness
    /// Pixels across, before any rotation; nil if not said.
    package var width: UInt32?
    /// Pixels down, before any rotation; nil if not said.
    package var height: UInt32?
    /// How to turn the picture, 1 to 8 as EXIF counts; for HEIF and video what their own transformations amount to.
    package var orientation: UInt8?
    /// Every date found, in the order found, readable or not.
    package private(set) var dates: [RecordedDate] = []
    /// What binds the picture and the film of a Live Photo together: an Apple UUID.
    package var contentIdentifier: String?
    /// The camera's maker, as it calls itself.
    package var cameraMake: String?
    /// The camera's model.
    package var cameraModel: String?
    /// What follows the picture's own end, in file order: further pictures, a motion photo's film, unknown bytes.
    package var trailers: [Trailer] = []
    /// Bytes that were read to find all this.
    package var bytesRead: UInt64 = 0

    /// Maker and model, as far as they are said; nil if neither is. A model that begins with its maker's name, as "Canon
    /// EOS R6" and "NIKON Z 6" do, stands alone.
    package var camera: String? {
        let names = [cameraMake, cameraModel].compactMap(\.self)
        if names.count == 2, let maker = names[0].split(separator: " ").first?.lowercased(),
            names[1].split(separator: " ").first?.lowercased() == maker
        {
            return names[1]
        }
        return names.isEmpty ? nil : names.joined(separator: " ")
    }

    /// A report that says nothing more.
    package init(format: PhotoFormat?, completeness: Completeness) {
        self.format = format
        self.completeness = completeness
    }

    /// Adds a date, up to a number that no honest file reaches, so that no hostile one fills the memory.
    package mutating func record(_ date: RecordedDate) {
        if dates.count < 64 { dates.append(date) }
    }
}

/// Whether a file is all there, as far as its own structure can tell; every reason is a clause for people, with numbers.
package enum Completeness: Equatable, Sendable {
    /// Its structure reaches its end: `evidence` says which.
    case whole(evidence: String)
    /// It promises more bytes than are there: probably still arriving, or broken off.
    case cutShort(reason: String)
    /// It contradicts itself.
    case malformed(reason: String)
    /// Nothing is wrong, but its structure cannot prove the end; only quiet time can.
    case weak(reason: String)
    /// What is there can be shown, but something that it speaks of is not there, or nothing says how far it goes: only
    /// patience can tell, and no short quiet.
    case lacking(reason: String)
    /// It is no photo and no film.
    case notAPhoto(reason: String)
    /// It has no bytes.
    case empty

    /// The clause alone.
    package var words: String {
        switch self {
        case .whole(let words), .cutShort(let words), .malformed(let words), .weak(let words), .lacking(let words),
            .notAPhoto(let words):
            words
        case .empty: "0 bytes"
        }
    }

    /// A stable word for logs, the catalogue and JSON.
    package var code: String {
        switch self {
        case .whole: "whole"
        case .cutShort: "cut-short"
        case .malformed: "malformed"
        case .weak: "weak"
        case .lacking: "lacking"
        case .notAPhoto: "not-a-photo"
        case .empty: "empty"
        }
    }
}

/// What stands after a picture's own end.
package struct Trailer: Equatable, Sendable {
    /// What it is.
    package enum Kind: String, Equatable, Sendable {
        /// Another JPEG: a multi-picture preview, a depth or gain map.
        case picture
        /// The film of a motion photo.
        case film
        /// Samsung's own directory (SEFH to SEFT).
        case samsung
        /// Zero bytes.
        case padding
        /// Anything else: viewers ignore it, and nothing tells where it ends.
        case unknown
    }

    /// What it is.
    package let kind: Kind
    /// Where it begins.
    package let offset: UInt64
    /// How many bytes it has.
    package let length: UInt64

    /// A trailer from its parts.
    package init(kind: Kind, offset: UInt64, length: UInt64) {
        self.kind = kind
        self.offset = offset
        self.length = length
    }
}
