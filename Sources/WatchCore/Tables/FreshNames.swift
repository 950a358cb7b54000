package import FileValues

/// Files that were made a moment ago, of which nothing is known. They are looked at in a moment: most are closed before, and
/// one look does for both events.
package struct FreshNames {
    /// The one that was made last, whose close is the next event as a rule: so a burst needs no table.
    private var latest: (key: DirtyNames.Key, mask: InotifyMask)?
    private var others: [DirtyNames.Key: (mask: InotifyMask, isOld: Bool)] = [:]

    package var isEmpty: Bool { latest == nil && others.isEmpty }

    package var keys: [DirtyNames.Key] { others.keys + (latest.map { [$0.key] } ?? []) }

    package mutating func add(_ key: DirtyNames.Key, _ mask: InotifyMask) {
        if let latest, latest.key != key { others[latest.key] = (latest.mask, false) }
        if !others.isEmpty { others[key] = nil }
        latest = (key, mask)
    }

    /// The events of one, which is none any more; nil if it was none.
    package mutating func take(_ key: DirtyNames.Key) -> InotifyMask? {
        if let latest, latest.key == key {
            self.latest = nil
            return latest.mask
        }
        return others.isEmpty ? nil : others.removeValue(forKey: key)?.mask
    }

    /// Those that were there at the call before.
    package mutating func age() -> [DirtyNames.Key] {
        let due = others.filter(\.value.isOld).map(\.key)
        for key in others.keys { others[key]?.isOld = true }
        if let latest { others[latest.key] = (latest.mask, true) }
        latest = nil
        return due
    }
}
