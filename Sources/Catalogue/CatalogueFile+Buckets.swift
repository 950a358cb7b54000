import FileValues
import PhotoModel

extension CatalogueFile {
    /// The condition on photos in buckets; the argument is ``notInBucket``.
    static func isInBucket(_ photo: String = "photo") -> String {
        "\(photo).superseded_at IS NULL AND substr(\(photo).library, 1, 1) <> ?"
    }

    /// How the path of a library begins.
    static let notInBucket: BytePath = "/"

    /// Whether a sidecar of a library, with the bytes of one that is in a bucket, is that one. `photos` are those of its set that
    /// are in the library. Others may have sidecars with the same bytes.
    static func isBack(_ path: BytePath, from old: BytePath, beside photos: [BytePath]) -> Bool {
        if path == old { return !photos.isEmpty }
        let name = SetName(path)
        return photos.contains { photo in
            guard photo.parent == path.parent else { return false }
            return path.name == old.name
                || name.belongs(to: photo.name) && !Set(name.keys).isDisjoint(with: SetName(photo).keys)
        }
    }
}
