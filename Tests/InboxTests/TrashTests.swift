import Catalogue
import ControlProtocol
import FileValues
import LinuxKernel
import TestSupport
import Testing

@testable import Ingest

@Suite("The trash is emptied by the time that has passed, not by the clock on the wall")
struct TrashTests {
    private static let day: Int64 = 86_400_000_000_000

    private func reading(_ boot: String, day boottime: Int64, wall: Int64) -> ClockReading {
        ClockReading(boot: boot, boottime: boottime * Self.day, wall: wall * Self.day)
    }

    @Test func aClockThatJumpsAheadDeletesNothing() async throws {
        let scratch = try ScratchDirectory()
        let house = try WorkerHouse(scratch.path, extra: "[filing]\ntrash = \"30d\"")
        for name in ["a.jpg", "b.jpg"] {
            try house.drop([name: "exif.jpg"])
            await house.file([name])
        }
        let outcomes = try house.catalogue.outcomes(forPath: "b.jpg", inbox: "card")
        let duplicate = try #require(outcomes.first { $0.outcome.outcome == .duplicate })
        let facts = OperationFacts(outcome: duplicate, photo: nil, requests: [])
        let request = FileRequest(what: .discard, requester: Requester(user: 0, name: "ana"), isDryRun: false)
        #expect(await house.worker.carryOut(request, [facts]).map(\.answer.status) == [0])

        let began = await house.worker.expireTrash(now: reading("a", day: 1, wall: 0))
        #expect(began.deleted.isEmpty && began.next == Self.day + Self.day / 24, "the time is written down each hour")
        for wall in [45, 20_000, 1] as [Int64] {
            let jumped = await house.worker.expireTrash(now: reading("a", day: 2, wall: wall))
            #expect(jumped.deleted.isEmpty && house.files("trash").count == 1)
        }
        // The machine was off, by whichever clock; then it runs.
        let started = await house.worker.expireTrash(now: reading("b", day: 0, wall: 90))
        #expect(started.deleted.isEmpty)
        let early = await house.worker.expireTrash(now: reading("b", day: 27, wall: 117))
        #expect(early.deleted.isEmpty && house.files("trash").count == 1)
        let due = await house.worker.expireTrash(now: reading("b", day: 28, wall: 118))
        #expect(due.deleted == [BytePath("\(scratch.path)/trash/card/b.jpg")] && due.next == .max)
        #expect(house.files("trash").isEmpty && house.files("library").count == 1)
        withExtendedLifetime(scratch) {}
    }
}
