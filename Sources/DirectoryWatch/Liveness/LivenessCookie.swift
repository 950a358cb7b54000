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

    /// Opens it for writing and closes it, which raises `closedAfterWriting` on a watch; from any thread. Makes it, and
    /// watches it, where it is not there or another one is.
    ///
    /// `willTouch` is given the watch right before the event is raised, or `failed` why it can't be; on the cookie's
    /// queue. Nothing is done while the last time is under way.
    func touch(
        willTouch: @escaping @Sendable (Int32) -> Void, failed: @escaping @Sendable (SystemCallError) -> Void
    ) {
        let isUnderWay = isAsked.withLock { isAsked in
            defer { isAsked = true }
            return isAsked
        }
        if isUnderWay { return }
        queue.async { [self] in
            state.onQueue { state in
                do throws(SystemCallError) { try touch(&state, willTouch) } catch { failed(error) }
            }
            isAsked.withLock { $0 = false }
        }
    }

    /// The kernel dropped its watch: the next touch makes another.
    func loseWatch() { queue.async { self.state.onQueue { $0.watch = nil } } }

    /// Takes file and watch away; from any thread.
    func end() {
        queue.async { [self] in
            state.onQueue { state in
                if let watch = state.watch { instance.removeWatch(watch) }
                state = State(watch: nil, hasEnded: true)
                if let parent = try? openDirectory(directory) { try? parent.remove(Self.name) }
            }
        }
    }

    private func touch(_ state: inout State, _ willTouch: (Int32) -> Void) throws(SystemCallError) {
        if state.hasEnded { return }
        let file = try open()
        // Each time: it is the same watch for the same file, and nothing else tells two files apart for certain. What is
        // mounted over the directory may give its cookie the same inode number.
        let watch = try instance.addWatch(place: file, .closedAfterWriting)
        if let old = state.watch, old != watch { instance.removeWatch(old) }
        state.watch = watch
        willTouch(watch)
        try file.close()
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
