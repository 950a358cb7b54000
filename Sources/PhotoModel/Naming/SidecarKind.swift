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
        } else if ending.equals("json"), Self.isTakeout(stem: name[..<dot]) {
            self = .takeout
        } else {
            return nil
        }
    }

    /// Whether `stem` is what Takeout puts before `.json`: a photo's name, perhaps with (a beginning of)
    /// `.supplemental-metadata`, cut to 46 bytes, perhaps with a number in parentheses.
    private static func isTakeout(stem: ArraySlice<UInt8>) -> Bool {
        var stem = stem
        let whole = stem.count
        if stem.last == UInt8(ascii: ")"), let open = stem.lastIndex(of: UInt8(ascii: "(")) {
            let number = stem[(open + 1)..<(stem.endIndex - 1)]
            if !number.isEmpty, number.allSatisfy(isDigit) { stem = stem[..<open] }
        }
        guard let dot = stem.lastIndex(of: UInt8(ascii: ".")), dot > stem.startIndex else { return false }
        let ending = stem[(dot + 1)...]
        if !PhotoFormat.formats(withExtension: ending).isEmpty { return true }
        if Array("supplemental-metadata".utf8).starts(with: ending), let before = stem[..<dot].lastIndex(of: 0x2E),
            !PhotoFormat.formats(withExtension: stem[(before + 1)..<dot]).isEmpty
        {
            return true
        }
        return whole >= 46
            && PhotoFormat.allCases.contains { $0.usualExtensions.contains { $0.utf8.starts(with: ending) } }
    }
}
