import Logging
import Systemd
import Testing

/// With a real journald.
@Suite(
    .enabled(if: ProbeRun.refusal == nil, "skipped: needs root or user namespaces: \(ProbeRun.refusal ?? "")"),
    .timeLimit(.minutes(60)))
struct JournalTests {
    @Test("Fields are stored unchanged")
    func fields() throws {
        let run = try ProbeRun.besideJournal(["fields"])
        let entries = run.entries()
        #expect(run.value("flushed") == "true" && run.value("sent") == "3" && run.value("failed") == "0")
        try #require(entries.count == 3)
        let filed = entries[0]
        #expect(filed.text("MESSAGE") == "filed card/IMG_0412.CR3")
        #expect(filed.text("PRIORITY") == "5")
        #expect(filed.text("CODE_FILE") == "systemd_probe/JournalProbes.swift")
        #expect(filed.text("CODE_LINE").flatMap { UInt($0) } != nil)
        #expect(filed.text("CODE_FUNC") == "logFields(_:)")
        #expect(filed.text("MESSAGE_ID") == MessageID.handlerFailed.description)
        #expect(filed.text("PHOTOINBOX_FILE") == "card/IMG_0412.CR3")
        #expect(filed.text("PHOTOINBOX_OUTCOME") == "filed")
        #expect(filed.text("PHOTOINBOX_QUEUE_DEPTH") == "3")
        #expect(filed.text("PHOTOINBOX_TWO_LINES") == "first\nPRIORITY=0")
        #expect(filed.text("PHOTOINBOX_EMPTY")?.isEmpty == true)
        #expect(filed.text("PHOTOINBOX_WHERE_INBOX") == "card")
        #expect(filed.text("PHOTOINBOX_WHERE_SLOT") == "2")
        #expect(filed.text("PHOTOINBOX_LOGGER") == "org.photoinbox.probe")
        #expect(filed.text("ERRNO") == "28")
        let long = try #require(filed.text("PHOTOINBOX_LONG"))
        #expect(long.hasPrefix("éé") && long.hasSuffix("é…"))
        #expect((4_000...4_096).contains(long.utf8.count + "PHOTOINBOX_LONG=".utf8.count))
        #expect(entries[1].text("PRIORITY") == "7" && entries[2].text("PRIORITY") == "3")
        #expect(entries[1].text("MESSAGE_ID") == nil)
    }

    @Test("No text can forge a field or a line")
    func forgery() throws {
        let entries = try ProbeRun.besideJournal(["forge"]).entries()
        try #require(entries.count == 2)
        let name = #"a\nPRIORITY=0\nMESSAGE=forged \x1b[2J\xff\xc3("#
        for entry in entries {
            // One valid value each: nothing was added or replaced.
            #expect(entry.values("PRIORITY") == [Array("6".utf8)])
            #expect(entry.values("MESSAGE").count == 1)
            #expect(entry.fields.allSatisfy { String(validating: $0.value, as: UTF8.self) != nil })
        }
        #expect(entries[0].text("MESSAGE") == #"raw a\nMESSAGE=forged\xe2\x80\xa8b\xe2\x80\xaec"#)
        #expect(entries[0].text("PHOTOINBOX_FILE") == name)
        #expect(entries[0].text("PHOTOINBOX_MESSAGE_X_Y") == "1")
        #expect(entries[0].text("PHOTOINBOX__PID") == "1")
        #expect(entries[0].text("PHOTOINBOX___") == "2")
        #expect(entries[1].text("MESSAGE") == "path \(name)")
    }

    @Test("A stopped journal blocks no caller, and the gap is reported")
    func stopped() throws {
        let run = try ProbeRun.besideJournal(["stall"])
        #expect(run.value("stalledSending") == "true")
        #expect(run.value("stalledFlush") == "false")
        #expect(run.value("stalledLastWords") == "false")
        // 56 of 64 places are for all entries, 8 for severe ones, of which there is one.
        #expect(run.value("stalledQueued") == "57" && run.value("stalledDropped") == "19944")
        #expect(run.value("flushed") == "true" && run.value("failed") == "0" && run.value("queued") == "0")
        // One before, one blocked, 56 of the flood, the report, a severe one, one after.
        #expect(run.value("sent") == "61" && run.value("dropped") == "19944")

        let entries = run.entries()
        let messages = entries.compactMap { $0.text("MESSAGE") }
        let fillers = try #require(run.value("fillers").flatMap { Int($0) })
        #expect(
            messages == ["before"] + Array(repeating: "filler", count: fillers) + ["stuck"]
                + (0..<56).map { "flood \($0)" }
                + ["19944 log entries were dropped here because the journal did not take them, continuing"]
                + ["grave", "after"])
        let gap = try #require(entries.first { $0.text("MESSAGE_ID") == MessageID.entriesDropped.description })
        #expect(gap.text("PHOTOINBOX_DROPPED") == "19944" && gap.text("PRIORITY") == "4")
    }

    @Test("sendNow reaches the journal without the ring")
    func sendNow() throws {
        let run = try ProbeRun.besideJournal(["last-words"])
        #expect(run.value("took") == "true")
        let entry = try #require(run.entries().first)
        #expect(entry.text("MESSAGE") == "rule broken" && entry.text("PRIORITY") == "2")
        #expect(entry.text("MESSAGE_ID") == MessageID.lifecycleViolation.description)
        #expect(entry.text("PHOTOINBOX_MONITOR") == "a\nb")
    }

    @Test("Without a journal every entry is counted as failed")
    func absent() throws {
        let run = try ProbeRun.besideJournal(["absent"], journald: "without")
        #expect(run.value("took") == "false")
        #expect(run.value("flushed") == "true" && run.value("sent") == "0" && run.value("failed") == "100")
        #expect(run.value("failure") == "there is no journal: /run/systemd/journal/socket does not exist")
        #expect(run.value("place") == "console(Systemd.ConsoleFormatter.Style.dated)")
    }

    /// A shell whose standard error is a stream of journald, as for a service.
    private static let asService =
        "exec systemd-cat -t systemd-probe --stderr-priority=info sh -c "
        + #"'JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec "$0" "$@"' "$0" "$@""#

    @Test("A service logs by the native protocol")
    func native() throws {
        let run = try ProbeRun.besideJournal(["destination", "automatic"], through: Self.asService)
        let entry = try #require(run.entries().first { $0.text("MESSAGE") == "to the chosen place" })
        #expect(entry.text("_TRANSPORT") == "journal" && entry.text("PHOTOINBOX_INBOX") == "card")
    }

    @Test("A service on the console keeps the priority")
    func consoleOfAService() throws {
        let run = try ProbeRun.besideJournal(["destination", "console"], through: Self.asService)
        let entry = try #require(run.entries().first { $0.text("MESSAGE")?.hasPrefix("to the chosen") == true })
        #expect(entry.text("MESSAGE") == "to the chosen place  inbox=card")
        #expect(entry.text("_TRANSPORT") == "stdout" && entry.text("PRIORITY") == "3")
    }
}
