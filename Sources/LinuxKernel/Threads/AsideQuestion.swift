import CLinux
import Dispatch
import Glibc

/// What `question` answers, asked on a thread of its own; nil once that thread has been waiting in the kernel for
/// `patience` seconds, as on a mount that hangs. It is left behind then, and its answer is dropped.
///
/// A thread that could run and gets no processor is no hung one, however long that takes: on a busy machine the answer
/// comes late. Blocks. Asks here where no thread is to be had. See proc_pid_stat(5).
package func askAside<Answer: Sendable>(
    named name: String, patience: Double, _ question: @escaping @Sendable () -> Answer
) -> Answer? {
    // Each has its lock, so that who stores the answer never waits for who looks at the thread.
    let (number, answer) = (Locked<Int32?>(nil), Locked<Answer?>(nil))
    let isThere = DispatchSemaphore(value: 0)
    do throws(SystemCallError) {
        try startThread(named: name) {
            number.withLock { $0 = clinux_gettid() }
            let result = question()
            answer.withLock { $0 = result }
            isThere.signal()
        }
    } catch {
        return question()
    }
    while isThere.wait(timeout: .now() + patience) == .timedOut {
        if let thread = number.withLock({ $0 }), !isRunnable(thread: thread) { break }
    }
    return answer.withLock { $0 }
}

/// Whether a thread of this process runs, or would if it got a processor.
private func isRunnable(thread: Int32) -> Bool {
    guard let file = fopen("/proc/self/task/\(thread)/stat", "re") else { return false }
    defer { fclose(file) }
    var text = [UInt8](repeating: 0, count: 256)
    let count = fread(&text, 1, text.count, file)
    // After the name, which is in parentheses and may hold some.
    guard let end = text[..<count].lastIndex(of: UInt8(ascii: ")")), end + 2 < count else { return false }
    return text[end + 2] == UInt8(ascii: "R")
}
