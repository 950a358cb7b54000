import FileValues
import Testing

@testable import DirectoryWatch
@testable import WatchCore

@Suite("What events missed is told from what is under way")
struct AuditLedgerTests {
    private let directory = NodeID.none

    private func key(_ name: BytePath) -> AuditLedger.Key { AuditLedger.Key(directory: directory, name: name) }

    @Test("Differences that no record names were missed")
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

    @Test("What a record names afterwards was under way")
    func underWay() {
        var ledger = AuditLedger()
        ledger.begin(at: 0)
        ledger.addSuspect(key("a"))
        #expect(ledger.isListening)
        ledger.explain(key("a"))
        let result3 = ledger.finish()
        #expect(result3 == .init(names: 0, contents: 0))
    }

    @Test("Without a comparison nothing is suspected")
    func idle() {
        var ledger = AuditLedger()
        ledger.addSuspect(key("a"))
        ledger.addChanged(key("a"))
        #expect(!ledger.isListening)
        ledger.begin(at: 0)
        let result4 = ledger.finish()
        #expect(result4 == .init(names: 0, contents: 0))
    }

    @Test("Content is missed if an hour later it is as it was, and nobody closed it since")
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

    @Test("An overflow makes it void, and the doubts of the one before")
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

    @Test("What the caller took care of is no loss; once it is gone, it may be again")
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

    @Test("Bounded, however much is lost")
    func bounded() {
        var ledger = AuditLedger()
        ledger.begin(at: 0)
        for number in 0..<5_000 { ledger.addSuspect(key(BytePath("\(number)"))) }
        let result11 = ledger.finish()
        #expect(result11?.count == AuditLedger.bound)
    }
}
