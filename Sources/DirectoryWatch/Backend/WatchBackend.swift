import FileValues
import LinuxKernel

/// The source of watches on directories. Called on the roots' queues, and by threads that work for a turn there; any of
/// these may hang in a call.
protocol WatchBackend: Sendable {
    /// Watches an open directory, whatever its path is by now, and returns the number of its records. Each directory has one
    /// number, as with inotify_add_watch(2). Throws if it can't be watched: the directory is polled then. `place` is the
    /// calling thread's own, which saves time where there is one.
    func addWatch(directory: borrowing OwnedDescriptor, by place: ThreadDirectory?) throws(SystemCallError) -> Int32
    /// Removes a watch; a record `ignored` may follow. False if there is none with that number any more.
    @discardableResult
    func removeWatch(_ watch: Int32) -> Bool
    /// How many bytes of records are in the kernel's queue.
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
