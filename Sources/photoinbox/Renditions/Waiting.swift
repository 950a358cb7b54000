import Dispatch
import LinuxKernel
import QueueActors

/// Waits on the main thread for an asynchronous function.
func waitFor<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Value {
    let result = Locked<Value?>(nil)
    let done = DispatchSemaphore(value: 0)
    TaskQueue.start {
        let value = await body()
        result.withLock { $0 = value }
        done.signal()
    }
    done.wait()
    guard let value = result.withLock({ $0 }) else { preconditionFailure("signalled without a result") }
    return value
}
