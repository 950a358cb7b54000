package import FileValues

/// What a file's name says about the set that it belongs to. Pure; names are bytes.
package struct SetName: Hashable, Sendable {
    /// The name itself.
    package let name: BytePath
    /// What its extension makes it; nil if that is none of ours. What a photo really is, its content says.
    package let role: SetRole?
    /// Under what its set is looked for.
    package let key: SetKey
    /// Under what else a sidecar with a shortened name looks for it, or is looked for.
    package let shortKeys: [SetKey]
    /// Of a sidecar that is named after a whole name: that name, `IMG_1.CR3` of `IMG_1.CR3.xmp`.
    package let photo: BytePath?
    /// What follows the stem, or the whole name that it is named after, as it came: `.CR3`, `.xmp`.
    package let ending: [UInt8]

    /// The keys under which it is to be found.
    package var keys: [SetKey] { [key] + shortKeys }

    /// Reads the name of `path`, which is relative to the inbox.
    package init(_ path: BytePath) {
        name = path.name
        let directory = path.parent
        if let kind = SidecarKind(name: name.bytes.map(lowercased)) {
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
}

/// Apple gives the edited version of `IMG_0123` the name `IMG_E0123`, and its edits before the last the name
/// `IMG_O0123`; all belong to the photo.
private func withoutAppleMark(_ stem: [UInt8]) -> [UInt8] {
    guard stem.count == 9, stem.map(lowercased).begins(with: "img_"), stem[5...].allSatisfy(isDigit),
        [UInt8(ascii: "e"), UInt8(ascii: "o")].contains(lowercased(stem[4]))
    else { return stem }
    return Array(stem[..<4] + stem[5...])
}

/// A sidecar's name, taken apart.
private struct SidecarStem {
    /// The photo's stem, or what is left of its name where it was cut.
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
        switch kind {
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

/// Whether `name` bears the extension of a format that is filed.
func isPhotoName(_ name: [UInt8]) -> Bool {
    guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > 0 else { return false }
    return !PhotoFormat.formats(withExtension: name[(dot + 1)...].map(lowercased)).isEmpty
}
