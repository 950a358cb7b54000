/// An event of an event stream; see the HTML standard, 9.2.
package struct ServerEvent: Hashable, Sendable {
    /// A word.
    package let name: String
    /// Any text.
    package let data: String

    package init(_ name: String, _ data: String) { (self.name, self.data) = (name, data) }

    /// Its bytes: a line for each line of the data, and a blank one.
    package var bytes: [UInt8] {
        var text = "event: \(name)\n"
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
