/// A first-in, first-out queue with amortised constant time.
struct Backlog<Element> {
    /// The newest last.
    private var arrived: [Element] = []
    /// The oldest last.
    private var leaving: [Element] = []

    var count: Int { arrived.count + leaving.count }
    var isEmpty: Bool { arrived.isEmpty && leaving.isEmpty }
    var first: Element? { leaving.last ?? arrived.first }
    /// All elements, in no particular order.
    var all: [Element] { leaving + arrived }

    mutating func append(_ element: Element) { arrived.append(element) }

    mutating func popFirst() -> Element? {
        if leaving.isEmpty {
            swap(&leaving, &arrived)
            leaving.reverse()
        }
        return leaving.popLast()
    }
}

extension Backlog: Sendable where Element: Sendable {}
