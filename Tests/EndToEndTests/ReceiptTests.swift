import ControlProtocol
import DropStore
import FileValues
import Filing
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import DropPages

extension EndToEnd {
    /// What the daemon says of uploads in its inbox, and when it says that they are safe.
    @Suite("Receipts of uploads", .timeLimit(.minutes(60)))
    struct Receipts {
        /// The store of the house's inbox, and one who looks at what becomes of ana's uploads.
        final class Door: Sendable {
            let store: DropStore
            private let house: House
            private let hub: ReceiptHub
            private let seen = Locked<[UploadID: String]>([:])
            private let ana = DropOwner.person("ana")
            private let looking: Locked<Task<Void, Never>?> = Locked(nil)

            /// `safe` is called whenever an upload is called safe, before that is recorded here.
            init(_ house: House, safe: @escaping @Sendable (UploadID) -> Void = { _ in }) throws {
                self.house = house
                var options = DropStore.Options()
                options.minFree = 0
                store = try DropStore(BytePath(house.inbox), options)
                let hub = ReceiptHub(
                    store, inbox: "card",
                    ask: { request in (try? await house.exchange(framed(request.json()))) ?? nil },
                    pause: { _ in try? await Task.sleep(for: .milliseconds(5)) })
                self.hub = hub
                let seen = seen
                looking.withLock { task in
                    task = Task {
                        while !Task.isCancelled {
                            for await bytes in await hub.events(for: .person("ana"), after: nil) {
                                let text = String(decoding: bytes, as: UTF8.self)
                                guard let found = text.firstMatch(of: #/"upload":"([0-9a-f]+)"/#),
                                    let id = UploadID(found.1)
                                else { continue }
                                if text.contains("\"safe\":true") { safe(id) }
                                seen.withLock { $0[id] = text }
                            }
                        }
                    }
                }
            }

            deinit { looking.withLock { $0?.cancel() } }

            func place(_ content: Data, as name: String) throws -> UploadID {
                let new = NewUpload(ana, try DropName(Array(name.utf8), of: ana), length: UInt64(content.count))
                let id = try store.create(new)
                try store.append(to: id, at: 0).write(Array(content))
                #expect(try store.complete(id).path != nil)
                return id
            }

            /// The receipt of an upload, when it has all of these words.
            @discardableResult
            func receipt(of id: UploadID, _ words: String...) async throws -> String {
                let found = try await poll {
                    seen.withLock { $0[id] }
                } until: { text in
                    words.allSatisfy { text?.contains($0) == true }
                }
                return found ?? ""
            }

            func isSafe(_ id: UploadID) -> Bool { seen.withLock { $0[id]?.contains("\"safe\":true") == true } }

            /// What one who comes now hears of it.
            func anew(_ id: UploadID) async throws -> String {
                for await bytes in await hub.events(for: ana, after: nil) {
                    let text = String(decoding: bytes, as: UTF8.self)
                    if text.contains("\(id)") { return text }
                }
                return ""
            }
        }

        @Test("Filed, there already, cut short, taken back, removed, paused: each has its receipt")
        func outcomes() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let door = try Door(house)
            let photo = try Photos.unique(1)
            let first = try door.place(photo, as: "a.jpg")
            let filed = try await door.receipt(of: first, "\"step\":\"filed\"", "\"safe\":true")
            let place = try #require(filed.firstMatch(of: #/"where":"([^"]+)"/#)).1
            #expect(house.files(in: house.library)[String(place)] == photo)
            let again = try door.place(photo, as: "b.jpg")
            try await door.receipt(of: again, "\"step\":\"duplicate\"", "\"safe\":true", "\"where\":\"\(place)\"")
            let text = try door.place(Data("Harbour, evening\n".utf8), as: "notes.txt")
            try await door.receipt(of: text, "\"step\":\"stays\"", "\"safe\":false", "\"reason\":\"not a photo")
            let cut = try door.place(photo.prefix(photo.count / 2), as: "c.jpg")
            try await door.receipt(of: cut, "\"step\":\"quarantined\"", "\"safe\":false", "\"reason\"")
            let aside = try await house.ask("list", "--outcome", "quarantined", "--json")
            let number = try #require(aside.text.firstMatch(of: #/"operation": ?(\d+)/#), "\(aside.lines)").1
            #expect(try await house.ask("discard", String(number), "--yes").status == 0)
            try await door.receipt(of: cut, "\"step\":\"discarded\"", "\"safe\":false", "\"reason\"")

            _ = try await house.ask("pause", "card")
            let second = try Photos.unique(2)
            let waiting = try door.place(second, as: "d.jpg")
            try await door.receipt(of: waiting, "\"step\":\"inbox\"", "\"safe\":false")
            unlink(house.inbox + "/\(try #require(door.store.record(waiting).path))")
            _ = try await house.ask("resume", "card")
            try await door.receipt(of: waiting, "\"step\":\"lost\"", "\"safe\":false")

            // Safe is what it is now, not what it was.
            let listed = try await house.ask("list", "--outcome", "filed", "--json")
            let operation = try #require(listed.text.firstMatch(of: #/"operation": ?(\d+)/#), "\(listed.lines)").1
            #expect(try await house.ask("undo", String(operation)).status == 0)
            for id in [first, again] {
                let text = try await door.anew(id)
                #expect(text.contains("\"step\":\"returned\"") && text.contains("\"safe\":false"), "\(text)")
            }
            try await daemon.stop()
            let down = try await door.anew(first)
            #expect(down.contains("\"step\":\"inbox\"") && down.contains("\"safe\":false"), "\(down)")
        }

        @Test("What the library has is asked by content; a mount that is gone makes nothing safe")
        func known() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let door = try Door(house)
            let id = try door.place(try Photos.unique(1), as: "a.jpg")
            try await door.receipt(of: id, "\"safe\":true")
            let hash = try #require(door.store.record(id).digest).bytes
            func known() async throws -> [Bool]? {
                let request = ControlRequest(.known([hash, Array(repeating: 0, count: 32)]))
                return try await house.exchange(framed(request.json()))?.known
            }
            #expect(try await known() == [true, false])
            try move(house.library, to: house.path("elsewhere"))
            try house.drop(try Photos.unique(3), as: "c.jpg")
            try await daemon.line(holding: "library")
            let text = try await poll {
                try await door.anew(id)
            } until: {
                $0.contains("\"safe\":false")
            }
            #expect(text.contains("\"warning\""), "\(text)")
            #expect(try await known() == [false, false])
            try move(house.path("elsewhere"), to: house.library)
            try await poll {
                try await known()
            } until: {
                $0 == [true, false]
            }
            try await daemon.stop()
        }

        /// Whether the daemon says that the library has this upload's content.
        private func known(_ id: UploadID, _ door: Door, _ house: House) async throws -> [Bool]? {
            let request = ControlRequest(.known([try #require(door.store.record(id).digest).bytes]))
            return try await house.exchange(framed(request.json()))?.known
        }

        @Test("What the library has lost, or another library is configured for, is neither safe nor known")
        func recordsAlone() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let door = try Door(house)
            let photo = try Photos.unique(1)
            let (first, second) = (
                try door.place(photo, as: "a.jpg"), try door.place(try Photos.unique(2), as: "b.jpg")
            )
            let filed = try await door.receipt(of: first, "\"safe\":true")
            let kept = try await door.receipt(of: second, "\"safe\":true")
            let place = try #require(filed.firstMatch(of: #/"where":"([^"]+)"/#)).1
            // An open page hears it, too.
            #expect(unlink(house.library + "/" + place) == 0)
            try await door.receipt(of: first, "\"step\":\"lost\"", "\"safe\":false")
            #expect(try await known(first, door, house) == [false])
            #expect(try await known(second, door, house) == [true])
            // So it is sent again, and filed anew.
            let again = try door.place(photo, as: "c.jpg")
            try await door.receipt(of: again, "\"step\":\"filed\"", "\"safe\":true")
            #expect(house.places(of: photo).count == 1)
            // What a program has written to has the same size, and nobody knows its bytes.
            let written = house.library + "/" + (try #require(kept.firstMatch(of: #/"where":"([^"]+)"/#)).1)
            let size = try Data(contentsOf: URL(filePath: written)).count
            try await poll {
                try FileHandle(forWritingTo: URL(filePath: written)).write(contentsOf: Data(count: size))
                return door.isSafe(second)
            } until: {
                !$0
            }
            #expect(try await known(second, door, house) == [false])
            try await daemon.stop()

            #expect(mkdir(house.path("library2"), 0o755) == 0)
            let next = try await house.start(configuration: House.oneCard.replacing("@library", with: "@library2"))
            for id in [first, second, again] {
                let text = try await door.anew(id)
                #expect(text.contains("\"safe\":false"), "\(text)")
                #expect(try await known(id, door, house) == [false])
            }
            try await next.stop()
        }

        @Test("A catalogue of before an undo does not make safe what the library gave back")
        func backup() async throws {
            let house = try House()
            var daemon = try await house.start(configuration: House.oneCard)
            let door = try Door(house)
            let (id, other) = (
                try door.place(try Photos.unique(1), as: "a.jpg"), try door.place(try Photos.unique(2), as: "b.jpg")
            )
            for id in [id, other] { try await door.receipt(of: id, "\"safe\":true") }
            try await daemon.stop()
            #expect(mkdir(house.path("before"), 0o755) == 0)
            for name in try FileManager.default.contentsOfDirectory(atPath: house.path("st")) where name != "run" {
                try FileManager.default.copyItem(
                    atPath: house.path("st/\(name)"), toPath: house.path("before/\(name)"))
            }
            daemon = try await house.start(configuration: House.oneCard)
            let listed = try await house.ask("list", "--outcome", "filed", "--json")
            let operation = try #require(listed.text.firstMatch(of: #/"operation": ?(\d+)/#), "\(listed.lines)").1
            #expect(try await house.ask("undo", String(operation)).status == 0)
            try await poll {
                [door.isSafe(id), door.isSafe(other)]
            } until: {
                $0.contains(false)
            }
            let returned = door.isSafe(id) ? other : id
            try await daemon.stop()
            try FileManager.default.removeItem(atPath: house.path("st"))
            try move(house.path("before"), to: house.path("st"))
            daemon = try await house.start(configuration: House.oneCard)
            let text = try await door.anew(returned)
            #expect(text.contains("\"safe\":false"), "\(text)")
            #expect(try await known(returned, door, house) == [false])
            try await daemon.stop()
        }

        @Test(
            "A daemon that is killed at any call has called nothing safe that it has not filed",
            .enabled(if: ControlKills.canTrace, "skipped: needs strace"), .tags(.campaign),
            arguments: ControlKills.calls)
        func killed(calls: String) async throws {
            var kills = 0
            for number in stride(from: 1, to: 60, by: 3) {
                let house = try House(running: [
                    "/usr/bin/strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e",
                    "inject=\(calls):signal=SIGKILL:when=\(number)",
                ])
                try house.configure(House.oneCard)
                let photo = try Photos.unique(number)
                let early = Locked<[String]>([])
                let door = try Door(house) { _ in
                    if !house.files(in: house.library).values.contains(photo) {
                        early.withLock { $0.append("safe before the library had it") }
                    }
                }
                let id = try door.place(photo, as: "a.jpg")
                let traced = try house.launch(["--config", house.path("photoinbox.toml")])
                try await poll {
                    traced.hasEnded || door.isSafe(id)
                } until: {
                    $0
                }
                let isDone = !traced.hasEnded
                if !isDone { kills += 1 }
                traced.signal(SIGKILL)
                _ = try await traced.ending()
                #expect(early.withLock { $0 } == [], "\(calls) \(number)")
                // The next one finishes what was begun, and says the same of what was called safe.
                let next = try RunningProgram([
                    BuiltPrograms.path("photoinboxd"), "--config", house.path("photoinbox.toml"),
                ])
                try await door.receipt(of: id, "\"safe\":true")
                try await poll {
                    house.places(of: photo)
                } until: {
                    $0.count == 1 && $0[0].hasPrefix("library/")
                }
                next.signal(SIGTERM)
                _ = try await next.ending()
                #expect(early.withLock { $0 } == [], "\(calls) \(number)")
                if isDone { break }
            }
            #expect(kills >= 3, "\(kills) kills")
        }
    }
}
