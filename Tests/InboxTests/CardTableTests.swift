import FileValues
import LinuxKernel
import Settings
import Testing

@testable import Cards

@Suite("Which mounts are cards, and when they are imported")
struct CardTableTests {
    private static let text = """
        library = "/srv/library"
        [inbox.card]
        path = "/srv/card"
        [cards]
        import = "yes"
        """

    private static func plan(_ text: String = text) throws -> CardPlan? {
        var builder = SettingsBuilder(
            context: SettingsContext(workingDirectory: "/srv"))
        builder.addFile(Array(text.utf8), path: "/etc/photoinbox/photoinbox.toml")
        return CardPlan(try builder.build())
    }

    /// Mounts with these numbers, places and devices.
    private func table(_ mounts: (Int, String, Int)..., type: String = "vfat", root: String = "/") -> MountTable {
        MountTable(
            parsing: Array(
                mounts.map { "\($0.0) 1 8:\($0.2) \(root) \($0.1) rw - \(type) /dev/sd\($0.2) rw" }
                    .joined(separator: "\n").utf8))
    }

    private func numbers(_ steps: [CardTable.Step]) -> [Int] {
        steps.compactMap { if case .start(let number, _, _) = $0 { number } else { nil } }
    }

    @Test func onlyDisksBelowThePlacesAreLookedAt() throws {
        let plan = try #require(try Self.plan())
        func isLookedAt(_ place: String, type: String = "vfat", root: String = "/") throws -> Bool {
            plan.mayBeCard(try #require(table((7, place, 1), type: type, root: root).mounts[7]))
        }
        for place in ["/media/ana/EOS", "/media/EOS", "/run/media/ana/EOS", "/mnt"] { #expect(try isLookedAt(place)) }
        for place in ["/", "/srv/card", "/mediaeval/EOS", "/run"] { #expect(try !isLookedAt(place)) }
        // Looking at them may take for ever, or mount something.
        for type in ["nfs4", "cifs", "fuse.sshfs", "autofs", "fuse", "overlay", "proc"] {
            #expect(try !isLookedAt("/media/x", type: type))
        }
        for type in ["exfat", "ext4", "fuseblk", "tmpfs"] { #expect(try isLookedAt("/media/x", type: type)) }
        // A part of a file system, mounted there.
        #expect(try !isLookedAt("/media/x", root: "/DCIM"))
        #expect(try Self.plan(Self.text.replacing("\"yes\"", with: "\"no\"")) == nil)
    }

    @Test func startsEachOnceAndNoMoreAtOnceThanItMay() throws {
        var cards = CardTable()
        #expect(cards.mounted(table((5, "/media/a", 1))).isEmpty, "no configuration yet")
        #expect(numbers(cards.adopt(try Self.plan())) == [1])
        #expect(cards.mounted(table((5, "/media/a", 1))).isEmpty, "told again")
        // The same file system at another place is the same card.
        #expect(cards.mounted(table((5, "/media/a", 1), (6, "/mnt/a", 1))).isEmpty)
        let many = table(
            (5, "/media/a", 1), (7, "/media/b", 2), (8, "/media/c", 3), (9, "/media/d", 4), (10, "/media/e", 5))
        #expect(numbers(cards.mounted(many)) == [2, 3, 4])
        #expect(numbers(cards.ended(2, .noCard)) == [5])
        #expect(cards.ended(5, .ended(isComplete: true)).isEmpty)
        #expect(cards.mounted(many).isEmpty, "what has ended is not begun again")
        // Not brought entirely: tried again when the same configuration is read again.
        #expect(cards.ended(3, .ended(isComplete: false)).isEmpty)
        #expect(numbers(cards.adopt(try Self.plan())) == [3])
    }

    @Test func whatIsPulledIsStoppedAndGoesOnWhenItIsBack() throws {
        var cards = CardTable()
        _ = cards.adopt(try Self.plan())
        #expect(numbers(cards.mounted(table((5, "/media/a", 1)))) == [1])
        #expect(cards.mounted(table()) == [.stop(1)])
        // Back before the first has noticed: one after the other, since they share what is remembered.
        #expect(cards.mounted(table((5, "/media/a", 1))).isEmpty)
        let steps = cards.ended(1, .ended(isComplete: false))
        #expect(numbers(steps) == [2])
        #expect(steps.contains { if case .forget(1, _) = $0 { true } else { false } }, "the new one is told of")
        #expect(cards.ended(2, .ended(isComplete: true)).isEmpty && cards.isIdle)
        #expect(cards.mounted(table()).isEmpty)
        #expect(cards.cards[2]?.isMounted == false, "what became of it is still told")
        // Others at the same number of the kernel's.
        #expect(numbers(cards.mounted(table((5, "/media/b", 1)))) == [3])
    }

    @Test func anotherConfigurationBeginsAnew() throws {
        var cards = CardTable()
        _ = cards.adopt(try Self.plan())
        _ = cards.mounted(table((5, "/media/a", 1), (6, "/mnt/b", 2)))
        _ = cards.ended(2, .ended(isComplete: true))
        let other = try Self.plan(Self.text + "\ndirectories = [\"PRIVATE\"]")
        let steps = cards.adopt(other)
        #expect(steps.contains(.stop(1)) && numbers(steps) == [3], "\(steps)")
        #expect(numbers(cards.ended(1, .ended(isComplete: false))) == [4])
        #expect(cards.adopt(nil).filter { if case .stop = $0 { true } else { false } }.count == 2)
        #expect(cards.ended(3, .noCard).count == 1 && cards.ended(4, .noCard).count == 1 && cards.cards.isEmpty)
    }

    @Test func atTheEndNothingBegins() throws {
        var cards = CardTable()
        _ = cards.adopt(try Self.plan())
        _ = cards.mounted(table((5, "/media/a", 1)))
        #expect(cards.end() == [.stop(1)] && !cards.isIdle)
        #expect(numbers(cards.mounted(table((5, "/media/a", 1), (6, "/mnt/b", 2)))).isEmpty)
        #expect(numbers(cards.ended(1, .ended(isComplete: false))).isEmpty && cards.isIdle)
    }

    @Test func onlyTheLastFewThatAreGoneAreKept() throws {
        var cards = CardTable()
        _ = cards.adopt(try Self.plan())
        for number in 1...10 {
            #expect(numbers(cards.mounted(table((5, "/media/\(number)", number)))) == [number])
            _ = cards.ended(number, .ended(isComplete: true))
        }
        _ = cards.mounted(table())
        #expect(cards.cards.keys.sorted() == [7, 8, 9, 10])
    }
}
