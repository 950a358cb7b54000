/// How a batch is fetched: what each download may take, and how many run at once. A value.
package struct FetchLimits: Hashable, Sendable, Codable {
    /// Downloads that run at the same time.
    package var atOnce: Int
    /// What one download may take in all, its tries and the pauses between them included; in seconds.
    package var deadline: Int64
    /// For so many seconds without a byte a try goes on.
    package var stall: Int64
    /// Bytes of one download.
    package var largest: UInt64
    /// Tries of one download.
    package var tries: Int
    /// Before the second try, in milliseconds; twice as long before each that follows.
    package var pause: Int64
    /// Networks that are connected to although they are private, or this machine itself.
    package var allowed: [NetworkRange]
    /// Redirects of one try.
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

    /// Downloads at once, at most.
    package static let mostAtOnce = 64
    /// Addresses of one batch, at most.
    package static let mostAddresses = 10_000
    /// The longest pause before a try, in milliseconds, whatever a server asks for.
    package static let longestPause: Int64 = 60_000

    /// Why an address is not connected to; nil if it is.
    package func refusal(of address: NetworkAddress) -> String? {
        guard let reason = address.privateReason, !allowed.contains(where: { $0.contains(address) }) else { return nil }
        return "\(address) is \(reason), which fetch.allow-private does not name"
    }

    /// How long to wait before try number `next` (2 is the second), in milliseconds: twice as long each time, or as long
    /// as the server has `asked` for, if that is longer.
    package func pause(before next: Int, asked: Int64?) -> Int64 {
        let own = pause << min(max(0, next - 2), 16)
        return min(max(own, asked ?? 0), Self.longestPause)
    }

    /// As they may be used: nothing that came over a socket makes them endless or nothing at all.
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
