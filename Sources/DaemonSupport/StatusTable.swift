import LinuxKernel

/// What each of several things is doing, for the state dump. Any thread.
package final class StatusTable<Key: Comparable & Hashable & Sendable, Row: Sendable>: Sendable {
    private let rows = Locked<[Key: Row]>([:])
    private let new: @Sendable (Key) -> Row?

    /// `new` returns the row that is changed where there is none; nil if nothing is to be changed then.
    package init(new: @escaping @Sendable (Key) -> Row?) { self.new = new }

    /// Sets a row; nil removes it.
    package func put(_ key: Key, _ row: Row?) { rows.withLock { $0[key] = row } }

    package func change(_ key: Key, _ body: (inout Row) -> Void) {
        rows.withLock { rows in
            guard var row = rows[key] ?? new(key) else { return }
            body(&row)
            rows[key] = row
        }
    }

    /// In the order of the keys.
    package var all: [Row] { rows.withLock { $0.sorted { $0.key < $1.key }.map(\.value) } }
}
