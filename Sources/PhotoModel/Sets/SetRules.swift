package import FileValues
package import PhotoFormats

/// The properties of a file that decide its set.
package struct SetTraits: Hashable, Sendable {
    package var role: SetRole
    /// The keys of its name.
    package var keys: [SetKey]
    /// The common identifier of a Live Photo's picture and film.
    package var contentIdentifier: String?
    /// Whether devices write such files together with another photo; a PNG or WebP of the same name is another picture.
    package var comesInPairs: Bool

    package init(role: SetRole, keys: [SetKey], contentIdentifier: String? = nil, comesInPairs: Bool = true) {
        self.role = role
        self.keys = keys
        self.contentIdentifier = contentIdentifier
        self.comesInPairs = comesInPairs
    }
}

/// The rules by which files belong together. Pure.
package enum SetRules {
    /// Whether two files of one inbox belong together: by content identifiers if both have one, otherwise by names.
    package static func belong(_ one: SetTraits, _ other: SetTraits) -> Bool {
        if let first = one.contentIdentifier, let second = other.contentIdentifier {
            return first == second
        }
        guard one.role.isSidecar || other.role.isSidecar || one.comesInPairs && other.comesInPairs else { return false }
        return one.keys.contains { other.keys.contains($0) }
    }

    /// Seconds by which the dates of two files of one shot may differ: a Live Photo's film begins before its picture,
    /// and writing a RAW takes time.
    static let clockTolerance: Int64 = 10

    /// Whether two dates can be those of one shot. True if one was not written by the device, or not by its local
    /// clock.
    package static func agree(_ one: CaptureDate?, _ other: CaptureDate?) -> Bool {
        guard let one, let other, one.provenance.isOfShot, other.provenance.isOfShot, one.hasTime, other.hasTime else {
            return true
        }
        let (first, second) = (one.local.instant(offset: 0).seconds, other.local.instant(offset: 0).seconds)
        return abs(first - second) <= clockTolerance
    }

    /// Whether a date can be that of the shot whose filed date is `local`, `2026-11-21T14:07:31`, with the provenance
    /// of this raw value; nil if one of them is not conclusive.
    package static func agree(_ date: CaptureDate?, filed local: String, provenance: String) -> Bool? {
        guard let date, date.provenance.isOfShot, date.hasTime, let source = DateProvenance(rawValue: provenance),
            source.isOfShot, let filed = try? DateText.parse(Array(local.utf8)), filed.hasTime
        else { return nil }
        let (first, second) = (date.local.instant(offset: 0).seconds, filed.local.instant(offset: 0).seconds)
        return abs(first - second) <= clockTolerance
    }

    /// The usual names of other files of the set of `name`: the spellings of programs and devices, not every possible
    /// one, which only a listing could find.
    package static func likelyCompanions(of name: SetName) -> [BytePath] {
        var found: [BytePath] = []
        let stem = Array(name.photo?.stem.bytes ?? Array(name.name.bytes.dropLast(name.ending.count)))
        func add(_ endings: [[UInt8]], after stem: [UInt8]) {
            for ending in endings { found.append(BytePath(stem + ending)) }
        }
        let pairs = PhotoFormat.formats(withExtension: name.name.lowercasedExtension).contains(where: \.comesInPairs)
        switch name.role {
        case .picture where !pairs: add(sidecars, after: stem)
        case .sidecar:
            if let photo = name.photo { found.append(photo) }
            add(pictures + raws + films + otherPictures, after: stem)
        case .raw: add(pictures + sidecars, after: stem)
        case .picture: add(pictures + raws + films + sidecars, after: stem)
        case .film: add(pictures + sidecars, after: stem)
        case nil: return []
        }
        if name.role?.isSidecar == false {
            add(xmp, after: name.name.bytes)
            found += Takeout.candidates(for: name.name)
        }
        return found.filter { $0 != name.name && $0.bytes.count <= SafeName.longest }
    }

    /// Those of the names `likely` by which one of `listed` may be found: a file system may treat names in other cases, or in
    /// another normal form, as the same.
    package static func likely(_ likely: [BytePath], among listed: Set<BytePath>) -> [BytePath] {
        let folded = Set(listed.map { SetKey.folded($0.bytes) })
        return likely.filter { folded.contains(SetKey.folded($0.bytes)) }
    }

    private static let pictures = endings("jpg", "jpeg", "heic", "heif", "hif")
    private static let otherPictures = endings("png")
    private static let raws = endings(
        "dng", "cr2", "cr3", "crw", "nef", "nrw", "arw", "raf", "rw2", "orf", "pef", "srw", "mrw", "x3f")
    private static let films = endings("mov", "mp4")
    private static let sidecars = endings("xmp", "aae", "thm")
    private static let xmp = endings("xmp")

    /// With their dots, in both cases.
    private static func endings(_ names: String...) -> [[UInt8]] {
        names.flatMap { [Array(".\($0)".utf8), Array(".\($0.uppercased())".utf8)] }
    }
}

extension PhotoFormat {
    /// Whether devices write such files together with another photo.
    package var comesInPairs: Bool {
        switch self {
        case .jpeg, .heic, .heif: true
        case .png, .gif, .webp, .tiff, .avif, .jxl, .jp2, .psd, .mkv: false
        case .dng, .cr2, .cr3, .crw, .nef, .arw, .raf, .rw2, .orf, .pef, .srw, .mrw, .x3f, .mp4, .mov, .avi, .mts: true
        }
    }
}

extension DateProvenance {
    /// Whether the device that took the shot wrote it by its local clock.
    fileprivate var isOfShot: Bool { self == .exifOriginal || self == .videoCreation }
}
