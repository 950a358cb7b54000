package import FileValues

/// The name that a file of a set has in the library, and where in it a number goes if names are taken.
package struct SetMemberName: Hashable, Sendable {
    package let name: BytePath
    /// How many of its bytes are the stem that all of the set share: the number follows them.
    package let stem: Int

    init(stem: some Collection<UInt8>, ending: some Collection<UInt8>) {
        name = BytePath(Array(stem) + Array(ending))
        self.stem = stem.count
    }
}

/// Which names the files of a set get, so that they are found together again: photos keep theirs, sidecars follow their
/// photo's.
package struct SetNaming: Sendable {
    /// A photo of the set, and what it is called in the library.
    private struct Photo {
        let original: SetName
        let stem: [UInt8]
        let ending: [UInt8]
    }

    private var photos: [Photo] = []

    /// A set whose photos had these names, of which some are filed already, under the second.
    package init(filed: [(original: BytePath, library: BytePath)] = []) {
        for photo in filed {
            let stem = photo.library.stem.bytes
            let original = SetName(photo.original)
            photos.append(
                Photo(
                    original: original, stem: stem, ending: Array(photo.library.name.bytes.dropFirst(stem.count))))
        }
    }

    /// The name of one more photo: its own, made safe; beside a filed one whose stem it shares, with the stem that
    /// that one has in the library.
    package mutating func name(photo: SetName) -> SetMemberName {
        let safe = SafeName(photo.name).candidate().bytes
        var stem = BytePath(safe).stem.bytes
        let ending = Array(safe.dropFirst(stem.count))
        if let other = photos.first(where: { $0.original.stem.sameFolded(photo.stem) }) { stem = other.stem }
        photos.append(Photo(original: photo, stem: stem, ending: ending))
        return SetMemberName(stem: stem, ending: ending)
    }

    /// The name of a sidecar: that of the photo that it is named after, or the stem of a photo that shares its own, and
    /// then what it came with. One that none of the set's photos fits keeps its name.
    package func name(sidecar: SetName) -> SetMemberName {
        let ending = SafeName(BytePath(Array("x".utf8) + sidecar.ending)).candidate().bytes.dropFirst()
        if let whole = sidecar.photo,
            let photo = photos.first(where: { $0.original.name.bytes.sameFolded(whole.bytes) })
        {
            return SetMemberName(stem: photo.stem, ending: photo.ending + ending)
        }
        if let short = sidecar.shortKeys.first,
            let photo = photos.first(where: { $0.original.shortKeys.contains(short) })
        {
            return SetMemberName(stem: photo.stem, ending: photo.ending + ending)
        }
        let own = sidecar.photo?.stem.bytes ?? sidecar.stem
        let rest = sidecar.photo.map { Array($0.bytes.dropFirst(own.count)) } ?? []
        if let photo = photos.first(where: { $0.original.stem.sameFolded(own) }) {
            return SetMemberName(stem: photo.stem, ending: rest + ending)
        }
        let safe = SafeName(sidecar.name).candidate().bytes
        let stem = BytePath(safe).stem.bytes
        return SetMemberName(stem: stem, ending: safe.dropFirst(stem.count))
    }
}

extension SetName {
    /// The name up to its ending.
    var stem: [UInt8] { Array(name.bytes.dropLast(ending.count)) }
}

extension Collection<UInt8> {
    /// Whether both are the same but for case and normalization.
    fileprivate func sameFolded(_ other: some Collection<UInt8>) -> Bool {
        elementsEqual(other) || SetKey.folded(self) == SetKey.folded(other)
    }
}
