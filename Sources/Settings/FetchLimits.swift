/// The limits of a batch: of each download, and how many run at once. A value.
package struct FetchLimits: Hashable, Sendable, Codable {
    /// Downloads that run at the same time.
    package var atOnce: Int
    /// The time limit for one download, with its retries and pauses, in seconds.
    package var deadline: Int64
    /// How long a try may receive nothing, in seconds.
    package var stall: Int64
    /// The largest download, in bytes.
    package var largest: UInt64
    /// The maximum number of tries of one download.
    package var tries: Int
    /// The pause before the second try, in milliseconds; doubled before each further one.
    package var pause: Int64
    /// Private networks, or addresses of this machine, that may be connected to.
    package var allowed: [NetworkRange]
    /// The maximum number of redirects of one try.
    package var redirects: Int

    package init(
        atOnce: Int = 8, deadline: Int64 = 1_800, stall: Int64 = 30, largest: UInt64 = 4 << 30, tries: Int = 5,
        pause: Int64 = 1_000, allowed: [NetworkRange] = [], redirects: Int = 5
    ) {
        self.atOnce = atOnce
        self.deadline = deadline
        self.stall = stall
        self.largest = largest
        self.tries = tries
        self.pause = pause
        self.allowed = allowed
        self.redirects = redirects
    }

    /// The maximum number of downloads at once.
    package static let mostAtOnce = 64
    /// The maximum number of addresses of one batch.
    package static let mostAddresses = 10_000
    /// The longest pause before a try, in milliseconds, even if the server requests a longer one.
    package static let longestPause: Int64 = 60_000

    /// Returns why an address may not be connected to; nil if it may.
    package func refusal(of address: NetworkAddress) -> String? {
        guard let reason = address.privateReason, !allowed.contains(where: { $0.contains(address) }) else { return nil }
        return "\(address) is \(reason), which fetch.allow-private does not name"
    }

    /// Returns the pause before try number `next` (2 is the second), in milliseconds: doubled each time, or the pause
    /// that the server `asked` for, if that is longer.
    package func pause(before next: Int, asked: Int64?) -> Int64 {
        let own = pause << min(max(0, next - 2), 16)
        return min(max(own, asked ?? 0), Self.longestPause)
    }

    /// The limits within safe bounds, since they may come from a socket.
    package var bounded: FetchLimits {
        var limits = self
        limits.atOnce = min(max(1, atOnce), Self.mostAtOnce)
        limits.deadline = min(max(1, deadline), 7 * 86_400)
        limits.stall = min(max(1, stall), 3_600)
        limits.tries = min(max(1, tries), 100)
        limits.pause = min(max(0, pause), Self.longestPause)
        limits.redirects = min(max(0, redirects), 20)
        return limits
    }
}
