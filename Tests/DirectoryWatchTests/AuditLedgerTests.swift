import FileValues
import Testing

@testable import DirectoryWatch
@testable import WatchCore

@Suite("Changes that events missed are separated from those whose events are to come")
struct AuditLedgerTests {
    private let directory = NodeID.none

    private func key(_ name: BytePath) -> AuditLedger.Key { AuditLedger.Key(directory: directory, name: name) }

    @Test("Differences that no record names count as missed")
    func missed() {
        var ledger = AuditLedger()
        ledger.begin(at: 0)
        ledger.addSuspect(key("a"))
        ledger.addSuspect(key("b"))
        ledger.addSuspect(key("a"))
        let result1 = ledger.finish()
        #expect(result1 == .init(names: 2, contents: 0))
        let result2 = ledger.finish()
        #expect(result2 == nil)
    }

    @Test("Differences that a later record names do not count")
    func underWay() {
        var ledger = AuditLedger()
        ledger.begin(at: 0)
        ledger.addSuspect(key("a"))
        #expect(ledger.isListening)
        ledger.explain(key("a"))
        let result3 = ledger.finish()
        #expect(result3 == .init(names: 0, contents: 0))
    }

    @Test("Without a comparison there are no suspects")
    func idle() {
        var ledger = AuditLedger()
        ledger.addSuspect(key("a"))
        ledger.addChanged(key("a"))
        #expect(!ledger.isListening)
        ledger.begin(at: 0)
        let result4 = ledger.finish()
        #expect(result4 == .init(names: 0, contents: 0))
    }

    @Test("Changed content counts as missed if it is the same an hour later, without a close in between")
    func contents() {
        for name: BytePath in ["missed", "closed later", "written on", "too early"] {
            var ledger = AuditLedger()
            ledger.begin(at: 5)
            ledger.addChanged(key(name))
            let first = ledger.finish()
            #expect(first == .init(names: 0, contents: 0))
            if name == "closed later" { ledger.explain(key(name)) }
            ledger.begin(at: name == "too early" ? AuditLedger.grace : AuditLedger.grace + 5)
            if name == "written on" { ledger.addChanged(key(name)) }
            let second = ledger.finish()
            #expect(second?.contents == (name == "missed" ? 1 : 0))
            ledger.begin(at: 3 * AuditLedger.grace)
            let third = ledger.finish()
            #expect(third?.contents == (name == "written on" || name == "too early" ? 1 : 0))
            #expect(!ledger.isListening)
        }
    }

    @Test("An overflow voids the comparison, and the changed files of the one before")
    func overflow() {
        var ledger = AuditLedger()
        ledger.begin(at: 0)
        ledger.addChanged(key("a"))
        _ = ledger.finish()
        ledger.begin(at: 0)
        ledger.addSuspect(key("b"))
        ledger.void()
        let result8 = ledger.finish()
        #expect(result8 == nil)
        ledger.begin(at: 0)
        let result9 = ledger.finish()
        #expect(result9 == .init(names: 0, contents: 0))
    }

    @Test("A forgotten file does not count as missed until a record names it")
    func forgotten() {
        var ledger = AuditLedger()
        ledger.forget(key("kept"))
        ledger.forget(key("removed"))
        ledger.explain(key("removed"))
        ledger.begin(at: 0)
        ledger.addSuspect(key("kept"))
        ledger.addSuspect(key("removed"))
        let result10 = ledger.finish()
        #expect(result10 == .init(names: 1, contents: 0))
    }

    @Test("The number of names kept is bounded")
    func bounded() {
        var ledger = AuditLedger()
        ledger.begin(at: 0)
        for number in 0..<5_000 { ledger.addSuspect(key(BytePath("\(number)"))) }
        let result11 = ledger.finish()
        #expect(result11?.count == AuditLedger.bound)
    }
}
