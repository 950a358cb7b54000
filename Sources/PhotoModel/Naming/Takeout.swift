import FileValues
import PhotoFormats

/// The names that Google Takeout gives to the JSON of a photo.
///
/// There is no official documentation; these rules were collected from exports:
/// - `IMG_1.jpg.json`, since the autumn of 2024 `IMG_1.jpg.supplemental-metadata.json` (github.com/ente/ente/pull/4956,
///   github.com/simulot/immich-go/issues/652); seldom without the photo's extension,
///   `IMG_1.supplemental-metadata.json` (github.com/simulot/immich-go/issues/674).
/// - The part before `.json` is cut to 46 characters, 51 with it: first the supplement,
///   `IMG_20250112_100426.jpg.supplemental-metada.json`, down to `….jpg.s.json`, then the photo's own name,
///   `Urlaub in Knaufspesch in der Schneifel (38).JP.json`
///   (github.com/TheLastGimbus/GooglePhotosTakeoutHelper/issues/8, /issues/353, /pull/449).
/// - The number of a second `IMG_1.jpg`, `IMG_1(1).jpg`, is at the end of that and never cut:
///   `IMG_1.jpg(1).json`, `IMG_1.jpg.supplemental-metadata(1).json` (ente/pull/4956).
enum Takeout {
    /// The most characters before `.json` and the number.
    static let limit = 46
    private static let supplement = Array(".supplemental-metadata".utf8)
    /// Distinguishes a cut name from a stem: no name contains a slash.
    static let shortMark = Array("cut/".utf8)

    struct Parts {
        /// The photo's whole name, with its number in its place; nil if the name is cut.
        var photo: BytePath?
        /// Its stem, or the rest of its name.
        var stem: [UInt8]
        /// The supplement, which may be cut.
        var supplement: [UInt8] = []
        var isCut = false
    }

    /// Parses the part before `.json`.
    static func parts(of base: [UInt8]) -> Parts {
        let (name, number) = splitNumber(base)
        if isPhotoName(name) { return Parts(photo: photo(name, number), stem: []) }
        if let (before, rest) = splitSupplement(name) {
            if isPhotoName(before) { return Parts(photo: photo(before, number), stem: [], supplement: rest) }
            // Without the photo's extension, or with a part of it.
            return Parts(photo: nil, stem: withoutCutExtension(before) + number, supplement: rest)
        }
        return Parts(photo: nil, stem: name + number, isCut: true)
    }

    /// Whether `base`, in ASCII lower case, can be Takeout's part before `.json`.
    static func isBase(_ base: [UInt8]) -> Bool {
        let (name, _) = splitNumber(base)
        if isPhotoName(name) { return true }
        // A few letters could be another extension; this many cannot.
        if let (before, rest) = splitSupplement(name), isPhotoName(before) || rest.count >= 8 { return true }
        return characters(name) == limit
    }

    /// The cut forms of a photo's name that is too long: as it is, and if it ends with a number, with that at the end,
    /// since it may be Google's number or the photo's own.
    static func shortened(_ name: BytePath) -> [[UInt8]] {
        readings(name).filter { characters($0.name) > limit }.map { cut($0.name) + $0.number }
    }

    /// The possible names of a photo's JSON.
    static func candidates(for name: BytePath) -> [BytePath] {
        readings(name).flatMap { [cut($0.name) + $0.number, cut($0.name + supplement) + $0.number] }
            .map { BytePath($0 + Array(".json".utf8)) }
    }

    /// A photo's name and Google's number: without one, or with the number at the end of the stem.
    private static func readings(_ name: BytePath) -> [(name: [UInt8], number: [UInt8])] {
        let stem = name.stem.bytes
        let (plain, number) = splitNumber(stem)
        let whole: (name: [UInt8], number: [UInt8]) = (name.bytes, [])
        return number.isEmpty ? [whole] : [whole, (plain + name.bytes.dropFirst(stem.count), number)]
    }

    /// `IMG_1` and `(1)` of `IMG_1(1)`.
    private static func splitNumber(_ bytes: [UInt8]) -> (name: [UInt8], number: [UInt8]) {
        guard bytes.last == UInt8(ascii: ")"), let open = bytes.lastIndex(of: UInt8(ascii: "(")), open > 0 else {
            return (bytes, [])
        }
        let digits = bytes[(open + 1)..<(bytes.count - 1)]
        guard !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit) else { return (bytes, []) }
        return (Array(bytes[..<open]), Array(bytes[open...]))
    }

    /// The name and the supplement, which may be cut.
    private static func splitSupplement(_ bytes: [UInt8]) -> (before: [UInt8], supplement: [UInt8])? {
        guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")), dot > 0,
            supplement.starts(with: bytes[dot...].map(\.asciiLowercased))
        else { return nil }
        return (Array(bytes[..<dot]), Array(bytes[dot...]))
    }

    /// `IMG_1` of `IMG_1.jp`.
    private static func withoutCutExtension(_ name: [UInt8]) -> [UInt8] {
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > 0 else { return name }
        let ending = name[(dot + 1)...].map(\.asciiLowercased)
        let isBeginning = PhotoFormat.allCases.contains { format in
            format.usualExtensions.contains { $0.utf8.starts(with: ending) }
        }
        return isBeginning ? Array(name[..<dot]) : name
    }

    /// `IMG_1(1).jpg` of `IMG_1.jpg` and `(1)`.
    private static func photo(_ name: [UInt8], _ number: [UInt8]) -> BytePath {
        let stem = BytePath(name).stem.bytes
        return BytePath(stem + number + name.dropFirst(stem.count))
    }

    private static func characters(_ bytes: [UInt8]) -> Int {
        String(validating: bytes, as: UTF8.self)?.utf16.count ?? bytes.count
    }

    /// The first ``limit`` characters, in UTF-16 units as in JavaScript and Java.
    private static func cut(_ bytes: [UInt8]) -> [UInt8] {
        guard let text = String(validating: bytes, as: UTF8.self) else { return Array(bytes.prefix(limit)) }
        return Array(String(decoding: Array(text.utf16.prefix(limit)), as: UTF16.self).utf8)
    }
}
