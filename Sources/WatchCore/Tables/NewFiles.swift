import FileValues

/// Files that were made a moment ago, and have to be looked up in a moment.
///
/// Most are closed before, and one lookup serves for both events. Those that were linked while they were being written are
/// looked up twice: in a moment and in the next.
struct NewFiles {
    /// The one that was made last, whose close is the next event as a rule: so a burst needs no table.
    private var latest: (key: DirtyNames.Key, mask: InotifyMask)?
    private var others: [DirtyNames.Key: (mask: InotifyMask, isOld: Bool)] = [:]
    /// Files that may have been linked while they were being written, and how often they were looked up since.
    private var linked: [DirtyNames.Key: Int] = [:]

    /// Whether none was made a moment ago.
    var isEmpty: Bool { latest == nil && others.isEmpty }

    /// Whether something waits for ``age()``.
    var isWaiting: Bool { !isEmpty || !linked.isEmpty }

    /// Those that were made a moment ago.
    var keys: [DirtyNames.Key] { others.keys + (latest.map { [$0.key] } ?? []) }

    var names: [NameID] { keys.map(\.name) + linked.keys.map(\.name) }

    mutating func add(_ key: DirtyNames.Key, _ mask: InotifyMask) {
        if let latest, latest.key != key { others[latest.key] = (latest.mask, false) }
        if !others.isEmpty { others[key] = nil }
        latest = (key, mask)
    }

    mutating func addLinked(_ key: DirtyNames.Key) { linked[key] = 0 }

    /// Returns the events of one that was made a moment ago; nil if it was not, or is not among them any more.
    mutating func remove(_ key: DirtyNames.Key) -> InotifyMask? {
        if let latest, latest.key == key {
            self.latest = nil
            return latest.mask
        }
        return others.isEmpty ? nil : others.removeValue(forKey: key)?.mask
    }

    /// Returns those that were made before the last call, and all that were linked.
    mutating func age() -> (made: [DirtyNames.Key], linked: [DirtyNames.Key]) {
        let due = others.filter(\.value.isOld).map(\.key)
        for key in others.keys { others[key]?.isOld = true }
        if let latest { others[latest.key] = (latest.mask, true) }
        latest = nil
        let links = Array(linked.keys)
        for key in links { linked[key] = linked[key] == 0 ? 1 : nil }
        return (due, links)
    }
}
