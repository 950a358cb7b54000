/// How often passwords are tried. A value without a clock.
///
/// A browser in which the person has signed in before has tries of its own: strangers, who have no such browser, share those
/// of the name, so that nobody's password is guessed, and of all names, since each try costs time. Whatever strangers do, a
/// known browser is not kept out.
package struct TryLimit: Sendable {
    package enum Source: Hashable, Sendable {
        /// One that has signed in by this name before.
        case browser(SecretHash)
        /// Any other, by the name that it gave.
        case stranger(String)

        var isStranger: Bool {
            switch self {
            case .browser: false
            case .stranger: true
            }
        }
    }

    /// Of one source within ``period``.
    package static let ofSource = 5
    /// Of all strangers.
    package static let ofStrangers = 60
    package static let period = Duration.seconds(60)

    private var tries: [(source: Source, at: ContinuousClock.Instant)] = []

    package init() {}

    /// Whether a try is allowed now; counts it if so.
    package mutating func tries(_ source: Source, at now: ContinuousClock.Instant) -> Bool {
        tries.removeAll { now - $0.at >= Self.period }
        guard tries.count(where: { $0.source == source }) < Self.ofSource,
            !source.isStranger || tries.count(where: \.source.isStranger) < Self.ofStrangers
        else { return false }
        tries.append((source, now))
        return true
    }

    /// The password was right: the source's tries count no more.
    package mutating func succeeded(_ source: Source) { tries.removeAll { $0.source == source } }
}
