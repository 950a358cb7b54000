import FileValues
import Testing

@testable import Reporting

struct ProblemTests {
    private static let values: [ProblemParameter: ProblemValue] = [
        .count: .count(2), .total: .count(9), .limit: .count(8192), .needed: .count(1_048_576),
        .age: .seconds(840), .interval: .seconds(60), .next: .moment(0), .path: .path("/a/b"), .inbox: .text("card"),
        .name: .text("x"), .reason: .text("Input/output error"), .filesystem: .text("NFS"),
        .sysctl: .text("fs.inotify.max_user_watches=16384"),
    ]

    @Test(arguments: ProblemCode.allCases)
    func everyRowIsComplete(code: ProblemCode) {
        let row = code.row
        for template in [row.title, row.effect, row.action] {
            let text = template.rendered(Self.values, clock: .universal)
            #expect(!text.isEmpty && !text.contains("{") && !text.contains("?") && !text.hasSuffix("."), "\(text)")
            // What is missing shows, and does not trap.
            #expect(template.parameters.isEmpty || template.rendered([:], clock: .universal) != text)
        }
        #expect(code.rawValue.wholeMatch(of: /PI-[1-9][0-9]{2}/) != nil)
        #expect(row.severity != .stopped || row.see != nil)
        // A problem that stops filing states its effect on photos.
        #expect(row.severity != .stopped || row.effect.parameters == [.count])
    }

    @Test func rowsAreDistinct() {
        #expect(Set(ProblemCode.allCases.map(\.row.title)).count == ProblemCode.allCases.count)
    }

    @Test func causesHaveNoCircles() {
        func causes(of code: ProblemCode, path: [ProblemCode]) {
            #expect(!path.contains(code), "\(path)")
            guard !path.contains(code) else { return }
            for cause in code.row.hiddenBy { causes(of: cause.code, path: path + [code]) }
        }
        for code in ProblemCode.allCases { causes(of: code, path: []) }
    }

    @Test func textsAgreeWithTheirNumbers() {
        let one = ProblemCode.inboxPolled.row.title.rendered(
            [.count: .count(1), .inbox: .text("a"), .filesystem: .text("SMB")], clock: .universal)
        #expect(one == "1 folder of a is on SMB, which reports no changes")
        let limit = ProblemCode.watchLimit.row
        #expect(
            limit.title.rendered(
                [.limit: .count(8192), .needed: .count(12304), .count: .count(4112)], clock: .universal)
                == "kernel watch limit (8,192) reached, 12,304 are needed: 4,112 folders polled; disk is fine")
        #expect(
            limit.action.rendered(Self.values, clock: .universal)
                == "sudo sysctl fs.inotify.max_user_watches=16384; to keep it, put fs.inotify.max_user_watches=16384 into "
                + "/etc/sysctl.d/photoinbox.conf; no restart is needed")
    }

    @Test func namesCannotForgeLinesOrCommands() {
        let action = ProblemCode.photosDeferred.row.action
        func shown(_ path: BytePath) -> String { action.rendered([.path: .path(path)], clock: .universal) }
        #expect(shown("a b/it's") == "photoinbox explain 'a b/it'\\''s'")
        #expect(shown("$(reboot);\n") == "photoinbox explain '$(reboot);\\n'")
        #expect(shown("-rf") == "photoinbox explain '-rf'")
        #expect(shown("Bilder/ä.jpg") == "photoinbox explain Bilder/ä.jpg")
        #expect(shown(BytePath([0xFF, 0x1B])) == "photoinbox explain '\\xff\\x1b'")
        #expect(ProblemValue.text("\u{202E}\n").text(clock: .universal) == "\\xe2\\x80\\xae\\n")
    }
}

struct ProblemBoardTests {
    @Test func aProblemIsRaisedOnceUpdatedAndCleared() {
        var board = ProblemBoard()
        let answer1 = board.raise(.hookFailing, subject: "a", [.count: .count(1)], at: 10)
        #expect(answer1 == .raised)
        let answer2 = board.raise(.hookFailing, subject: "a", [.count: .count(1)], at: 20)
        #expect(answer2 == .none)
        let answer3 = board.raise(.hookFailing, subject: "a", [.count: .count(2)], at: 30)
        #expect(answer3 == .updated)
        #expect(board.visible(at: 30).map(\.since) == [10])
        #expect(board.visible(at: 30).first?.parameters == [.count: .count(2)])
        let answer4 = board.clear(.hookFailing, subject: "b")
        #expect(answer4 == nil)
        let answer5 = board.clear(.hookFailing, subject: "a")
        #expect(answer5?.since == 10)
        #expect(board.all.isEmpty && board.worst(at: 99) == nil)
    }

    @Test func shortProblemsAreNotShown() {
        var board = ProblemBoard()
        board.raise(.inboxMissing, subject: "card", at: 100)
        #expect(board.visible(at: 104).isEmpty && board.hidden(at: 104).isEmpty)
        #expect(board.visible(at: 105).map(\.code) == [.inboxMissing])
    }

    @Test func causesHideOnlyTheirEffects() {
        var board = ProblemBoard()
        board.raise(.inboxPolled, subject: "card", at: 0)
        board.raise(.inboxPolled, subject: "phones", at: 0)
        board.raise(.inboxGone, subject: "card", at: 0)
        #expect(board.visible(at: 4).map(\.code) == [.inboxPolled, .inboxPolled])
        #expect(board.visible(at: 5).map(\.subject) == ["card", "phones"])
        #expect(board.hidden(at: 5).map(\.cause) == [.inboxGone])
        // A chain of causes leads to its end.
        board.raise(.inboxMissing, subject: "card", at: 0)
        #expect(board.hidden(at: 5).map(\.cause) == [.inboxMissing, .inboxMissing])
        board.clear(.inboxMissing, subject: "card")
        board.clear(.inboxGone, subject: "card")
        #expect(board.visible(at: 5).map(\.subject) == ["card", "phones"])
    }

    @Test func problemsAreOrdered() {
        var board = ProblemBoard()
        for code in ProblemCode.allCases.reversed() { board.raise(code, subject: "s", at: 0) }
        let visible = board.visible(at: 1000)
        #expect(visible.map(\.severity) == visible.map(\.severity).sorted(by: >))
        #expect(
            visible.filter { $0.severity == .stopped }.map(\.code)
                == ProblemCode.allCases.filter { $0.row.severity == .stopped })
        for severity in ProblemSeverity.allCases {
            let codes = visible.filter { $0.severity == severity }.map(\.code)
            #expect(!codes.isEmpty && codes == codes.sorted())
        }
        #expect(visible.count + board.hidden(at: 1000).count == ProblemCode.allCases.count)
        #expect(board.worst(at: 1000) == .stopped)
        let cleared = board.clearAll(subject: "s")
        #expect(cleared.count == ProblemCode.allCases.count && board.all.isEmpty)
    }

    @Test func theBoardIsBoundedExceptForStoppedFiling() {
        var board = ProblemBoard()
        for number in 0..<1000 { board.raise(.photosDeferred, subject: "\(number)", at: 0) }
        #expect(board.all.count == ProblemBoard.capacity)
        #expect(board.dropped == 1000 - ProblemBoard.capacity)
        let answer6 = board.raise(.catalogueFull, at: 0)
        #expect(answer6 == .raised)
        #expect(board.visible(at: 0).map(\.code) == [.catalogueFull])
    }
}
