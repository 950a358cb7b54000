/// Repeats `value` until `isWanted` accepts it, and returns it: for changes without an event. Fails at a deadline, with
/// the last value.
@discardableResult
public func poll<Value>(
    _ value: () async throws -> Value, until isWanted: (Value) throws -> Bool,
    isolation: isolated (any Actor)? = #isolation
) async throws -> Value {
    let end = ContinuousClock.now + .seconds(waitLimit)
    while true {
        let last = try await value()
        if try isWanted(last) { return last }
        if ContinuousClock.now > end { throw PollTimedOut(last: "\(last)") }
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// The wanted value did not appear in time.
public struct PollTimedOut: Error, CustomStringConvertible {
    let last: String
    /// The last value.
    public var description: String { "waited in vain; in the end there was: \(last.prefix(4_000))" }
}
