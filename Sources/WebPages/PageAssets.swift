import CPageFiles
import Filing
import HTTPValues

/// The pages of people, of guests and of addresses at which there is nothing, and their parts, which are in the program.
/// The parts are named below a hash of all of them, so that a browser never has parts of two versions, and keeps them
/// for ever.
enum PageAssets {
    struct Asset: Sendable {
        let type: MediaType
        let bytes: [UInt8]
    }

    /// Where `CPageFiles` has a file of this name; also the pages.
    private static let indices: [String: Int] = Dictionary(
        uniqueKeysWithValues: (0..<cpagefiles_count).map { (String(cString: cpagefiles_file($0).name), $0) })

    private static func bytes(_ name: String) -> [UInt8]? {
        indices[name].map { Array(String(cString: cpagefiles_file($0).text).utf8) }
    }

    /// 16 hexadecimal digits.
    static let version: String = {
        var hasher = ContentHasher()
        for name in indices.keys.sorted() {
            Array(name.utf8).withUnsafeBytes { hasher.update($0) }
            bytes(name)?.withUnsafeBytes { hasher.update($0) }
        }
        return String(hasher.hash().description.prefix(16))
    }()

    /// The page of people, whose addresses are relative: it works below any path.
    static let page = versioned("page.html")
    /// The page of whoever has a link, likewise.
    static let guestPage = versioned("guest.html")

    /// The page that says that there is nothing at an address, from which the pages' root is at `root`.
    static func missingPage(root: String) -> [UInt8] { filled(versioned("missing.html"), "ROOT", root) }

    private static func versioned(_ page: String) -> [UInt8] { filled(bytes(page) ?? [], "VERSION", version) }

    private static func filled(_ page: [UInt8], _ word: String, _ text: String) -> [UInt8] {
        Array(
            String(decoding: page, as: UTF8.self).split(separator: word, omittingEmptySubsequences: false)
                .joined(separator: text).utf8)
    }

    static func asset(named name: String) -> Asset? {
        guard let type = MediaType.ofPage(named: name), type != .html, let bytes = bytes(name) else { return nil }
        return Asset(type: type, bytes: bytes)
    }
}
