import Filing
import HTTPValues

/// The pages of people, of guests and of addresses at which there is nothing, and their parts, which are in the program. The parts are named below a hash of all of them, so
/// that a browser never has parts of two versions, and keeps them for ever.
enum PageAssets {
    struct Asset: Sendable {
        let type: MediaType
        let bytes: [UInt8]
    }

    private static let parts: [String: [UInt8]] = [
        "style.css": PackageResources.style_css, "icon.svg": PackageResources.icon_svg,
        "app.js": PackageResources.app_js, "dom.js": PackageResources.dom_js,
        "server.js": PackageResources.server_js,
        "text.js": PackageResources.text_js, "sign-in.js": PackageResources.sign_in_js,
        "now.js": PackageResources.now_js, "decisions.js": PackageResources.decisions_js,
        "confirm.js": PackageResources.confirm_js, "chosen.js": PackageResources.chosen_js,
        "search.js": PackageResources.search_js,
        // Of Photos.
        "photos.js": PackageResources.photos_js,
        "wall.js": PackageResources.wall_js,
        "viewer.js": PackageResources.viewer_js, "timeline.js": PackageResources.timeline_js,
        "again.js": PackageResources.again_js, "layout.js": PackageResources.layout_js,
        "captions.js": PackageResources.captions_js,
        // Of Map.
        "map.js": PackageResources.map_js, "grid.js": PackageResources.grid_js,
        "world.json": PackageResources.world_json,
        // Of Drop, and of guests.
        "guest.js": PackageResources.guest_js, "drop.js": PackageResources.drop_js,
        "queue.js": PackageResources.queue_js,
        "send.js": PackageResources.send_js, "pace.js": PackageResources.pace_js, "shots.js": PackageResources.shots_js,
        "read.js": PackageResources.read_js, "reader.js": PackageResources.reader_js, "qr.js": PackageResources.qr_js,
        "sha256.js": PackageResources.sha256_js, "exif.js": PackageResources.exif_js,
        "names.js": PackageResources.names_js, "words.js": PackageResources.words_js,
    ]

    /// 16 hexadecimal digits.
    static let version: String = {
        var hasher = ContentHasher()
        for (name, bytes) in parts.sorted(by: { $0.key < $1.key }) + [
            ("", PackageResources.page_html), ("", PackageResources.guest_html),
        ] {
            Array(name.utf8).withUnsafeBytes { hasher.update($0) }
            bytes.withUnsafeBytes { hasher.update($0) }
        }
        return String(hasher.hash().description.prefix(16))
    }()

    /// The page of people, whose addresses are relative: it works below any path.
    static let page = versioned(PackageResources.page_html)
    /// The page of whoever has a link, likewise.
    static let guestPage = versioned(PackageResources.guest_html)

    /// The page that says that there is nothing at an address, from which the pages' root is at `root`.
    static func missingPage(root: String) -> [UInt8] {
        filled(versioned(PackageResources.missing_html), "ROOT", root)
    }

    private static func versioned(_ page: [UInt8]) -> [UInt8] { filled(page, "VERSION", version) }

    private static func filled(_ page: [UInt8], _ word: String, _ text: String) -> [UInt8] {
        Array(
            String(decoding: page, as: UTF8.self).split(separator: word, omittingEmptySubsequences: false)
                .joined(separator: text).utf8)
    }

    static func asset(named name: String) -> Asset? {
        guard let bytes = parts[name], let type = MediaType.ofPage(named: name) else { return nil }
        return Asset(type: type, bytes: bytes)
    }
}
