/// How often passwords are tried. A value without a clock.
///
/// By name, so that nobody's password is guessed, and in all, since names can be guessed too and each try costs time.
package struct TryLimit: Sendable {
    /// Of one name within ``period``.
    package static let ofName = 5
    /// Of all names.
    package static let ofAll = 60
    package static let period = Duration.seconds(60)

    private var tries: [(name: String, at: ContinuousClock.Instant)] = []

    package init() {}

    /// Whether a try is allowed now; counts it if so.
    package mutating func tries(_ name: String, at now: ContinuousClock.Instant) -> Bool {
        tries.removeAll { now - $0.at >= Self.period }
        guard tries.count < Self.ofAll, tries.count(where: { $0.name == name }) < Self.ofName else { return false }
        tries.append((name, now))
        return true
    }

    /// The password was right: the name's tries count no more.
    package mutating func succeeded(_ name: String) { tries.removeAll { $0.name == name } }
}
