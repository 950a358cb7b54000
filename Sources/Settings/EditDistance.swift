/// The candidate that `word` is most likely a misspelling of; nil if none is near.
///
/// Near is: at most a third of its letters added, left out, changed or swapped with their neighbour, ignoring case,
/// and treating `_` as `-`. Pure.
package func likelyMeaning(of word: String, among candidates: [String]) -> String? {
    let plain = { (text: String) in text.lowercased().map { $0 == "_" ? "-" : $0 } }
    let wanted = plain(word)
    // Names are short, so a very long word is not a misspelling, and the comparison is quadratic.
    guard wanted.count <= 64 else { return nil }
    return candidates.map { ($0, editDistance(wanted, plain($0))) }
        .filter { $0.1 <= max(1, max(wanted.count, $0.0.count) / 3) && $0.1 < wanted.count }
        .min { $0.1 < $1.1 }?.0
}

/// The restricted Damerau-Levenshtein distance: additions, removals, changes, and swaps of neighbours.
func editDistance(_ left: [Character], _ right: [Character]) -> Int {
    var beforePrevious: [Int] = []
    var previous = Array(0...right.count)
    for i in left.indices {
        var row = [i + 1]
        for j in right.indices {
            var best = min(previous[j + 1] + 1, row[j] + 1, previous[j] + (left[i] == right[j] ? 0 : 1))
            if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                best = min(best, beforePrevious[j - 1] + 1)
            }
            row.append(best)
        }
        beforePrevious = previous
        previous = row
    }
    return previous[right.count]
}
