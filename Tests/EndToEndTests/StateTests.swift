import ControlProtocol
import Foundation
import Glibc
import TestSupport
import Testing

extension DaemonState.Counts {
    /// Counted in files.
    var balances: Bool { seen == filed + duplicate + quarantined + ignored + withdrawn + deferred + inHand }
}

extension EndToEnd {
    @Suite("SIGUSR1 dumps the whole state at any time")
    struct State {
        @Test("Every part is filled, and the counters balance")
        func whole() async throws {
            let house = try House()
            let daemon = try await house.start("--patience", "10m")
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try house.drop(Data("text".utf8), as: "note.txt")
            try house.drop(try Photos.unique(2).prefix(900), as: "cut.jpg")
            try await daemon.lines(holding: ["filed inbox/a.jpg", "ignored inbox/note.txt", "deferred inbox/cut.jpg"])
            try house.drop(try Photos.unique(1), as: "b.jpg")
            try await daemon.line(holding: "duplicate inbox/b.jpg")

            // The library's free space is read asynchronously.
            let state = try await house.state(of: daemon) { $0.libraryFreeBytes != nil }
            let inbox = try #require(state.inboxes.first)
            #expect(inbox.counts.balances)
            #expect(inbox.counts.seen == 4 && inbox.counts.filed == 1 && inbox.counts.duplicate == 1)
            #expect(inbox.counts.ignored == 1 && inbox.counts.deferred + inbox.counts.inHand == 1)
            #expect(inbox.path == house.inbox && inbox.mode == "move" && inbox.verdict == "live" && inbox.watches == 1)
            #expect(inbox.lastReconciliation != nil)
            #expect(state.inHand.map(\.file) == ["cut.jpg"])
            #expect(state.inHand.first?.until != nil || state.inHand.first?.stage != "deferred")
            #expect(Set(state.outcomes.map(\.outcome)) == ["filed", "ignored", "duplicate"])
            #expect(state.outcomes.first { $0.outcome == "filed" }?.sha256?.count == 64)
            #expect(state.outcomes.allSatisfy { !$0.reason.isEmpty && $0.at.hasSuffix("Z") })
            #expect(state.problems.isEmpty)
            #expect(state.format == 1 && state.program.pid == Int(daemon.pid) && state.program.phase == "running")
            #expect(state.program.residentBytes > 1 << 20 && state.program.descriptors > 5 && state.program.threads > 0)
            #expect(state.library == house.library && (state.libraryFreeBytes ?? 0) > 0)
            let kinds = Set(state.monitors.map(\.kind))
            #expect(
                kinds.isSuperset(of: ["SignalMonitor", "TimerMonitor", "DirectoryMonitor", "BusyMonitor"]), "\(kinds)")
            #expect(state.monitors.allSatisfy { $0.state == "active" && !$0.queue.isEmpty && !$0.since.isEmpty })
            let signals = try #require(state.monitors.first { $0.kind == "SignalMonitor" })
            #expect(signals.queue.hasSuffix("signals"))
            let subsystems = Set(state.subsystems.map(\.name))
            #expect(
                subsystems.isSuperset(of: ["pipeline", "watch", "catalogue", "signals", "control", "files of inbox"]))
            #expect(state.subsystems.allSatisfy { $0.stuckSeconds == nil && !$0.step.isEmpty })
            #expect(state.log.sent > 0 && state.log.dropped == 0)
            try await daemon.stop()
        }

        @Test("The dump is written atomically, for its owner and group only")
        func atomic() async throws {
            let house = try House()
            let daemon = try await house.start()
            for _ in 0..<20 { _ = try await house.state(of: daemon) }
            // By the file watch.cookie, which comes and goes, the watch sees that it hears events.
            let files = Set(house.files(in: house.path("st/run")).keys).subtracting(["watch.cookie"])
            #expect(files == ["photoinboxd.pid", "state.json"])
            var status = stat()
            #expect(stat(house.path("st/run/state.json"), &status) == 0 && status.st_mode & 0o007 == 0)
            try await daemon.stop()
        }

        @Test("A dump during much work is written, and balances each time")
        func busy() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let count = 150
            try makeDirectory("\(house.outside)/many")
            for number in 0..<count {
                try write(try Photos.unique(number), to: "\(house.outside)/many/\(number).jpg")
            }
            // Paused, it is at work for as long as the test wants.
            #expect(try await house.ask("pause", "card").status == 0)
            try move("\(house.outside)/many", to: "\(house.inbox)/many")
            var counts = try #require(try await house.state(of: daemon).inboxes.first?.counts)
            while counts.inHand == 0 { counts = try #require(try await house.state(of: daemon).inboxes.first?.counts) }
            #expect(counts.balances)
            #expect(try await house.ask("resume", "card").status == 0)
            while counts.filed < count {
                counts = try #require(try await house.state(of: daemon).inboxes.first?.counts)
                #expect(counts.balances)
            }
            #expect(house.files(in: house.library).count == count)
            let state = try await house.state(of: daemon)
            #expect(state.outcomes.count == 50, "the last fifty")
            try await daemon.stop()
        }
    }
}
