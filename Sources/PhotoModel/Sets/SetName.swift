package import FileValues
import PhotoFormats

/// The parts of a file's name that identify its set. Pure; names are bytes.
package struct SetName: Hashable, Sendable {
    /// The name itself.
    package let name: BytePath
    /// Its role by its extension, nil if unknown; a photo's content decides finally.
    package let role: SetRole?
    /// The key of its set.
    package let key: SetKey
    /// Further keys, for sidecars with a shortened name.
    package let shortKeys: [SetKey]
    /// The photo's name in the name of a sidecar: `IMG_1.CR3` of `IMG_1.CR3.xmp`.
    package let photo: BytePath?
    /// The part after the stem, or after the photo's name, unchanged: `.CR3`, `.xmp`.
    package let ending: [UInt8]

    /// All its keys.
    package var keys: [SetKey] { [key] + shortKeys }

    /// Parses the name of `path`, which is relative to the inbox.
    package init(_ path: BytePath) {
        name = path.name
        let directory = path.parent
        if let kind = SidecarKind(name: name.bytes.map(\.asciiLowercased)) {
            let stem = SidecarStem(name, kind)
            role = .sidecar(kind)
            photo = stem.photo
            ending = stem.ending
            key = SetKey(directory: directory, stem: withoutAppleMark(stem.photo?.stem.bytes ?? stem.bytes))
            shortKeys = stem.isCut ? [SetKey(directory: directory, stem: Takeout.shortMark + stem.bytes)] : []
        } else {
            let stem = name.stem.bytes
            role = PhotoFormat.formats(withExtension: name.lowercasedExtension).first.map { SetRole($0) }
            photo = nil
            ending = Array(name.bytes.dropFirst(stem.count))
            key = SetKey(directory: directory, stem: withoutAppleMark(stem))
            shortKeys = Takeout.shortened(name).map { SetKey(directory: directory, stem: Takeout.shortMark + $0) }
        }
    }

    /// Whether this sidecar belongs to the photo `name` of its set: one that names a photo belongs to that one alone.
    package func belongs(to name: BytePath) -> Bool {
        guard let photo else { return true }
        return photo.bytes.map(\.asciiLowercased) == name.bytes.map(\.asciiLowercased)
    }
}

/// The stem without Apple's mark: the edited version of `IMG_0123` is named `IMG_E0123`, its edits before the last
/// `IMG_O0123`.
private func withoutAppleMark(_ stem: [UInt8]) -> [UInt8] {
    guard stem.count == 9, stem.map(\.asciiLowercased).begins(with: "img_"), stem[5...].allSatisfy(\.isASCIIDigit),
        [UInt8(ascii: "e"), UInt8(ascii: "o")].contains(stem[4].asciiLowercased)
    else { return stem }
    return Array(stem[..<4] + stem[5...])
}

/// `a.jpg` of `a.jpg-2`.
private func withoutNumbers(_ name: [UInt8]) -> [UInt8] {
    let digits = name.reversed().prefix(while: \.isASCIIDigit).count
    let rest = name.dropLast(digits)
    return digits > 0 && rest.last == UInt8(ascii: "-") ? withoutNumbers(Array(rest.dropLast())) : name
}

/// The parts of a sidecar's name.
private struct SidecarStem {
    /// The photo's stem, or the rest of its name if it was cut.
    var bytes: [UInt8]
    var photo: BytePath?
    var ending: [UInt8]
    /// Whether the photo's name was cut.
    var isCut = false

    init(_ name: BytePath, _ kind: SidecarKind) {
        let base = name.stem.bytes
        let ending = Array(name.bytes.dropFirst(base.count))
        self.ending = ending
        bytes = base
        // The photo's name with numbers after it is that of a second sidecar.
        let whole = withoutNumbers(base)
        switch kind {
        case .xmp where whole.count < base.count && isPhotoName(whole):
            bytes = whole
            photo = BytePath(bytes)
            self.ending = Array(base.dropFirst(bytes.count)) + ending
        case .xmp: if isPhotoName(base) { photo = BytePath(base) }
        case .aae, .thm: break
        case .takeout:
            let parts = Takeout.parts(of: base)
            photo = parts.photo
            bytes = parts.stem
            isCut = parts.isCut
            self.ending = parts.supplement + ending
        }
    }
}

/// Whether `name` has the extension of a format that is filed.
func isPhotoName(_ name: [UInt8]) -> Bool {
    guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > 0 else { return false }
    return !PhotoFormat.formats(withExtension: name[(dot + 1)...].map(\.asciiLowercased)).isEmpty
}
