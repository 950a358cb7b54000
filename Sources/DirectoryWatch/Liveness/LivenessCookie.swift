import FileValues
import LinuxKernel
import SystemMonitor
import SystemPackage

/// A file that is opened and closed so that an event comes, and nothing else: nothing is written, so no disk wakes and
/// nothing is synced away.
///
/// On a queue of its own, since opening waits as long as the disk does on which the file is; then it is asked nothing,
/// and owes nothing.
final class LivenessCookie: Sendable {
    private struct State {
        var watch: Int32?
        /// Open for writing; closing it raises the event.
        var file: SharedDescriptor?
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
    /// `willRaise` is given the watch, and what to call as soon as its events are listened to: that closes the file. Or
    /// `failed` is told why it can't be; both on the cookie's queue. Nothing is done while the last time is under way.
    func touch(
        willRaise: @escaping @Sendable (_ watch: Int32, _ raise: @escaping @Sendable () -> Void) -> Void,
        failed: @escaping @Sendable (SystemCallError) -> Void
    ) {
        let isUnderWay = isAsked.withLock { isAsked in
            defer { isAsked = true }
            return isAsked
        }
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

    /// The kernel dropped its watch: the next touch makes another.
    func loseWatch() { queue.async { self.state.onQueue { $0.watch = nil } } }

    /// Takes file and watch away; from any thread.
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
        // Each time: it is the same watch for the same file, and nothing else tells two files apart for certain. What is
        // mounted over the directory may give its cookie the same inode number.
        let watch = try instance.addWatch(place: file, .closedAfterWriting)
        if let old = state.watch, old != watch { instance.removeWatch(old) }
        state.watch = watch
        state.file = SharedDescriptor(file)
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
