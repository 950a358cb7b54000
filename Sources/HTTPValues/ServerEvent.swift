/// An event of an event stream; see the HTML standard, 9.2.
package struct ServerEvent: Hashable, Sendable {
    /// A word.
    package let name: String
    /// Any text.
    package let data: String
    /// What a browser that comes again says it has, as Last-Event-ID.
    package let number: UInt64?

    package init(_ name: String, _ data: String, number: UInt64? = nil) {
        (self.name, self.data, self.number) = (name, data, number)
    }

    /// Its bytes: a line for each line of the data, and a blank one.
    package var bytes: [UInt8] {
        var text = number.map { "id: \($0)\n" } ?? ""
        text += "event: \(name)\n"
        // Each of CR, LF and CR LF, which Swift has as one character, ends a line.
        for line in data.split(omittingEmptySubsequences: false, whereSeparator: { ["\n", "\r", "\r\n"].contains($0) })
        {
            text += "data: \(line)\n"
        }
        return Array((text + "\n").utf8)
    }

    /// What keeps a silent stream open through proxies.
    package static let comment = Array(": \n\n".utf8)
}
