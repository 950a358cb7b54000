import FileValues
import HTTPValues
package import PhotoModel

/// A photo in an address: its number, and how the hash of its content begins. Another catalogue may have given the number to
/// another photo, and what a browser keeps must not be shown for that one: `8412-9f2c01ab`.
struct PhotoKey: Hashable, CustomStringConvertible {
    let id: UInt32
    /// Four bytes.
    let mark: [UInt8]

    init(id: UInt32, hash: some Sequence<UInt8>) { (self.id, mark) = (id, Array(hash.prefix(4))) }

    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let id = UInt32(parts[0]), id > 0, let mark = bytes(ofHexadecimal: parts[1].utf8),
            mark.count == 4
        else { return nil }
        (self.id, self.mark) = (id, mark)
        // Each photo has one address.
        guard description == text else { return nil }
    }

    var description: String { "\(id)-\(hexadecimal(mark))" }

    func isOf(_ hash: [UInt8]) -> Bool { hash.count == 32 && hash.starts(with: mark) }
}

/// A small picture of a photo.
package enum Picture: Hashable, Sendable {
    /// The smallest that the timeline can show.
    case tile
    /// The largest that there is.
    case largest
    case rendition(RenditionKind)

    /// By its name in addresses.
    init?(_ name: String) {
        guard let kind = RenditionKind(rawValue: name), kind.isPicture else { return nil }
        self = .rendition(kind)
    }
}

extension RenditionKind {
    var isPicture: Bool { self != .hash }
}

/// The parts of Leaflet, which Debian's package libjs-leaflet has.
enum Leaflet: String, CaseIterable {
    case script = "leaflet.js"
    case style = "leaflet.css"

    var type: MediaType { self == .script ? .script : .css }

    var file: BytePath {
        self == .script
            ? "/usr/share/javascript/leaflet/leaflet.esm.min.js" : "/usr/share/javascript/leaflet/leaflet.css"
    }
}

/// An address of the timeline, or of one of its photos.
enum WallAddress: Hashable {
    /// How many photos each day has.
    case days
    /// Some photos of a day.
    case tiles
    case search
    /// How many photos were taken where.
    case places
    /// A part of Leaflet, which draws the map.
    case leaflet(Leaflet)
    case picture(PhotoKey, Picture)
    /// Small pictures of several photos in one answer.
    case pictures
    /// The file in the library.
    case original(PhotoKey)
    /// The same, to be played.
    case film(PhotoKey)
    /// What is known of a photo.
    case photo(PhotoKey)

    init?(_ parts: [String]) {
        switch (parts.first, parts.count) {
        case ("days", 1): self = .days
        case ("tiles", 1): self = .tiles
        case ("search", 1): self = .search
        case ("places", 1): self = .places
        case ("t", 1): self = .pictures
        case ("leaflet", 2):
            guard let part = Leaflet(rawValue: parts[1]) else { return nil }
            self = .leaflet(part)
        default:
            guard parts.count > 1, let key = PhotoKey(parts[1]) else { return nil }
            switch (parts[0], parts.count) {
            case ("t", 2): self = .picture(key, .tile)
            case ("p", 2): self = .picture(key, .largest)
            case ("o", 2): self = .original(key)
            case ("f", 2): self = .film(key)
            case ("photo", 2): self = .photo(key)
            case ("r", 3):
                guard let picture = Picture(parts[2]) else { return nil }
                self = .picture(key, picture)
            default: return nil
            }
        }
    }
}
