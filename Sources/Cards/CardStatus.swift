import ControlProtocol
import LinuxKernel

/// What each card is doing, for the state dump. Any thread.
final class CardStatus: Sendable {
    private let cards = Locked<[Int: DaemonState.Card]>([:])

    func put(_ number: Int, _ card: DaemonState.Card) { cards.withLock { $0[number] = card } }
    func remove(_ number: Int) { cards.withLock { $0[number] = nil } }

    func change(_ number: Int, _ body: (inout DaemonState.Card) -> Void) {
        cards.withLock { cards in
            guard var card = cards[number] else { return }
            body(&card)
            cards[number] = card
        }
    }

    /// The oldest first.
    var all: [DaemonState.Card] { cards.withLock { $0.sorted { $0.key < $1.key }.map(\.value) } }
}
