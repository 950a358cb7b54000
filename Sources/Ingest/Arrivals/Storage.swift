/// What photos are filed into: what may refuse them all.
package struct Storage: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The library, and what lies beside it.
    package static let library = Storage(rawValue: 1)
    package static let catalogue = Storage(rawValue: 2)
    /// The catalogue's server was away, or busy: whether it is back is shown by any trial, and not only by what it refused.
    package static let server = Storage(rawValue: 4)
}
