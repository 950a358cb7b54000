import FileValues
import Glibc
import LinuxKernel
import Logging
import Systemd

func makeLogger(_ sink: any LogSink) -> Logger {
    Logger(label: "org.photoinbox.probe") { JournalLogHandler(label: $0, sink: sink, level: .trace) }
}

func finish(_ sink: any LogSink) {
    print("flushed=\(sink.flush(within: .seconds(20)))")
    let end = sink.snapshot()
    print("sent=\(end.sent)\ndropped=\(end.dropped)\nfailed=\(end.failed)\nqueued=\(end.queued)")
    if let failure = end.lastFailure { print("failure=\(failure)") }
}

func logFields(_ sink: any LogSink) {
    let logger = makeLogger(sink)
    logger.log(
        .notice, .handlerFailed, "filed card/IMG_0412.CR3",
        metadata: [
            "file": .stringConvertible(BytePath("card/IMG_0412.CR3")), "outcome": "filed", "queueDepth": "3",
            "twoLines": "first\nPRIORITY=0", "errno": "28", "empty": "",
            "where": ["inbox": "card", "slot": "2"], "long": .string(String(repeating: "é", count: 4_000)),
        ])
    logger.trace("traced")
    logger.error("failed")
    finish(sink)
}

func logForgeries(_ sink: any LogSink) {
    let logger = makeLogger(sink)
    let name = BytePath(Array("a\nPRIORITY=0\nMESSAGE=forged \u{1B}[2J".utf8) + [0xFF, 0xC3, 0x28])
    logger.info(
        "raw a\nMESSAGE=forged\u{2028}b\u{202E}c",
        metadata: ["file": .stringConvertible(name), "MESSAGE=x\ny": "1", "_pid": "1", "ä": "2"])
    logger.info("path \(name)")
    finish(sink)
}

/// Sends 20,000 entries from one thread while journald is stopped: its return proves that producers do not block.
func stallJournal() {
    guard let text = getenv("JOURNALD_PID"), let journald = pid_t(String(cString: text)) else {
        fatalError("no journald")
    }
    let sink = JournalSink(encoding: encoding, capacity: 64, byteCapacity: 1 << 20)
    sink.send(LogEntry(.info, "before"))
    _ = sink.flush(within: .seconds(20))
    kill(journald, SIGSTOP)
    awaitStopped(journald)
    // Fills the kernel's queue for journald, so that the sink's next send blocks.
    var fillers = 0
    while sink.sendNow(LogEntry(.debug, "filler")) { fillers += 1 }
    print("fillers=\(fillers)")
    sink.send(LogEntry(.info, "stuck"))
    while sink.snapshot().queued > 0 { sched_yield() }
    for number in 0..<20_000 { sink.send(LogEntry(.info, "flood \(number)")) }
    sink.send(LogEntry(.error, "grave"))
    let stalled = sink.snapshot()
    print("stalledQueued=\(stalled.queued)\nstalledDropped=\(stalled.dropped)")
    print("stalledSending=\(stalled.sendingSince != nil)")
    print("stalledFlush=\(sink.flush(within: .milliseconds(20)))")
    print("stalledLastWords=\(sink.sendNow(LogEntry(.critical, "last words")))")
    kill(journald, SIGCONT)
    print("flushed=\(sink.flush(within: .seconds(20)))")
    sink.send(LogEntry(.info, "after"))
    finish(sink)
}

/// A stop signal takes effect a moment after kill(2) returns.
private func awaitStopped(_ process: pid_t) {
    for _ in 0..<10_000_000 {
        guard let file = fopen("/proc/\(process)/stat", "r") else { return }
        var line = [CChar](repeating: 0, count: 512)
        fgets(&line, 512, file)
        fclose(file)
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if text.split(separator: ")").last?.hasPrefix(" T") == true { return }
        sched_yield()
    }
    fatalError("journald does not stop")
}

func lastWords() {
    let sink = JournalSink(encoding: encoding)
    let entry = LogEntry(.critical, "rule broken", id: .lifecycleViolation, fields: [.init("monitor", "a\nb")])
    print("took=\(sink.sendNow(entry))")
}

func logWithoutJournal() {
    let sink = JournalSink(encoding: encoding)
    print("took=\(sink.sendNow(LogEntry(.critical, "rule broken")))")
    for number in 0..<100 { sink.send(LogEntry(.info, "entry \(number)")) }
    finish(sink)
    print("place=\(LogDestination.choose(.automatic).place)")
}

func logToChosenDestination(_ request: String) {
    guard let request = LogDestination.Request(rawValue: request) else { fatalError("no such request") }
    let destination = LogDestination.choose(request)
    print("place=\(destination.place)\nreason=\(destination.reason)")
    let sink = destination.makeSink(encoding: encoding)
    sink.send(LogEntry(.error, "to the chosen place", fields: [.init("inbox", "card")]))
    print("flushed=\(sink.flush(within: .seconds(20)))")
}
