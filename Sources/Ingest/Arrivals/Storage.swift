/// What photos are filed into: what may refuse them all.
package struct Storage: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The library, and what lies beside it.
    package static let library = Storage(rawValue: 1)
    package static let catalogue = Storage(rawValue: 2)
}
