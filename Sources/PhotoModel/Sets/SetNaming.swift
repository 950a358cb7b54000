package import FileValues

/// The library name of a file of a set, and the place in it for a number if names are in use.
package struct SetMemberName: Hashable, Sendable {
    package let name: BytePath
    /// The length in bytes of the set's common stem, which the number follows.
    package let stem: Int

    init(stem: some Collection<UInt8>, ending: some Collection<UInt8>) {
        name = BytePath(Array(stem) + Array(ending))
        self.stem = stem.count
    }
}

/// Names the files of a set so that they stay together: photos keep their names, sidecars follow their photo's.
package struct SetNaming: Sendable {
    /// A photo of the set and its library name.
    private struct Photo {
        let original: SetName
        let stem: [UInt8]
        let ending: [UInt8]
        var isFiled = false
    }

    private var photos: [Photo] = []

    /// A set with the photos that are filed already, by their original and library names.
    package init(filed: [(original: BytePath, library: BytePath)] = []) {
        for photo in filed {
            let stem = photo.library.stem.bytes
            let original = SetName(photo.original)
            photos.append(
                Photo(
                    original: original, stem: stem, ending: Array(photo.library.name.bytes.dropFirst(stem.count)),
                    isFiled: true))
        }
    }

    /// The name of a further photo: its own, made safe, with the library stem of a filed photo if their stems are
    /// equal.
    package mutating func name(photo: SetName) -> SetMemberName {
        let safe = SafeName(photo.name).candidate().bytes
        var stem = BytePath(safe).stem.bytes
        let ending = Array(safe.dropFirst(stem.count))
        if let other = photos.first(where: { $0.original.stem.sameFolded(photo.stem) }) { stem = other.stem }
        photos.append(Photo(original: photo, stem: stem, ending: ending))
        return SetMemberName(stem: stem, ending: ending)
    }

    /// The name of a sidecar: the name of its photo, or the stem of a photo with an equal stem, and its own ending.
    /// Without such a photo in the set it keeps its name. A number follows the name of a photo that is filed already:
    /// `a.jpg-2.xmp`, since `a-2.jpg.xmp` is that of `a-2.jpg`, and `a.nef.xmp` instead of `a.xmp` if that `isTaken`.
    package func name(sidecar: SetName, isTaken: (BytePath) -> Bool = { _ in false }) -> SetMemberName {
        let ending = SafeName(BytePath(Array("x".utf8) + sidecar.ending)).candidate().bytes.dropFirst()
        if let whole = sidecar.photo,
            let photo = photos.first(where: { $0.original.name.bytes.sameFolded(whole.bytes) })
        {
            return name(of: sidecar, after: photo, photo.ending, ending, isTaken)
        }
        if let short = sidecar.shortKeys.first,
            let photo = photos.first(where: { $0.original.shortKeys.contains(short) })
        {
            return SetMemberName(stem: photo.stem, ending: photo.ending + ending)
        }
        let own = sidecar.photo?.stem.bytes ?? sidecar.stem
        let rest = sidecar.photo.map { Array($0.bytes.dropFirst(own.count)) } ?? []
        let named = photos.filter { $0.original.stem.sameFolded(own) }
        // Programs look for `a.xmp` beside a raw photo.
        if let photo = named.first(where: { rest.isEmpty && $0.original.role == .raw }) ?? named.first {
            let isLong =
                photo.isFiled && rest.isEmpty && ending.elementsEqual(".xmp".utf8)
                && isTaken(BytePath(photo.stem + ending))
            return name(of: sidecar, after: photo, isLong ? photo.ending : rest, ending, isTaken)
        }
        let safe = SafeName(sidecar.name).candidate().bytes
        let stem = BytePath(safe).stem.bytes
        return SetMemberName(stem: stem, ending: safe.dropFirst(stem.count))
    }

    private func name(
        of sidecar: SetName, after photo: Photo, _ format: [UInt8], _ ending: some Collection<UInt8>,
        _ isTaken: (BytePath) -> Bool
    ) -> SetMemberName {
        guard photo.isFiled, sidecar.role == .sidecar(.xmp) else {
            return SetMemberName(stem: photo.stem, ending: format + ending)
        }
        let stem = photo.stem + format
        guard isTaken(BytePath(stem + ending)) else { return SetMemberName(stem: stem, ending: ending) }
        // A number of its own, so that the set needs none: its photos keep their names.
        let plain = ending.drop { $0 != UInt8(ascii: ".") }
        let free = (2...Self.mostNumbers).lazy.map { Array("-\($0)".utf8) + plain }
            .first { !isTaken(BytePath(stem + $0)) }
        return SetMemberName(stem: stem, ending: free ?? Array(ending))
    }

    /// How many sidecars of one photo get a number of their own, before that of the set.
    private static let mostNumbers = 100
}

extension SetName {
    /// The name up to its ending.
    var stem: [UInt8] { Array(name.bytes.dropLast(ending.count)) }
}

extension Collection<UInt8> {
    /// Whether both are equal except for case and normalization.
    fileprivate func sameFolded(_ other: some Collection<UInt8>) -> Bool {
        elementsEqual(other) || SetKey.folded(self) == SetKey.folded(other)
    }
}
