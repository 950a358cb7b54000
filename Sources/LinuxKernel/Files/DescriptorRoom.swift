import Glibc
import SystemPackage

/// Ensures that `count` more files can be opened; raises the soft limit (RLIMIT_NOFILE) to the hard one if necessary.
///
/// To be called at start-up: libdispatch ends a process that runs out of descriptors without a message. Returns nil on
/// success, otherwise the limit in open files. Opens and closes that many files as a test; other threads may use the
/// free ones afterwards.
public func limitWithoutRoom(forDescriptors count: Int) -> UInt64? {
    if hasRoom(forDescriptors: count) { return nil }
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
    let old = UInt64(limit.rlim_cur)
    guard limit.rlim_cur < limit.rlim_max else { return old }
    limit.rlim_cur = limit.rlim_max
    guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, hasRoom(forDescriptors: count) else {
        return UInt64(limit.rlim_max)
    }
    return nil
}

private func hasRoom(forDescriptors count: Int) -> Bool {
    var opened: [Int32] = []
    defer { for file in opened { close(file) } }
    while opened.count < count {
        let file = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // Any other error is not about the limit.
        if file < 0 { return errno != EMFILE }
        opened.append(file)
    }
    return true
}
