import CLinux
import Glibc
import SystemPackage

/// Runs `body` on a new detached thread, for work that a thread of libdispatch cannot do, such as with a
/// ``ThreadDirectory``.
///
/// The thread blocks all signals except those of its own faults, so that no handler or default action runs on it.
/// `name` is shown by tools, cut to 15 bytes; see pthread_setname_np(3). Throws EAGAIN if no thread can be created.
public func startThread(named name: String, _ body: @escaping @Sendable () -> Void) throws(SystemCallError) {
    var blocked = sigset_t()
    sigfillset(&blocked)
    for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS] { sigdelset(&blocked, fault) }
    let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
    var thread = pthread_t()
    // A thread inherits its creator's mask, so it never receives a signal.
    var before = sigset_t()
    pthread_sigmask(SIG_SETMASK, &blocked, &before)
    let code = pthread_create(
        &thread, nil,
        { argument in
            argument.map { Unmanaged<ThreadStart>.fromOpaque($0).takeRetainedValue().run() }
            return nil
        }, start.toOpaque())
    pthread_sigmask(SIG_SETMASK, &before, nil)
    guard code == 0 else {
        start.release()
        throw SystemCallError("pthread_create", Errno(rawValue: code))
    }
    pthread_detach(thread)
}

/// A thread's argument.
private final class ThreadStart: Sendable {
    private let name: String
    private let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }

    func run() {
        clinux_name_thread(String(decoding: name.utf8.prefix(15), as: UTF8.self))
        body()
    }
}
