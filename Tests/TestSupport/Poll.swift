/// Repeats `value` until `isWanted` holds for it, and returns it: for what nothing announces. Fails after a while, with the
/// last one.
@discardableResult
public func poll<Value>(
    _ value: () async throws -> Value, until isWanted: (Value) throws -> Bool,
    isolation: isolated (any Actor)? = #isolation
) async throws -> Value {
    let end = ContinuousClock.now + .seconds(waitLimit)
    while true {
        let last = try await value()
        if try isWanted(last) { return last }
        if ContinuousClock.now > end { throw PolledInVain(last: "\(last)") }
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// What was waited for did not come in time.
struct PolledInVain: Error, CustomStringConvertible {
    let last: String
    var description: String { "waited in vain; in the end there was: \(last.prefix(4_000))" }
}
