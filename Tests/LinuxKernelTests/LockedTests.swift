import Dispatch
import LinuxKernel
import TestSupport
import Testing

@Suite("A lock", .timeLimit(.minutes(1)))
struct LockedTests {
    @Test("Who does not want to wait for ever gets nothing while somebody else holds it, and the value after that")
    func patience() async throws {
        let locked = Locked(0)
        try await aside {
            let (isHeld, isGivenUp, isFree) = (
                DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
            )
            Thread.start {
                locked.withLock { value in
                    value = 7
                    isHeld.signal()
                    isGivenUp.wait()
                }
                isFree.signal()
            }
            isHeld.wait()
            #expect(locked.withLock(waitingAtMost: .milliseconds(3)) { $0 } == nil)
            isGivenUp.signal()
            isFree.wait()
            #expect(locked.withLock(waitingAtMost: .zero) { $0 } == 7)
        }
    }
}
