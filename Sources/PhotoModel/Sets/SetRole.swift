package import PhotoFormats

/// The role of a file in its set.
package enum SetRole: Hashable, Sendable {
    /// Sensor data.
    case raw
    /// A picture that viewers show directly.
    case picture
    /// A film, for example of a Live Photo.
    case film
    /// A file with metadata of the others.
    case sidecar(SidecarKind)

    /// The role of a file of this format.
    package init(_ format: PhotoFormat) {
        switch format.family {
        case .raw: self = .raw
        case .picture: self = .picture
        case .video: self = .film
        }
    }

    /// Whether it is only useful together with a photo.
    package var isSidecar: Bool { if case .sidecar = self { true } else { false } }

    /// A stable word for the catalogue and JSON: `raw`, `picture`, `film`, `sidecar`.
    package var code: String {
        switch self {
        case .raw: "raw"
        case .picture: "picture"
        case .film: "film"
        case .sidecar: "sidecar"
        }
    }

    /// The role for this word; a sidecar's kind is not preserved.
    package init?(code: String) {
        switch code {
        case "raw": self = .raw
        case "picture": self = .picture
        case "film": self = .film
        case "sidecar": self = .sidecar(.xmp)
        default: return nil
        }
    }

    /// The display name: `RAW`, `XMP sidecar`.
    package var name: String {
        switch self {
        case .raw: "RAW"
        case .picture: "picture"
        case .film: "film"
        case .sidecar(.takeout): "Takeout sidecar"
        case .sidecar(let kind): "\(kind.rawValue.uppercased()) sidecar"
        }
    }
}

/// A set of roles, for the expected members.
package struct SetRoles: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let raw = SetRoles(rawValue: 1)
    package static let picture = SetRoles(rawValue: 2)
    package static let film = SetRoles(rawValue: 4)
    package static let sidecar = SetRoles(rawValue: 8)
    /// All that can be filed alone.
    package static let photos: SetRoles = [.raw, .picture, .film]

    /// The set with `role`.
    package init(_ role: SetRole) {
        switch role {
        case .raw: self = .raw
        case .picture: self = .picture
        case .film: self = .film
        case .sidecar: self = .sidecar
        }
    }

    /// The text for people: `a RAW or a sidecar`.
    package var words: String {
        let names: [(SetRoles, String)] = [
            (.raw, "a RAW"), (.picture, "a picture"), (.film, "a film"), (.sidecar, "a sidecar"),
        ]
        return names.filter { contains($0.0) }.map(\.1).joined(separator: " or ")
    }
}
