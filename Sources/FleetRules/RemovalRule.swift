/// Who removes a final name from the library, and when. (An undo does not remove: it moves.)
package enum RemovalRule {
    /// `isOwn`: this host made the copy, and its intent of it is lost. `recorded` is where the content's photo is, seen from
    /// the copy, and `other` what was read there just now.
    package static func mayRemove(isOwn: Bool, recorded: RecordedPlace, other: Standing) -> Bool {
        isOwn && recorded == .elsewhere && other == .whole
    }
}
