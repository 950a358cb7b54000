import Glibc
import SystemPackage

/// Makes sure that so many files more can be opened, before there is a thread that has no way to say that it can't:
/// libdispatch ends a process whose descriptors ran out without a word. Raises the soft limit (RLIMIT_NOFILE) to the hard
/// one where that is needed.
///
/// Returns the limit where there is no room, in open files; nil where there is. Opens and closes that many for the trial;
/// any thread, but others may take what was free.
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
        // Whatever else stands against it is no matter of room.
        if file < 0 { return errno != EMFILE }
        opened.append(file)
    }
    return true
}
