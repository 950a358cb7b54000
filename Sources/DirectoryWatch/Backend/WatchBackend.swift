import FileValues
import LinuxKernel

/// Where watches on directories come from. Called on the roots' queues, and by threads that take part in a turn there, of
/// which any may hang in it.
protocol WatchBackend: Sendable {
    /// Watches an open directory, whatever its path is by now, and returns the number that its records will carry. The
    /// same directory has one number, as with inotify_add_watch(2). Throws where it can't be watched: the directory is
    /// polled then. `place` is the calling thread's own, which saves time where there is one.
    func addWatch(directory: borrowing OwnedDescriptor, by place: ThreadDirectory?) throws(SystemCallError) -> Int32
    /// Gives a watch up; a record `ignored` may follow. False if there is none by that number any more.
    @discardableResult
    func removeWatch(_ watch: Int32) -> Bool
    /// How many bytes of records the kernel holds that nobody has read yet.
    var queuedBytes: Int { get }
}

/// No watches at all, because there was no instance for them: everything is polled.
struct NoWatches: WatchBackend {
    let reason: SystemCallError
    let queuedBytes = 0

    func addWatch(directory: borrowing OwnedDescriptor, by place: ThreadDirectory?) throws(SystemCallError) -> Int32 {
        throw reason
    }

    func removeWatch(_ watch: Int32) -> Bool { false }
}

/// Watches of an inotify(7) instance, all with one mask.
struct InotifyBackend: WatchBackend {
    let instance: InotifyInstance
    let mask: InotifyMask

    func addWatch(directory: borrowing OwnedDescriptor, by place: ThreadDirectory?) throws(SystemCallError) -> Int32 {
        try instance.addWatch(directory: directory, mask, by: place)
    }

    func removeWatch(_ watch: Int32) -> Bool { instance.removeWatch(watch) }

    // It fails only once the instance has ended: nothing is read any more.
    var queuedBytes: Int { (try? instance.queuedBytes()) ?? 0 }
}
