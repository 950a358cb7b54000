import ControlProtocol
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    @Suite("A restart examines only changed files")
    struct Restarts {
        @Test("Of 1,000 files that stay, only those that changed meanwhile are reported")
        func thousand() async throws {
            let house = try House()
            for sub in 0..<10 { try makeDirectory("\(house.inbox)/\(sub)") }
            for number in 0..<970 {
                let name = ["notes.txt", "photo.xmp", "photo.jpg.part", "list"][number % 4]
                try write(Data("\(number)".utf8), to: "\(house.inbox)/\(number % 10)/\(number)-\(name)")
            }
            for number in 0..<10 {
                try house.drop(try Photos.unique(number), as: "\(number)/photo.jpg")
                #expect(symlink("/nowhere", "\(house.inbox)/\(number)/link") == 0)
                #expect(mkfifo("\(house.inbox)/\(number)/pipe", 0o644) == 0)
            }
            var daemon = try await house.start("--mode", "copy")
            _ = try await settled(daemon, house, seen: 1_000)
            try await daemon.stop()

            daemon = try await house.start("--mode", "copy")
            var inbox = try await reconciled(daemon, house)
            #expect(inbox.counts.seen == 0 && inbox.knownFiles == 1_000)
            // Neither names of unfinished files, nor links and pipes, nor photos that were copied.
            #expect(inbox.leftAlone == 728)
            #expect(daemon.count(of: "1000 files of inbox need nothing more") == 1)
            for name in ["0/0-notes.txt", "1/1-photo.xmp", "2/2-photo.jpg.part", "3/3-list", "4/link", "5/pipe"] {
                let answer = try await explain(name, house)
                #expect(answer.contains { $0.contains("ignored") || $0.contains("not finished") }, "\(answer)")
            }
            #expect(try await explain("6/photo.jpg", house).contains { $0.contains("filed as") })
            daemon.signal(SIGUSR2)
            inbox = try await settled(daemon, house, seen: 0)
            try await daemon.stop()

            // Added, changed, renamed, removed, replaced, only attributes changed.
            try write(Data("new".utf8), to: "\(house.inbox)/3/new.txt")
            try write(Data("more".utf8), to: "\(house.inbox)/0/0-notes.txt")
            try move("\(house.inbox)/1/1-photo.xmp", to: "\(house.inbox)/2/moved.xmp")
            unlink("\(house.inbox)/3/3-list")
            try write(Data("x".utf8), to: "\(house.outside)/x")
            try move("\(house.outside)/x", to: "\(house.inbox)/4/4-notes.txt")
            #expect(chmod("\(house.inbox)/5/5-photo.xmp", 0o600) == 0)
            try house.drop(try Photos.unique(77), as: "9/another.jpg")
            daemon = try await house.start("--mode", "copy")
            inbox = try await settled(daemon, house, seen: 6)
            #expect(inbox.counts.ignored == 5 && inbox.counts.filed == 1 && inbox.knownFiles == 1_001)
            for name in [
                "3/new.txt", "0/0-notes.txt", "2/moved.xmp", "4/4-notes.txt", "5/5-photo.xmp",
            ] {
                #expect(daemon.count(of: "ignored inbox/\(name): ") == 1, "\(name)")
            }
            try await daemon.stop()
            #expect(try permissions(house.path("st/settled-files")) == 0o600)

            daemon = try await house.start("--mode", "copy")
            inbox = try await reconciled(daemon, house)
            #expect(inbox.counts.seen == 0 && inbox.knownFiles == 1_001)
            try await daemon.stop()
        }

        @Test("After SIGKILL files are known as of the last record, and later ones examined again")
        func killed() async throws {
            let house = try House()
            var daemon = try await house.start()
            try notes(0..<50, house)
            _ = try await settled(daemon, house, seen: 50)
            try await daemon.stop()
            daemon = try await house.start()
            try notes(50..<80, house)
            _ = try await settled(daemon, house, seen: 30)
            daemon.signal(SIGKILL)
            #expect(try await daemon.ending() == .signal(SIGKILL))
            daemon = try await house.start()
            let inbox = try await settled(daemon, house, seen: 30)
            // They were ignored by their content before, so they are only counted.
            #expect(inbox.counts.ignored == 30 && inbox.knownFiles == 80 && inbox.leftAlone == 80)
            try await daemon.stop()
        }

        @Test("A deferred file is reported again and finally gets its outcome")
        func deferred() async throws {
            let house = try House()
            var daemon = try await house.start()
            let photo = try Photos.unique(1)
            try house.drop(photo.prefix(photo.count / 2), as: "cut.jpg")
            try await daemon.line(holding: "deferred inbox/cut.jpg")
            try await daemon.stop()
            daemon = try await house.start(reporting: ["deferred inbox/cut.jpg"])
            try house.drop(photo, as: "cut.jpg")
            try await daemon.line(holding: "filed inbox/cut.jpg")
            try await daemon.stop()
        }

        @Test("All files in a replaced inbox are examined, and the original is known when it is back")
        func replaced() async throws {
            let house = try House()
            var daemon = try await house.start()
            try notes(0..<40, house)
            _ = try await settled(daemon, house, seen: 40)
            try await daemon.stop()
            try move(house.inbox, to: house.path("first"))
            try makeDirectory(house.inbox)
            try notes(0..<10, house)
            daemon = try await house.start()
            var inbox = try await settled(daemon, house, seen: 10)
            #expect(inbox.knownFiles == 10 && inbox.counts.ignored == 10)
            try await daemon.stop()
            try move(house.inbox, to: house.path("second"))
            try move(house.path("first"), to: house.inbox)
            try notes(40..<41, house)
            daemon = try await house.start()
            inbox = try await settled(daemon, house, seen: 1)
            #expect(inbox.knownFiles == 41)
            try await daemon.stop()
        }

        @Test("A damaged record is logged and replaced by a complete one, wherever the damage")
        func damaged() async throws {
            let house = try House()
            var daemon = try await house.start()
            try notes(0..<20, house)
            _ = try await settled(daemon, house, seen: 20)
            try await daemon.stop()
            let path = house.path("st/settled-files")
            var random = SystemRandomNumberGenerator()
            for round in 0..<12 {
                var bytes = try Data(contentsOf: URL(filePath: path))
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch round % 4 {
                case 0: bytes = bytes.prefix(place)
                case 1: bytes.append(UInt8(place & 0xFF))
                default: bytes[place] ^= UInt8.random(in: 1...255, using: &random)
                }
                unlink(path)
                try write(bytes, to: path)
                daemon = try await house.start(reporting: ["settled-files: it"])
                let inbox = try await settled(daemon, house, seen: 20)
                #expect(inbox.knownFiles == 20, "byte \(place) of \(bytes.count)")
                try await daemon.stop()
            }
            daemon = try await house.start()
            #expect(try await reconciled(daemon, house).counts.seen == 0)
            try await daemon.stop()
        }

        @Test("With a new catalogue all files are examined again")
        func newCatalogue() async throws {
            let house = try House()
            var daemon = try await house.start("--mode", "copy")
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg")
            try await daemon.stop()
            for suffix in ["", "-wal", "-shm"] { unlink(house.path("st/catalogue.sqlite\(suffix)")) }
            daemon = try await house.start("--mode", "copy", reporting: ["duplicate inbox/a.jpg"])
            #expect(daemon.count(of: "the catalogue is older than they are") == 1)
            #expect(house.files(in: house.library).count == 1)
            try await daemon.stop()
        }

        // MARK: -

        private func notes(_ numbers: Range<Int>, _ house: House) throws {
            for number in numbers { try house.drop(Data("\(number)".utf8), as: "note \(number)") }
        }

        /// The inbox after its first comparison, with nothing in hand.
        private func reconciled(_ daemon: RunningProgram, _ house: House) async throws -> DaemonState.Inbox {
            let state = try await house.state(of: daemon) { state in
                state.inboxes.contains { $0.lastReconciliation != nil && $0.counts.inHand == 0 }
            }
            return try #require(state.inboxes.first)
        }

        /// The same after this many files have been seen, and another comparison has found no more.
        private func settled(
            _ daemon: RunningProgram, _ house: House, seen: Int, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws -> DaemonState.Inbox {
            _ = try await poll({ try await reconciled(daemon, house) }, until: { $0.counts.seen >= seen })
            let before = try await reconciled(daemon, house).lastReconciliation
            daemon.signal(SIGUSR2)
            let inbox = try await poll(
                { try await reconciled(daemon, house) }, until: { $0.lastReconciliation != before })
            #expect(inbox.counts.seen == seen, "\(daemon.lines)", sourceLocation: sourceLocation)
            #expect(inbox.counts.balances, sourceLocation: sourceLocation)
            return inbox
        }

        private func explain(_ name: String, _ house: House) async throws -> [String] {
            let program = try RunningProgram([
                BuiltPrograms.path("photoinbox"), "explain", "--state", house.path("st"), "inbox/\(name)",
            ])
            _ = try await program.ending()
            return program.lines
        }

        private func permissions(_ path: String) throws -> UInt32 {
            var status = stat()
            #expect(stat(path, &status) == 0)
            return status.st_mode & 0o7777
        }
    }
}
