import FileValues
import Glibc

/// A thread of this process and those of the requested signals that it does not block.
public struct OpenThread: Hashable, Sendable {
    /// Its id; the main thread's is the process's.
    public let thread: Int32
    /// The signals' numbers.
    public let signals: [Int32]
}

/// The threads of this process that do not block all of `signals`.
///
/// The kernel delivers a signal to any of them rather than to a signalfd. Reads /proc/self/task, see
/// proc_pid_status(5); without /proc the result is empty. A thread in sigsuspend(2), such as the main one after
/// dispatchMain(), counts with the mask it has there.
public func threadsNotBlocking(_ signals: [Int32]) -> [OpenThread] {
    guard let tasks = try? openDirectory("/proc/self/task").entries() else { return [] }
    var found: [OpenThread] = []
    for task in tasks {
        let name = String(decoding: task.name.bytes, as: UTF8.self)
        guard let thread = Int32(name), let mask = blockedSignals(ofStatus: "/proc/self/task/\(name)/status") else {
            continue
        }
        let open = signals.filter { mask & (1 << UInt64($0 - 1)) == 0 }
        if !open.isEmpty { found.append(OpenThread(thread: thread, signals: open)) }
    }
    return found.sorted { $0.thread < $1.thread }
}

/// Whether `signal` would have no effect on the process now: it is ignored, or every thread blocks it.
///
/// False if /proc/self/task is unreadable. A new thread inherits its creator's mask, so the answer stays true if `main`
/// blocked the signal before it created threads.
public func isSignalHarmless(_ signal: Int32) -> Bool {
    if isSignalIgnored(signal) { return true }
    return access("/proc/self/task", R_OK | X_OK) == 0 && threadsNotBlocking([signal]).isEmpty
}

/// Whether the process ignores `signal`, as one started by nohup(1) does; see sigaction(2).
public func isSignalIgnored(_ signal: Int32) -> Bool {
    var action = sigaction()
    guard sigaction(signal, nil, &action) == 0, let handler = action.__sigaction_handler.sa_handler else {
        return false
    }
    // SIG_IGN is the address 1, cast; Swift does not import the cast.
    return unsafeBitCast(handler, to: Int.self) == 1
}

/// Nil if the thread has ended or is a zombie.
private func blockedSignals(ofStatus path: String) -> UInt64? {
    guard let status = try? contents(of: BytePath(path)) else { return nil }
    let text = status.map { CChar(bitPattern: $0) } + [0]
    return text.withUnsafeBufferPointer { text in
        guard let start = text.baseAddress, let state = strstr(start, "\nState:\t") else { return nil }
        if [UInt8(ascii: "Z"), UInt8(ascii: "X")].contains(UInt8(bitPattern: state[8])) { return nil }
        return strstr(start, "\nSigBlk:\t").map { UInt64(strtoul($0 + 9, nil, 16)) }
    }
}
