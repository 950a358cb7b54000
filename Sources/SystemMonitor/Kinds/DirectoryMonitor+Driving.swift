import CLinux
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

        init(queue: consuming OwnedDescriptor, turn: Duration) throws(SystemCallError) {
            var ends: [Int32] = [-1, -1]
            try systemCall("pipe2") { clinux_pipe(&ends) }
            bell = OwnedDescriptor(taking: ends[0])
            clapper = OwnedDescriptor(taking: ends[1])
            self.queue = queue
            self.turn = turn
        }

        /// The monitor has ended.
        func end() {
            var byte: UInt8 = 0
            write(clapper.raw, &byte, 1)
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
    ///   - gathers: Asked on the queue after each turn whether the next events should gather.
    public func drive(
        whileOpen descriptor: Int32, pause: Duration = .milliseconds(4), gathers: @Sendable () -> Bool = { false }
    ) {
        guard let driving else { preconditionFailure("a directory monitor that libdispatch waits for was driven") }
        let pause = Int32(clamping: max(1, pause.wholeNanoseconds / 1_000_000))
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
                let hasTaken = Self.drain(driving.queue.raw, core.outlet, for: driving.turn)
                return !core.isOpen || hasTaken && gathers()
            }
        }
    }
}
