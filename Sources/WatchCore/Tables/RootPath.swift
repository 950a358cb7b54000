package import FileValues

/// The directories and symbolic links that a root's path leads through, by the watches on them. The root itself is left
/// out: its tree watches it.
package struct RootPath: Hashable, Sendable {
    /// A name that does not exist, in the last directory of the path that does.
    package struct MissingName: Hashable, Sendable {
        /// That directory's watch, which reports what is made in it and moved into it.
        package let watch: Int32
        package let name: BytePath

        package init(watch: Int32, name: BytePath) {
            self.watch = watch
            self.name = name
        }
    }

    /// The watches on the path. Each reports its inode's own move and deletion; besides these only mounts, which the mount
    /// table shows, can lead the path elsewhere.
    package var watches: Set<Int32> = []
    /// Where the path ends too early.
    package var missing: MissingName?
    /// Whether the path leads to a directory.
    package var isComplete = false
    /// How many places have no watch, since none was left or permission was denied: only ticks detect a change there.
    package var unwatched = 0
    /// Whether every place was found again once it was watched; false if the path went on changing.
    package var isStable = false
    /// Watches that earlier attempts set where the path does not lead through any more.
    package var abandoned: Set<Int32> = []

    package init(
        watches: Set<Int32> = [], missing: MissingName? = nil, isComplete: Bool = false, unwatched: Int = 0,
        isStable: Bool = false, abandoned: Set<Int32> = []
    ) {
        self.watches = watches
        self.missing = missing
        self.isComplete = isComplete
        self.unwatched = unwatched
        self.isStable = isStable
        self.abandoned = abandoned
    }
}
