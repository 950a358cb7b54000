import CLinux
import Glibc
import SystemPackage

/// Runs `body` on a new thread, which ends with it; nobody waits for that. For work that needs what threads of
/// libdispatch do not have, such as a ``ThreadDirectory``.
///
/// The thread blocks all signals but those that a fault of its own raises, so that no handler and no default action
/// happens on it. `name` is what tools show, cut to 15 bytes; see pthread_setname_np(3). Throws EAGAIN where no thread
/// is to be had.
public func startThread(named name: String, _ body: @escaping @Sendable () -> Void) throws(SystemCallError) {
    var blocked = sigset_t()
    sigfillset(&blocked)
    for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS] { sigdelset(&blocked, fault) }
    let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
    var thread = pthread_t()
    // A thread begins with the mask of the one that makes it: so it is never open to a signal.
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

/// What a thread is given.
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
