import LinuxKernel
public import Testing

/// Limits the number of a suite's tests that run at a time, including nested suites: for tests that start
/// programs, most of which mainly wait.
public struct ParallelLimit: SuiteTrait, TestTrait, TestScoping {
    private final class Slots: Sendable {
        private let state: Locked<(free: Int, waiting: [CheckedContinuation<Void, Never>])>

        init(_ count: Int) { state = Locked((count, [])) }

        func acquire() async {
            await withCheckedContinuation { continuation in
                let isFree = state.withLock { state in
                    if state.free == 0 {
                        state.waiting.append(continuation)
                        return false
                    }
                    state.free -= 1
                    return true
                }
                if isFree { continuation.resume() }
            }
        }

        func release() {
            let next = state.withLock { state in
                if state.waiting.isEmpty { state.free += 1 }
                return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
            }
            next?.resume()
        }
    }

    private let slots: Slots

    fileprivate init(_ count: Int) { slots = Slots(count) }

    /// Nested suites share the limit.
    public var isRecursive: Bool { true }

    /// Runs a test when a slot is free.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        await slots.acquire()
        defer { slots.release() }
        try await function()
    }
}

extension Trait where Self == ParallelLimit {
    /// At most `count` tests of the suite at a time.
    public static func atMost(_ count: Int) -> Self { ParallelLimit(count) }
}
