import LinuxKernel

/// What each hook is doing, for the state dump: filled by those who run them, copied by any thread.
package final class HookBoard: Sendable {
    struct Entry: Sendable {
        var name: String
        var events: [String] = []
        /// `idle`, `running`, `waiting` to try again.
        var phase = "idle"
        var since = Moment.now
        /// Up to which operation it was told.
        var told: Int64?
        /// Files that waited when they were last counted.
        var waiting = 0
        var runs = 0
        /// In a row.
        var failures = 0
        var passedOver = 0
        var last: (ending: HookEnding, at: Moment)?

    }

    private let entries = Locked<[String: Entry]>([:])

    package init() {}

    func change(_ name: String, _ body: (inout Entry) -> Void) {
        entries.withLock { entries in
            var entry = entries[name] ?? Entry(name: name)
            body(&entry)
            entries[name] = entry
        }
    }

    func enter(_ name: String, _ phase: String) {
        change(name) {
            if $0.phase == phase { return }
            $0.phase = phase
            $0.since = .now
        }
    }

    func remove(_ name: String) { entries.withLock { $0[name] = nil } }

    /// By name.
    var all: [Entry] { entries.withLock { $0.values.sorted { $0.name < $1.name } } }
}
