import Dispatch
import LinuxKernel
import QueueActors
import SystemMonitor
import TestSupport
import Testing

@Suite("A subsystem tells what it does, even while its queue is stuck", .timeLimit(.minutes(60)))
struct SubsystemTests {
    private let queue = MonitorQueue(label: "test.subsystem")

    @Test func itsStepCanBeReadWhileItsQueueIsStuck() async {
        let subsystem = Subsystem(name: "files", queue: queue, isVital: false)
        #expect(subsystem.snapshot().step == nil && subsystem.snapshot().queue == "test.subsystem")
        let (entered, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        queue.async {
            subsystem.enter("syncing a.jpg")
            entered.signal()
            gate.wait()
            subsystem.idle()
        }
        await withCheckedContinuation { done in
            DispatchQueue(label: "test.waiting").async {
                entered.wait()
                done.resume()
            }
        }
        subsystem.waiting(7)
        subsystem.ask()
        subsystem.ask()
        let stuck = subsystem.snapshot()
        #expect(stuck.step == "syncing a.jpg" && stuck.waiting == 7)
        let asked = stuck.askedAt
        #expect(asked != nil)
        if let asked { #expect(stuck.silence(now: asked.later(by: 6)) == 6) }
        gate.signal()
        queue.sync {}
        let free = subsystem.snapshot()
        #expect(free.step == nil && free.askedAt == nil && free.silence(now: .now) == nil)
    }

    @Test("A queue that reads a file block by block answers its probe")
    func longStep() async throws {
        let scratch = try ScratchDirectory()
        let house = try WorkerHouse(scratch.path)
        try house.drop()
        let answered = Locked<[String: Bool]>([:])
        let last = Locked<String?>(nil)
        await house.file(WorkerHouse.set.keys) { [subsystem = house.subsystem] step in
            if let before = last.withLock({ $0 }) {
                answered.withLock { $0[before] = subsystem.snapshot().askedAt == nil }
            }
            last.withLock { $0 = step }
            subsystem.ask()
        }
        #expect(house.files("library").count == 3)
        #expect(answered.withLock { $0["reading the copy again"] } == true)
        #expect(answered.withLock { $0["setting owner, mode and time"] } == false)
    }

    @Test func countdownEndsWithTheLast() {
        let ended = Locked(0)
        queue.sync {
            let countdown = Countdown(2, queue: queue) { ended.withLock { $0 += 1 } }
            countdown.down()
            #expect(ended.withLock { $0 } == 0)
            countdown.down()
            #expect(ended.withLock { $0 } == 1)
        }
    }

    @Test func countdownOfNothingEndsByItself() async {
        await withCheckedContinuation { done in
            queue.async { _ = Countdown(0, queue: queue) { done.resume() } }
        }
    }
}
