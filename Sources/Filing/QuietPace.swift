package import FileValues

/// The observed pauses of an inbox's writers within a file. Where only quiet shows that a file is complete, the window
/// must be longer than these. Pure.
package struct QuietPace: Hashable, Sendable {
    /// The longest window, in seconds; a longer pause counts as a new write.
    static let longest = 120.0
    /// The number of recent pauses that count.
    static let capacity = 64

    private var pauses: [Double] = []
    private var next = 0

    package init() {}

    /// Records that a file changed during its quiet window: the time between its last two writes is a pause.
    package mutating func changed(from before: FileIdentity, to after: FileIdentity) {
        let pause =
            Double(after.modified.seconds - before.modified.seconds)
            + (Double(after.modified.nanoseconds) - Double(before.modified.nanoseconds)) / 1e9
        // Times that a program set do not show when it wrote.
        guard before.inode == after.inode, pause > 0, pause <= Self.longest else { return }
        if pauses.count < Self.capacity { pauses.append(pause) } else { pauses[next] = pause }
        next = (next + 1) % Self.capacity
    }

    /// Returns the window to use: twice the longest pause, but at least `least`.
    package func window(_ least: Duration) -> Duration {
        guard let pause = pauses.max() else { return least }
        return max(least, .seconds(min(Self.longest, 2 * pause)))
    }
}

extension QuietWindows {
    /// Returns the windows for an inbox with these pauses.
    package func adapted(to pace: QuietPace) -> QuietWindows {
        QuietWindows(
            local: pace.window(local), remote: pace.window(remote), writerRetry: writerRetry, patience: patience)
    }
}
