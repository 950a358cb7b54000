import CLinux
import Dispatch
import Glibc

/// The result of `body`, run on its own thread; nil if that thread sleeps in the kernel after `patience` seconds, as on
/// a hung mount. The thread is then abandoned and its result dropped.
///
/// A runnable thread that lacks a processor does not count as hung: on a busy machine the result is late. Blocks. Runs
/// `body` on the calling thread if none can be started. See proc_pid_stat(5).
package func runOnOwnThread<Answer: Sendable>(
    named name: String, patience: Double, _ body: @escaping @Sendable () -> Answer
) -> Answer? {
    // A lock each, so that storing the answer never waits for the check of the thread.
    let (number, answer) = (Locked<Int32?>(nil), Locked<Answer?>(nil))
    let isThere = DispatchSemaphore(value: 0)
    do throws(SystemCallError) {
        try startThread(named: name) {
            number.withLock { $0 = clinux_gettid() }
            let result = body()
            answer.withLock { $0 = result }
            isThere.signal()
        }
    } catch {
        return body()
    }
    while isThere.wait(timeout: .now() + patience) == .timedOut {
        if let thread = number.withLock({ $0 }), !isRunnable(thread: thread) { break }
    }
    return answer.withLock { $0 }
}

/// Whether a thread of this process is runnable.
private func isRunnable(thread: Int32) -> Bool {
    guard let file = fopen("/proc/self/task/\(thread)/stat", "re") else { return false }
    defer { fclose(file) }
    var text = [UInt8](repeating: 0, count: 256)
    let count = fread(&text, 1, text.count, file)
    // After the name, which is in parentheses and may contain some.
    guard let end = text[..<count].lastIndex(of: UInt8(ascii: ")")), end + 2 < count else { return false }
    return text[end + 2] == UInt8(ascii: "R")
}
