import FileValues
import Foundation
import LinuxKernel
import SystemMonitor
import TestSupport
import Testing

@testable import DaemonHost
@testable import DaemonSupport
@testable import Ingest

@Suite("Pauses are kept over restarts")
struct PauseStoreTests {
    private let scratch: ScratchDirectory
    private let queue = MonitorQueue(label: "test.pauses")

    init() throws { scratch = try ScratchDirectory() }

    private func keeper() throws -> PauseStore { try PauseStore(in: BytePath(scratch.path), queue: queue) }

    @Test func roundTrip() async throws {
        let first = try keeper()
        #expect(first.pause(of: "card") == nil)
        let pause = InboxPause(
            since: FileTime(seconds: 1_795_262_400, nanoseconds: 0), by: Requester(user: 1_000, name: "ana"))
        try await first.set("card", pause)
        try await first.set("phones", InboxPause(since: pause.since, by: Requester(user: 7, name: nil)))
        try await first.set("phones", nil)
        let second = try keeper()
        #expect(second.pause(of: "card") == pause && second.pause(of: "phones") == nil)
        #expect(second.pause(of: "card")?.by.words == "ana")
        let left = try openDirectory(BytePath(scratch.path)).entries().map(\.name)
        #expect(left == ["paused"])
    }

    @Test("A file that cannot be understood is no reason to take what somebody wanted left alone")
    func damaged() throws {
        try Data("{\"format\":1,".utf8).write(to: URL(filePath: scratch.appending("paused")))
        let error = #expect(throws: SetupError.self) { try keeper() }
        #expect("\(error.map { "\($0)" } ?? "")".contains("remove it to resume all"))
    }
}
