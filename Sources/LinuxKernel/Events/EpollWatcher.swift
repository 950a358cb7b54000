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

/// Makes a watcher of ``epollWatcher(of:_:)`` watch `descriptor`, too; until either is closed.
public func epollWatch(
    _ descriptor: borrowing OwnedDescriptor, _ readiness: Readiness, with watcher: borrowing OwnedDescriptor
) throws(SystemCallError) {
    let (epoll, raw) = (watcher.raw, descriptor.raw)
    try systemCall("epoll_ctl") { clinux_epoll_add(epoll, raw, readiness.rawValue) }
}
