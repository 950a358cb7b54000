/// What was made of the last texts, so that the same text is read once.
struct RecentTexts<Made: Sendable>: Sendable {
    /// A configuration that changes to and fro, with flags and a mistake or two.
    static var most: Int { 8 }

    /// The one that was asked for last at the end.
    private var known: [(text: [UInt8], made: Made)] = []

    mutating func made(of text: [UInt8]) -> Made? {
        guard let index = known.firstIndex(where: { $0.text == text }) else { return nil }
        let found = known.remove(at: index)
        known.append(found)
        return found.made
    }

    mutating func keep(_ made: Made, of text: [UInt8]) {
        known.removeAll { $0.text == text }
        known.append((text, made))
        if known.count > Self.most { known.removeFirst() }
    }
}
