import FileValues
import LogMessages
import Logging
import Systemd

/// Entries about hooks in the log, each with the hook's name.
struct HookLog: Sendable {
    let logger: Logger

    /// A line that it has written to its standard output, or its standard error.
    func wrote(_ name: String, _ line: String, process: Int32, isError: Bool) {
        logger.log(
            isError ? .notice : .info, .hookOutput, "hook \(name): \(line)",
            metadata: ["hook": "\(name)", "hook_pid": "\(process)", "stream": isError ? "stderr" : "stdout"])
    }

    func began(_ name: String, process: Int32) {
        logger.debug(
            "hook \(name) runs as process \(process)", metadata: ["hook": "\(name)", "hook_pid": "\(process)"])
    }

    func ended(_ name: String, _ result: HookResult, events: Int) {
        logger.log(
            .debug, .hookEnded, "hook \(name) \(result.reason), for \(events) event\(events == 1 ? "" : "s")",
            metadata: ["hook": "\(name)", "result": "\(result.kind.rawValue)", "status": "\(result.number)"])
    }

    /// It gets no more events of files that it failed on too often.
    func passedOver(_ name: String, _ operations: ClosedRange<Int64>, events: Int, tries: Int, reason: String) {
        let first = operations.lowerBound
        logger.log(
            .warning, .hookPassedOver,
            "hook \(name) \(reason), \(tries) times in a row on the same file: operation \(first)\(operations.count > 1 ? " to \(operations.upperBound)" : "") is skipped and not tried again (photoinbox show \(first)), continuing",
            metadata: ["hook": "\(name)", "operation": "\(first)", "events": "\(events)"])
    }
}
