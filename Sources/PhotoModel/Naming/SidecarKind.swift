import PhotoFormats

/// The kinds of files that belong to a photo, by their names.
package enum SidecarKind: String, CaseIterable, Hashable, Sendable {
    /// Adobe's metadata, `IMG_1.xmp` or `IMG_1.CR3.xmp`.
    case xmp
    /// Apple's edits.
    case aae
    /// A camera's thumbnail beside a film.
    case thm
    /// Google Takeout's metadata, `IMG_1.jpg.json` or `IMG_1.jpg.supplemental-metadata.json`.
    case takeout

    /// The kind of a file named `name`, in ASCII lower case; nil if it is not a sidecar.
    init?(name: [UInt8]) {
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > 0 else { return nil }
        let ending = name[(dot + 1)...]
        if ending.equals("xmp") {
            self = .xmp
        } else if ending.equals("aae") {
            self = .aae
        } else if ending.equals("thm") {
            self = .thm
        } else if ending.equals("json"), Takeout.isBase(Array(name[..<dot])) {
            self = .takeout
        } else {
            return nil
        }
    }
}
