/// Files that go with a photo, told by their names.
package enum SidecarKind: String, CaseIterable, Hashable, Sendable {
    /// Adobe's metadata, `IMG_1.xmp` or `IMG_1.CR3.xmp`.
    case xmp
    /// Apple's edits.
    case aae
    /// A camera's thumbnail beside a film.
    case thm
    /// What Google Takeout knows of a photo, `IMG_1.jpg.json` or `IMG_1.jpg.supplemental-metadata.json`.
    case takeout

    /// The kind that `name`, in ASCII lower case, stands for; nil if it is no sidecar's.
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
