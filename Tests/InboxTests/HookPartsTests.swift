import ControlProtocol
import FileValues
import Testing

@testable import Catalogue
@testable import Hooks

@Suite("The parts of hooks that touch nothing")
struct HookPartsTests {
    @Test func linesAreCutEscapedAndCounted() {
        var output = HookOutput()
        #expect(output.add(Array("one\n\ntw".utf8)) == ["one"])
        #expect(output.add(Array("o\n".utf8) + [0xFF, 0x1B, 0x0A]) == ["two", "\\xff\\x1b"])
        #expect(output.add(Array(repeating: 0x61, count: HookOutput.longestLine + 3)).map(\.count) == [1_024])
        #expect(output.end() == ["aaa"])
        var flood = HookOutput()
        var told = 0
        for _ in 0..<10 { told += flood.add(Array(repeating: 0x0A, count: 100) + Array("x\n".utf8)).count }
        #expect(told == 10 && flood.leftOut == 0, "empty lines are none")
        for _ in 0..<HookOutput.mostLines { told += flood.add(Array("x\n".utf8)).count }
        #expect(told == HookOutput.mostLines && flood.leftOut == 10)
        #expect(flood.end() == ["(10 more lines left out)"])
    }

    @Test func triesComeLaterAndWithLess() {
        var retry = HookRetry()
        var seen: [(Int, HookRetry.Verdict)] = []
        for _ in 0..<HookRetry.mostTries {
            let files = retry.files
            seen.append((files, retry.failed(mayBeTheEvents: true)))
        }
        #expect(seen.map(\.0) == [256, 64, 16, 4, 1])
        #expect(
            seen.map(\.1) == [
                .again(seconds: 1), .again(seconds: 2), .again(seconds: 4), .again(seconds: 8),
                .passOver(seconds: 16),
            ])
        // After one file was passed over, the next ones are told together again, but not at once.
        #expect(retry.files == 256 && retry.failures == 5)
        #expect(retry.failed(mayBeTheEvents: true) == .again(seconds: 32))
        retry.succeeded()
        #expect(retry == HookRetry())
    }

    @Test func whatWasNotStartedIsTriedForEver() {
        var retry = HookRetry()
        var last = HookRetry.Verdict.again(seconds: 0)
        for _ in 0..<100 { last = retry.failed(mayBeTheEvents: false) }
        #expect(last == .again(seconds: HookRetry.longestPause) && retry.files == HookRetry.mostFiles)
    }

    @Test(
        "A status says whether an event may be the reason",
        arguments: [
            (0, false), (1, true), (3, true), (64, true), (65, true), (69, false), (75, false), (77, false),
            (78, false),
        ])
    func statuses(_ status: Int32, _ mayBe: Bool) {
        #expect(HookResult(kind: .exited, number: status, reason: "").mayBeTheEvents == mayBe)
        #expect(HookResult(kind: .killed, number: status, reason: "").mayBeTheEvents)
    }

    private func event(_ id: Int64, _ name: BytePath, kind: HookEventKind = .quarantined) -> HookEvent {
        HookEvent(
            kind: kind,
            outcome: StoredOutcome(
                id: id,
                outcome: OutcomeRecord(
                    at: FileTime(seconds: 1_795_262_400, nanoseconds: 123_000_000), inbox: "card", path: name,
                    outcome: .quarantined, reason: "broken", sha256: [0x0A, 0xFF], destination: "/q/card/x")),
            photo: nil, set: [])
    }

    @Test func anEventIsOneLineWhateverItsName() {
        let hostile = BytePath([0x44, 0x2F, 0x0A, 0xFF, 0x22])
        let (lines, count, through) = HookInput.fit([event(7, hostile)])
        #expect(count == 1 && through == nil)
        #expect(lines.filter { $0 == 0x0A }.count == 1 && lines.last == 0x0A)
        #expect(
            String(decoding: lines, as: UTF8.self) == """
                {"format":1,"event":"quarantined","time":"2026-11-21T12:00:00.123Z","inbox":"card","operation":7,\
                "outcome":"quarantined","reason":"broken","photo":null,"set":null,"file":"D/\\n\u{FFFD}\\"",\
                "file_base64":"RC8K/yI=","name":"\\n\u{FFFD}\\"","name_base64":"Cv8i","path":"/q/card/x","sha256":"0aff"}

                """)
    }

    @Test func aRunIsToldOnlySoMuchButAllOfAFile() {
        let long = BytePath(Array(repeating: 0x61, count: 4_000))
        let events = (1...100).flatMap { [event($0, long), event($0, long)] }
        let (lines, count, through) = HookInput.fit(events)
        #expect(count % 2 == 0 && count > 2 && lines.count <= HookInput.mostBytes + 5_000)
        #expect(through == events[count - 1].outcome.id)
        let huge = BytePath(Array(repeating: 0x61, count: HookInput.mostBytes))
        #expect(HookInput.fit([event(1, huge), event(2, long)]).count == 1, "one is told, however much it is")
    }

    @Test func messagesComeBackAsTheyWere() throws {
        let ending = HookResult(kind: .overdue, number: 9, reason: "did not end", seconds: 1.5)
        var frames = FrameReader(limit: HookAnswer.longest)
        frames.add(HookAnswer(ending: ending).frame)
        #expect(HookAnswer(json: try frames.next() ?? [])?.ending == ending)
        frames.add(HookRequest.frames("notify", input: Array("{}\n".utf8)))
        #expect(HookRequest(json: try frames.next() ?? []) == HookRequest(hook: "notify"))
        #expect(try frames.next() == Array("{}\n".utf8))
        for nonsense in ["", "{}", "[]", "{\"version\":2,\"hook\":\"x\"}", "{\"version\":1}"] {
            #expect(HookRequest(json: Array(nonsense.utf8)) == nil && HookAnswer(json: Array(nonsense.utf8)) == nil)
        }
    }
}
