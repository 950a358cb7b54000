/// A request that is sent once at a time. One that is made meanwhile is sent afterwards, since the result of the first may be
/// older than the reason for the second.
enum CoalescedRequest {
    case idle, underWay, stale

    /// Whether to send it now.
    mutating func begin() -> Bool {
        defer { self = self == .idle ? .underWay : .stale }
        return self == .idle
    }

    /// The result came. Whether to send it again.
    mutating func end() -> Bool {
        defer { self = .idle }
        return self == .stale
    }
}
