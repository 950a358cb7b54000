import FileValues
import LinuxKernel
import SystemMonitor
import SystemPackage

/// A file that is opened and closed to raise an event. Nothing is written, so no disk wakes.
///
/// On a queue of its own, since opening waits for the disk on which the file is; no event is expected meanwhile.
final class LivenessCookie: Sendable {
    private struct State {
        var watch: Int32?
        /// Open for writing; closing it raises the event.
        var file: HeldDescriptor?
        var hasEnded = false
    }

    /// Its name in the directory.
    static let name: BytePath = "watch.cookie"

    let queue: MonitorQueue
    private let directory: BytePath
    private let instance: InotifyInstance
    private let state: QueueBound<State>
    private let isAsked = Locked(false)

    init(label: String, directory: BytePath, instance: InotifyInstance) {
        queue = MonitorQueue(label: label)
        self.directory = directory
        self.instance = instance
        state = QueueBound(State(), queue: queue)
    }

    /// Opens it for writing, from any thread, so that closing it raises `closedAfterWriting` on a watch. Makes it, and
    /// watches it, where it is not there or another one is.
    ///
    /// `willRaise` is called with the watch, and a function that closes the file, to be called once the watch's records are
    /// expected; `failed` is called if it could not be opened; both on the cookie's queue. Without effect while the last call
    /// is under way.
    func touch(
        willRaise: @escaping @Sendable (_ watch: Int32, _ raise: @escaping @Sendable () -> Void) -> Void,
        failed: @escaping @Sendable (SystemCallError) -> Void
    ) {
        let isUnderWay = isAsked.withLock { !$0.set() }
        if isUnderWay { return }
        queue.async { [self] in
            do throws(SystemCallError) {
                let watch = try state.onQueue { state throws(SystemCallError) in try open(&state) }
                if let watch { willRaise(watch) { self.queue.async { self.raise() } } }
            } catch {
                isAsked.withLock { $0 = false }
                failed(error)
            }
        }
    }

    private func raise() {
        // Closed by dropping it.
        state.onQueue { $0.file = nil }
        isAsked.withLock { $0 = false }
    }

    /// The kernel removed its watch: the next call makes another.
    func loseWatch() { queue.async { self.state.onQueue { $0.watch = nil } } }

    /// Removes file and watch; from any thread.
    func end() {
        queue.async { [self] in
            state.onQueue { state in
                if let watch = state.watch { instance.removeWatch(watch) }
                state = State(hasEnded: true)
                if let parent = try? openDirectory(directory) { try? parent.unlink(Self.name) }
            }
        }
    }

    /// Its watch; nil after the end.
    private func open(_ state: inout State) throws(SystemCallError) -> Int32? {
        if state.hasEnded { return nil }
        let file = try open()
        // Each time: the watch is the same if and only if the file is. The cookie in a directory that was mounted over this
        // one may have the same inode number.
        let watch = try instance.addWatch(place: file, .closedAfterWriting)
        if let old = state.watch, old != watch { instance.removeWatch(old) }
        state.watch = watch
        state.file = HeldDescriptor(file)
        return watch
    }

    private func open() throws(SystemCallError) -> OwnedDescriptor {
        let parent = try openDirectory(directory)
        do throws(SystemCallError) {
            return try parent.openBeneath(Self.name, [.write, .nonBlocking])
        } catch  where error.code == .noSuchFileOrDirectory {
            return try parent.openBeneath(Self.name, [.write, .createNew, .nonBlocking], mode: 0o600)
        }
    }
}
