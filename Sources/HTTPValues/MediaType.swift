/// The types with which contents are sent: a closed list, so that no content of a stranger is a page or a script.
package enum MediaType: String, Hashable, Sendable, CaseIterable {
    case html = "text/html; charset=utf-8"
    case css = "text/css; charset=utf-8"
    case script = "text/javascript; charset=utf-8"
    case svg = "image/svg+xml"
    case json = "application/json"
    case xml = "application/xml; charset=utf-8"
    case events = "text/event-stream"
    case text = "text/plain; charset=utf-8"
    case jpeg = "image/jpeg"
    case png = "image/png"
    case gif = "image/gif"
    case webp = "image/webp"
    case avif = "image/avif"
    case heic = "image/heic"
    case mp4 = "video/mp4"
    case quickTime = "video/quicktime"
    case bytes = "application/octet-stream"
    /// The days of the timeline. A page of another version, which would read them otherwise, refuses another type.
    case days = "application/vnd.photo-inbox.days"

    /// The type of a part of the pages, by its name.
    package static func ofPage(named name: String) -> MediaType? {
        switch suffix(of: name) {
        case "html": .html
        case "css": .css
        case "js": .script
        case "svg": .svg
        case "json": .json
        default: nil
        }
    }

    /// The type of a photo or a film, by its name; ``bytes`` for all others, SVG included: it can have scripts.
    package static func ofPhoto(named name: String) -> MediaType {
        switch suffix(of: name) {
        case "jpg", "jpeg", "jpe": .jpeg
        case "png": .png
        case "gif": .gif
        case "webp": .webp
        case "avif": .avif
        case "heic", "heif": .heic
        case "mp4", "m4v": .mp4
        case "mov", "qt": .quickTime
        default: .bytes
        }
    }

    /// Whether browsers show it in a page.
    package var isPicture: Bool {
        switch self {
        case .jpeg, .png, .gif, .webp, .avif: true
        default: false
        }
    }

    private static func suffix(of name: String) -> String {
        guard let dot = name.lastIndex(of: ".") else { return "" }
        return name[name.index(after: dot)...].lowercased()
    }
}
