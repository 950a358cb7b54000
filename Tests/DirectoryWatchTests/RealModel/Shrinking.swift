/// A shorter sequence with the same fault, by leaving out: first halves, then smaller and smaller parts, then single
/// steps, until nothing more can go. `fails` is asked again and again; it may stop it by saying no from some time on.
func shrink<Step>(_ steps: [Step], while fails: ([Step]) -> Bool) -> [Step] {
    var best = steps
    var size = max(1, best.count / 2)
    while true {
        var start = 0
        var hasShrunk = false
        while start < best.count {
            var shorter = best
            shorter.removeSubrange(start..<min(start + size, best.count))
            if fails(shorter) {
                best = shorter
                hasShrunk = true
            } else {
                start += size
            }
        }
        if size == 1, !hasShrunk { return best }
        if !hasShrunk || size > 1 { size = max(1, size / 2) }
    }
}
