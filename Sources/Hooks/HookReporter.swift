import FileValues
import LogMessages
import Logging
import Systemd

/// What is said of hooks in the log, each line with the hook's name.
struct HookReporter: Sendable {
    let log: Logger

    /// A line that it has written to its standard output, or its standard error.
    func said(_ name: String, _ line: String, process: Int32, isError: Bool) {
        log.log(
            isError ? .notice : .info, .hookOutput, "hook \(name): \(line)",
            metadata: ["hook": "\(name)", "hook_pid": "\(process)", "stream": isError ? "stderr" : "stdout"])
    }

    func began(_ name: String, process: Int32) {
        log.debug("hook \(name) runs as process \(process)", metadata: ["hook": "\(name)", "hook_pid": "\(process)"])
    }

    func ended(_ name: String, _ ending: HookEnding, told events: Int) {
        log.log(
            .debug, .hookEnded, "hook \(name) \(ending.reason), told of \(events) event\(events == 1 ? "" : "s")",
            metadata: ["hook": "\(name)", "result": "\(ending.kind.rawValue)", "status": "\(ending.number)"])
    }

    /// It is not told of files again that it failed on too often.
    func passedOver(_ name: String, _ operations: ClosedRange<Int64>, events: Int, tries: Int, reason: String) {
        let first = operations.lowerBound
        log.log(
            .warning, .hookPassedOver,
            "hook \(name) \(reason), \(tries) times in a row on the same file: it is not told of operation \(first)\(operations.count > 1 ? " to \(operations.upperBound)" : "") again (photoinbox show \(first)), continuing",
            metadata: ["hook": "\(name)", "operation": "\(first)", "events": "\(events)"])
    }
}
