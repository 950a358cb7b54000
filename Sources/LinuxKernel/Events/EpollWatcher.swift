import CLinux

/// The readiness of a descriptor to wait for; see epoll_ctl(2). Errors and hang-ups are always reported too.
public struct Readiness: OptionSet, Hashable, Sendable {
    /// The bits of epoll_ctl(2).
    public let rawValue: UInt32

    /// Bits of epoll_ctl(2).
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Readable, or at the end.
    public static let read = Readiness(rawValue: CLINUX_EPOLLIN)
    /// Writable.
    public static let write = Readiness(rawValue: CLINUX_EPOLLOUT)
    /// Urgent, as pressure files and the mount table report events.
    public static let urgent = Readiness(rawValue: CLINUX_EPOLLPRI)
    /// With the others: edge-triggered, once per wake-up by the kernel; see ``acknowledgeEdge(of:)``.
    public static let edge = Readiness(rawValue: CLINUX_EPOLLET)
}

/// Creates an epoll descriptor that is readable while `descriptor` is ready, has an error or has hung up.
///
/// It never hangs up itself. Its owner must close it before `descriptor`. Throws the error of epoll_ctl(2), such as
/// EPERM for a regular file or a directory, so success proves that the descriptor can be watched.
public func epollWatcher(
    of descriptor: borrowing OwnedDescriptor, _ readiness: Readiness
) throws(SystemCallError) -> OwnedDescriptor {
    let raw = descriptor.raw
    return try descriptorCall("epoll_ctl") { clinux_epoll_watching(raw, readiness.rawValue) }
}

/// Consumes the event of a watcher with ``Readiness/edge``: it is readable again after the next event.
public func acknowledgeEdge(of watcher: Int32) throws(SystemCallError) {
    try systemCall("epoll_wait") { clinux_epoll_take(watcher) }
}
