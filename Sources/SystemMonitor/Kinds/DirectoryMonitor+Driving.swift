import CLinux
import Dispatch
import Glibc
import LinuxKernel
import SystemPackage

extension DirectoryMonitor {
    /// The descriptors of a monitor that a thread of its owner's drives: open until the monitor has ended and the thread
    /// has left, so that neither closes under the other.
    final class Driving: Sendable {
        let queue: OwnedDescriptor
        /// The two ends of a pipe, of which the first becomes readable when the monitor ends, so that the thread wakes.
        let bell: OwnedDescriptor
        private let clapper: OwnedDescriptor
        let turn: Duration
        private let instance: InotifyInstance
        /// A watch that tells of nothing but its own end, which wakes a thread that waits in read(2): of the pipe, whose
        /// inode nobody else can watch. Nil where there is none; then the thread waits in poll(2).
        private let lastWatch: Int32?
        private let hasRung = Locked(false)

        init(_ instance: InotifyInstance, turn: Duration) throws(SystemCallError) {
            var ends: [Int32] = [-1, -1]
            try systemCall("pipe2") { clinux_pipe(&ends) }
            bell = OwnedDescriptor(taking: ends[0])
            clapper = OwnedDescriptor(taking: ends[1])
            queue = try instance.duplicate()
            self.instance = instance
            self.turn = turn
            // Refused where the user's watches ran out, or without /proc.
            let watch = try? instance.addWatch(place: bell, .movedSelf)
            let flags = fcntl(queue.raw, F_GETFL)
            let canWait = watch != nil && flags >= 0 && fcntl(queue.raw, F_SETFL, flags & ~O_NONBLOCK) == 0
            lastWatch = canWait ? watch : nil
        }

        /// Whether reading the queue waits for records.
        var waitsInRead: Bool { lastWatch != nil }
        /// Whether the thread is to leave.
        var isOver: Bool { hasRung.withLock { $0 } }

        /// Has the thread leave, wherever it waits.
        func end() {
            let isFirst = hasRung.withLock { hasRung in
                defer { hasRung = true }
                return !hasRung
            }
            guard isFirst else { return }
            var byte: UInt8 = 0
            write(clapper.raw, &byte, 1)
            if let lastWatch { instance.removeWatch(lastWatch) }
        }
    }

    /// Waits for events with the calling thread and has them handled on the monitor's queue, one thread change after they
    /// came, until `descriptor` has nobody at its other end any more (POLLERR or POLLHUP, as a pipe's reader that went
    /// away) or the monitor has ended. For monitors that were made with ``Waiting/driver``; traps for others.
    ///
    /// On a thread that is no queue's, and on one at a time: a queue's thread must not wait.
    ///
    /// - Parameters:
    ///   - pause: How long events gather after a turn that asked for it, or while the handler may not run.
    ///   - early: Asked on the calling thread before a few records are handed over, which are all that waited: true if it
    ///     took them itself, so that the handler is not to have them. They are not counted then.
    ///   - gathers: Asked on the queue after each turn whether the next events should gather.
    public func drive(
        whileOpen descriptor: Int32, pause: Duration = .milliseconds(4),
        early: @Sendable (UnsafeRawBufferPointer) -> Bool = { _ in false }, gathers: @Sendable () -> Bool = { false }
    ) {
        guard let driving else { preconditionFailure("a directory monitor that libdispatch waits for was driven") }
        let pause = Int32(clamping: max(1, pause.wholeNanoseconds / 1_000_000))
        let other = driving.waitsInRead ? OtherEnd(of: descriptor, queue: queue, hungUp: { driving.end() }) : nil
        defer { other?.forget() }
        if let other, other.isKnown {
            driveReading(driving, pause, early, gathers)
        } else {
            drivePolling(driving, whileOpen: descriptor, pause, gathers)
        }
    }

    /// Waits in read(2): one system call for each turn, which is what poll(2) alone costs at a low rate.
    private func driveReading(
        _ driving: Driving, _ pause: Int32, _ early: (UnsafeRawBufferPointer) -> Bool, _ gathers: () -> Bool
    ) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: DirectoryEvents.readSize, alignment: 8)
        defer { buffer.deallocate() }
        var bell = pollfd(fd: driving.bell.raw, events: Int16(POLLIN), revents: 0)
        while true {
            // What is not to be handled stays in the kernel.
            while !queue.sync({ core.isOpen }) {
                if poll(&bell, 1, pause) > 0 { return }
            }
            var isResting = false
            while !isResting {
                let size = read(driving.queue.raw, buffer.baseAddress, buffer.count)
                if driving.isOver { return }
                if size < 0, errno == EINTR { continue }
                let failure = size < 0 ? Errno(rawValue: errno) : nil
                let records = UnsafeRawBufferPointer(rebasing: buffer[..<max(0, size)])
                if size > 0, size <= 2 * InotifyInstance.smallestBuffer, early(records) { continue }
                isResting = queue.sync {
                    if let failure { core.outlet.fail(SystemCallError("read", failure)) }
                    guard size > 0 else { return true }
                    let events = DirectoryEvents(records)
                    core.outlet.deliver(events)
                    return !core.isOpen || events.isAll && gathers()
                }
            }
            if poll(&bell, 1, pause) > 0 { return }
        }
    }

    private func drivePolling(
        _ driving: Driving, whileOpen descriptor: Int32, _ pause: Int32, _ gathers: () -> Bool
    ) {
        if driving.waitsInRead {
            let flags = fcntl(driving.queue.raw, F_GETFL)
            if flags >= 0 { _ = fcntl(driving.queue.raw, F_SETFL, flags | O_NONBLOCK) }
        }
        var isResting = false
        var polled = [
            pollfd(fd: descriptor, events: 0, revents: 0),
            pollfd(fd: driving.bell.raw, events: Int16(POLLIN), revents: 0),
            pollfd(fd: driving.queue.raw, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            // While events gather the kernel's queue is left out, since it is ready all the time.
            polled[2].fd = isResting ? -1 : driving.queue.raw
            let count = poll(&polled, nfds_t(polled.count), isResting ? pause : -1)
            if count < 0 {
                if errno == EINTR { continue }
                fatalError("poll: \(Errno(rawValue: errno))")
            }
            if polled[0].revents != 0 || polled[1].revents != 0 { return }
            isResting = queue.sync {
                guard core.isOpen else { return true }
                let hasTaken = DirectoryEvents.drain(driving.queue.raw, core.outlet, for: driving.turn)
                return !core.isOpen || hasTaken && gathers()
            }
        }
    }
}

/// Tells when nobody is at the other end of a descriptor any more.
private final class OtherEnd: Sendable {
    /// Whether it will be told, or the descriptor is of a kind that has no other end.
    let isKnown: Bool
    private let source: DispatchSource?

    init(of descriptor: Int32, queue: MonitorQueue, hungUp: @escaping @Sendable () -> Void) {
        // libdispatch must not see what can hang up, but an epoll descriptor that watches it.
        let epoll = clinux_epoll_watching(descriptor, 0)
        guard epoll >= 0 else {
            source = nil
            isKnown = errno == EPERM
            return
        }
        isKnown = true
        source = startSource(
            DispatchSource.makeReadSource(fileDescriptor: epoll, queue: queue.dispatchQueue), fired: hungUp,
            registered: {}, cancelled: { close(epoll) })
    }

    func forget() { source?.cancel() }
}
