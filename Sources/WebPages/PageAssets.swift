import Filing
import HTTPValues

/// The parts of the page, which are in the program. They are named below a hash of all of them, so that a browser never has
/// parts of two versions, and keeps them for ever.
enum PageAssets {
    struct Asset: Sendable {
        let type: MediaType
        let bytes: [UInt8]
    }

    private static let parts: [String: [UInt8]] = [
        "style.css": PackageResources.style_css, "icon.svg": PackageResources.icon_svg,
        "app.js": PackageResources.app_js, "dom.js": PackageResources.dom_js, "server.js": PackageResources.server_js,
        "text.js": PackageResources.text_js, "sign-in.js": PackageResources.sign_in_js,
        "now.js": PackageResources.now_js, "decisions.js": PackageResources.decisions_js,
        "confirm.js": PackageResources.confirm_js,
    ]

    /// 16 hexadecimal digits.
    static let version: String = {
        var hasher = ContentHasher()
        for (name, bytes) in parts.sorted(by: { $0.key < $1.key }) + [("", PackageResources.page_html)] {
            Array(name.utf8).withUnsafeBytes { hasher.update($0) }
            bytes.withUnsafeBytes { hasher.update($0) }
        }
        return String(hasher.hash().description.prefix(16))
    }()

    /// The page, whose addresses are relative: it works below any path.
    static let page: [UInt8] = Array(
        String(decoding: PackageResources.page_html, as: UTF8.self)
            .split(separator: "VERSION", omittingEmptySubsequences: false).joined(separator: version).utf8)

    static func asset(named name: String) -> Asset? {
        guard let bytes = parts[name], let type = MediaType.ofPage(named: name) else { return nil }
        return Asset(type: type, bytes: bytes)
    }
}
