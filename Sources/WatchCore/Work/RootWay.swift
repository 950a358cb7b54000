package import FileValues

/// What a root's path led through when it was followed, by the watches on it: each directory and each symbolic link on
/// the way, the root itself left out, which its tree watches.
package struct RootWay: Hashable, Sendable {
    /// A name that is missing, in the last directory that there is.
    package struct Awaited: Hashable, Sendable {
        /// The watch of that directory, which tells what is made in it and moved into it.
        package let watch: Int32
        package let name: BytePath

        package init(watch: Int32, name: BytePath) {
            self.watch = watch
            self.name = name
        }
    }

    /// What the path leads through. Each tells of its own move and end: nothing else can lead the path elsewhere but
    /// mounts, of which the mount table tells.
    package var watches: Set<Int32> = []
    /// Where the path ends too early.
    package var awaited: Awaited?
    /// Whether it led to a directory.
    package var isWhole = false
    /// How many places on the way have no watch, since none is left or we may not read them: a change there is found
    /// by the next tick alone.
    package var unwatched = 0
    /// Whether everything was found in its place after it was watched; false if it changed again and again meanwhile.
    package var isSettled = false
    /// Watches that earlier tries set where the path does not lead through any more.
    package var abandoned: Set<Int32> = []

    package init(
        watches: Set<Int32> = [], awaited: Awaited? = nil, isWhole: Bool = false, unwatched: Int = 0,
        isSettled: Bool = false, abandoned: Set<Int32> = []
    ) {
        self.watches = watches
        self.awaited = awaited
        self.isWhole = isWhole
        self.unwatched = unwatched
        self.isSettled = isSettled
        self.abandoned = abandoned
    }
}
