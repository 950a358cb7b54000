import FileValues
import LinuxKernel

/// What a root's path led through when it was followed, by the watches on it: each directory and each symbolic link on
/// the way, the root itself left out, which its tree watches.
struct RootWay: Hashable, Sendable {
    /// A name that is missing, in the last directory that there is.
    struct Awaited: Hashable, Sendable {
        /// The watch of that directory, which tells what is made in it and moved into it.
        let watch: Int32
        let name: BytePath
    }

    /// What the path leads through. Each tells of its own move and end: nothing else can lead the path elsewhere but
    /// mounts, of which the mount table tells.
    var watches: Set<Int32> = []
    /// Where the path ends too early.
    var awaited: Awaited?
    /// Whether it led to a directory.
    var isWhole = false
    /// How many places on the way have no watch, since none is left or we may not read them: a change there is found
    /// by the next tick alone.
    var unwatched = 0
    /// Whether everything was found in its place after it was watched; false if it changed again and again meanwhile.
    var isSettled = false
    /// Watches that earlier tries set where the path does not lead through any more.
    var abandoned: Set<Int32> = []
}
