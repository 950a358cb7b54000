import CLinux

/// Which readiness of a descriptor is meant; see epoll_ctl(2). Errors and hang-ups are always reported besides.
public struct Readiness: OptionSet, Hashable, Sendable {
    /// The bits as epoll_ctl(2) has them.
    public let rawValue: UInt32

    /// Bits as epoll_ctl(2) has them.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Something can be read, or the end was reached.
    public static let read = Readiness(rawValue: CLINUX_EPOLLIN)
    /// Something can be written.
    public static let write = Readiness(rawValue: CLINUX_EPOLLOUT)
    /// Something urgent, as pressure files and the mount table report it.
    public static let urgent = Readiness(rawValue: CLINUX_EPOLLPRI)
    /// With the others: once for each time that the kernel wakes who waits, until it is taken by ``takeEdge(of:)``.
    public static let edge = Readiness(rawValue: CLINUX_EPOLLET)
}

/// Makes an epoll descriptor that is readable while `descriptor` is ready, has an error or was hung up. It never hangs up
/// itself. Closed before `descriptor` is, by its owner.
///
/// Throws what epoll_ctl(2) says, so it also proves that the descriptor can be watched: EPERM for a regular file or a
/// directory.
public func epollWatcher(
    of descriptor: borrowing OwnedDescriptor, _ readiness: Readiness
) throws(SystemCallError) -> OwnedDescriptor {
    let raw = descriptor.raw
    return try descriptorCall("epoll_ctl") { clinux_epoll_watching(raw, readiness.rawValue) }
}

/// Takes the event of a watcher with ``Readiness/edge``, given by its number: it is readable again after the next one.
public func takeEdge(of watcher: Int32) throws(SystemCallError) {
    try systemCall("epoll_wait") { clinux_epoll_take(watcher) }
}
