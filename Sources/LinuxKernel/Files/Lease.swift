import CLinux
import Glibc
public import SystemPackage

/// What the kernel answered when asked for a read lease.
public enum LeaseAnswer: Hashable, Sendable {
    /// Given, and given back: nobody had the file open for writing, or mapped so.
    case granted
    /// EAGAIN: somebody has.
    case refusedForWriter
    /// Anything else says nothing about writers: EACCES (another user's file, without CAP_LEASE), EINVAL, ENOLCK …
    case unavailable(Errno)
}

extension OwnedDescriptor {
    /// Asks for a read lease on the regular file, which must be open for reading only, and gives it back at once.
    ///
    /// A writer that opens the file in between makes the kernel send SIGIO, which ends a process that neither blocks
    /// nor ignores it: see ``isSignalHarmless(_:)``. See fcntl(2), F_SETLEASE.
    public borrowing func askForReadLease() -> LeaseAnswer {
        guard clinux_set_read_lease(raw) == 0 else {
            return errno == EAGAIN ? .refusedForWriter : .unavailable(Errno(rawValue: errno))
        }
        // Releasing a lease that is held cannot fail; were it to, closing the descriptor releases it too.
        _ = clinux_release_lease(raw)
        return .granted
    }
}

/// Whether `signal`, arriving now, would leave the process alone: it is ignored, or every thread blocks it.
///
/// Reads /proc/self/task; false if that cannot be read. New threads inherit the mask of the one that makes them, so
/// the answer stays true if `main` blocked the signal before there was any other thread.
public func isSignalHarmless(_ signal: Int32) -> Bool {
    var action = sigaction()
    if sigaction(signal, nil, &action) == 0, isIgnored(action) { return true }
    guard let tasks = opendir("/proc/self/task") else { return false }
    defer { closedir(tasks) }
    var seen = 0
    while let entry = readdir(tasks) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        guard let task = Int32(name) else { continue }
        switch isBlocked(signal, task: task) {
        case .some(true): seen += 1
        case .some(false): return false
        case nil: continue  // The thread ended since the directory was read.
        }
    }
    return seen > 0
}

private func isIgnored(_ action: sigaction) -> Bool {
    guard let handler = action.__sigaction_handler.sa_handler else { return false }
    // SIG_IGN is the address 1, cast; Swift does not import the cast.
    return unsafeBitCast(handler, to: Int.self) == 1
}

private func isBlocked(_ signal: Int32, task: Int32) -> Bool? {
    guard let file = fopen("/proc/self/task/\(task)/status", "re") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 512)
    let key = "SigBlk:"
    while fgets(&line, Int32(line.count), file) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard text.hasPrefix(key) else { continue }
        guard let mask = UInt64(text.dropFirst(key.count).filter(\.isHexDigit), radix: 16) else { return nil }
        return mask & (1 << UInt64(signal - 1)) != 0
    }
    return nil
}
