package import FileValues

/// How long the writers of one inbox pause in the middle of a file, as far as was seen: where nothing but quiet shows that
/// a file is complete, the window must be longer than that. Pure.
package struct QuietPace: Hashable, Sendable {
    /// No window grows beyond this, in seconds: a pause that is longer is a new beginning.
    static let longest = 120.0
    /// How many of the last pauses count.
    static let remembered = 64

    private var pauses: [Double] = []
    private var next = 0

    package init() {}

    /// A file that was being waited for has changed: the time between its last two writes was a pause in the middle.
    package mutating func changed(from before: FileIdentity, to after: FileIdentity) {
        let pause =
            Double(after.modified.seconds - before.modified.seconds)
            + (Double(after.modified.nanoseconds) - Double(before.modified.nanoseconds)) / 1e9
        // Times that a program sets say nothing of when it wrote.
        guard before.inode == after.inode, pause > 0, pause <= Self.longest else { return }
        if pauses.count < Self.remembered { pauses.append(pause) } else { pauses[next] = pause }
        next = (next + 1) % Self.remembered
    }

    /// The window to wait for, where `least` is wanted at least: twice the longest pause.
    package func window(_ least: Duration) -> Duration {
        guard let pause = pauses.max() else { return least }
        return max(least, .seconds(min(Self.longest, 2 * pause)))
    }
}

extension QuietWindows {
    /// The same for an inbox whose writers pause so.
    package func adapted(to pace: QuietPace) -> QuietWindows {
        QuietWindows(
            local: pace.window(local), remote: pace.window(remote), writerRetry: writerRetry, patience: patience)
    }
}
