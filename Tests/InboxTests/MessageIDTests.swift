import LogMessages
import Systemd
import Testing

@Suite("Kinds of journal entries")
struct MessageIDTests {
    @Test func identifiersAreDistinctAndReadable() {
        let all = MessageID.all
        #expect(Set(all.map(\.id)).count == all.count && Set(all.map(\.name)).count == all.count)
        for (_, id) in all { #expect(MessageID(id.description) == id) }
        // Saved queries hold on to it.
        #expect(MessageID.filed.description == "43e0849fa2b846df98777912e5ad57ae")
    }
}
