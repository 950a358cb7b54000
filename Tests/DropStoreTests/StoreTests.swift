import FileValues
import Filing
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

@testable import DropStore

/// An inbox, and stores that are opened on it one after the other.
final class DropWorld: Sendable {
    struct Clock: Sendable {
        var boot = "one"
        var boottime: Int64 = 1_000_000_000_000
        var wall: Int64 = 1_795_680_000_000_000_000
        var day = "2026-11-26"
    }

    static let ana = DropOwner.person("ana")

    let scratch: ScratchDirectory
    let clock = Locked(Clock())

    init() throws { scratch = try ScratchDirectory() }

    func open(_ change: (inout DropStore.Options) -> Void = { _ in }) throws -> DropStore {
        var options = DropStore.Options()
        options.minFree = 0
        let clock = clock
        options.clock = {
            clock.withLock { ClockReading(boot: $0.boot, boottime: $0.boottime, wall: $0.wall) }
        }
        options.today = { clock.withLock { $0.day } }
        change(&options)
        return try DropStore(scratch.bytePath, options)
    }

    func pass(seconds: Int64) {
        clock.withLock { clock in
            clock.boottime += seconds * 1_000_000_000
            clock.wall += seconds * 1_000_000_000
        }
    }

    func put(_ path: String, _ text: String) throws {
        let path = BytePath(path)
        let directory = try openDirectory(scratch.bytePath).makeDirectoriesBeneath(path.parent, mode: 0o755)
        try directory.put(Array(text.utf8), as: path.name)
    }

    /// The files that have names, with their contents.
    func files(hidden: Bool = false) throws -> [String: String] {
        var found: [String: String] = [:]
        var pending: [BytePath] = [""]
        let root = try openDirectory(scratch.bytePath)
        while let path = pending.popLast() {
            let directory = try root.openDirectoryBeneath(path)
            for entry in try directory.entries() {
                let inner = path.appending(entry.name)
                if entry.kind == .directory {
                    if inner != DropStore.directory || hidden { pending.append(inner) }
                } else if entry.kind == .regular {
                    let file = try root.openBeneath(inner, .read)
                    let bytes = try file.read(Int(try FileStatus(of: file).identity.size))
                    found[inner.escaped] = String(decoding: bytes, as: UTF8.self)
                }
            }
        }
        return found
    }
}

func digest(_ text: String) -> ContentHash {
    var hasher = ContentHasher()
    Array(text.utf8).withUnsafeBytes { hasher.update($0) }
    return hasher.hash()
}

extension DropStore {
    func create(
        _ name: String, _ length: Int?, of owner: DropOwner = DropWorld.ana, set: DropSet? = nil,
        digest: ContentHash? = nil, _ limits: DropLimits = DropLimits()
    ) throws -> UploadID {
        var new = NewUpload(owner, try DropName(Array(name.utf8), of: owner), length: length.map { UInt64($0) })
        (new.set, new.digest) = (set, digest)
        return try create(new, limits)
    }

    func send(_ text: String, to id: UploadID, at offset: UInt64 = 0, digest: ContentHash? = nil) throws -> UInt64 {
        let writer = try append(to: id, at: offset, digest: digest)
        try writer.write(Array(text.utf8))
        return try writer.finish()
    }

    /// The name in the inbox, once it has one.
    func name(of id: UploadID) throws -> String? {
        if case .placed(_, let path) = try status(of: id).phase { path.escaped } else { nil }
    }
}

@Suite("A store of uploads")
struct StoreTests {
    let world = Result { try DropWorld() }

    @Test("A file has its name when it is whole, and never before")
    func whole() throws {
        let world = try world.get()
        let store = try world.open()
        let id = try store.create("IMG_1.JPG", 10)
        #expect(try store.send("hello", to: id) == 5)
        #expect(throws: DropError.wrongOffset(5)) { try store.complete(id) }
        #expect(try world.files() == [:])
        #expect(throws: DropError.wrongOffset(5)) { try store.append(to: id, at: 4) }
        #expect(throws: DropError.wrongOffset(5)) { try store.append(to: id, at: 6) }
        #expect(try store.send("world", to: id, at: 5) == 10)
        #expect(try world.files() == [:])
        let record = try store.complete(id)
        #expect(record.phase == .placed(digest("helloworld"), "ana/2026-11-26/IMG_1.JPG"))
        #expect(try world.files() == ["ana/2026-11-26/IMG_1.JPG": "helloworld"])
        // Asked again, after an answer was lost.
        #expect(try store.complete(id) == record && store.status(of: id) == record)
        #expect(throws: DropError.placed) { try store.append(to: id, at: 10) }
        #expect(throws: DropError.placed) { try store.end(id) }
    }

    @Test("More than was announced is refused, and an empty file gets no name")
    func lengths() throws {
        let world = try world.get()
        let store = try world.open()
        let id = try store.create("a.jpg", 3)
        #expect(throws: DropError.tooLong(limit: 3)) { try store.send("abcd", to: id) }
        #expect(try store.status(of: id).offset == 0)
        #expect(throws: DropError.empty) { try store.create("b.jpg", 0) }
        let open = try store.create("c.jpg", nil)
        #expect(throws: DropError.empty) { try store.complete(open) }
        #expect(throws: DropError.ended(.empty)) { try store.append(to: open, at: 0) }
        let grown = try store.create("d.jpg", nil)
        _ = try store.send("ab", to: grown)
        #expect(throws: DropError.wrongLength) { try store.setLength(1, of: grown) }
        try store.setLength(3, of: grown)
        #expect(throws: DropError.wrongLength) { try store.setLength(4, of: grown) }
        #expect(throws: DropError.wrongOffset(2)) { try store.complete(grown) }
        _ = try store.send("c", to: grown, at: 2)
        _ = try store.complete(grown)
        #expect(try world.files() == ["ana/2026-11-26/d.jpg": "abc"])
    }

    @Test("Bytes with a digest count when all came and are right; without one, as they come")
    func digests() throws {
        let world = try world.get()
        let store = try world.open()
        let id = try store.create("a.jpg", 6, digest: digest("abcdef"))
        #expect(throws: DropError.wrongDigest) { try store.send("abX", to: id, digest: digest("abc")) }
        #expect(try store.send("abc", to: id, digest: digest("abc")) == 3)
        let cut = try store.append(to: id, at: 3, digest: digest("def"))
        try cut.write(Array("de".utf8))
        #expect(try cut.finish(isCut: true) == 3)
        let plain = try store.append(to: id, at: 3)
        try plain.write(Array("d".utf8))
        #expect(try plain.finish(isCut: true) == 4)
        #expect(try store.send("ef", to: id, at: 4) == 6)
        #expect(try store.complete(id).phase == .placed(digest("abcdef"), "ana/2026-11-26/a.jpg"))
        let wrong = try store.create("b.jpg", 3, digest: digest("abc"))
        _ = try store.send("abd", to: wrong)
        #expect(throws: DropError.wrongDigest) { try store.complete(wrong) }
        #expect(throws: DropError.ended(.wrongDigest)) { try store.complete(wrong) }
        #expect(try world.files().keys.sorted() == ["ana/2026-11-26/a.jpg"])
        #expect(try world.files(hidden: true).keys.count == 2)
    }

    @Test("Pieces that are written and hashed at once are compared with all digests, and wrong ones leave nothing")
    func largePieces() throws {
        let store = try world.get().open()
        let text = String(repeating: "0123456789", count: 20_000)
        let id = try store.create("a.mp4", 600_000, digest: digest(text + text + text))
        for offset: UInt64 in [0, 200_000] {
            let other = String(text.dropLast()) + "X"
            #expect(throws: DropError.wrongDigest) {
                try store.send(other, to: id, at: offset, digest: digest(text))
            }
            #expect(try store.send(text, to: id, at: offset, digest: digest(text)) == offset + 200_000)
        }
        #expect(try store.send(text, to: id, at: 400_000) == 600_000)
        #expect(try store.complete(id).phase == .placed(digest(text + text + text), "ana/2026-11-26/a.mp4"))
    }

    @Test("A second request ends the first, and so does the question for the offset")
    func superseded() throws {
        let store = try world.get().open()
        let id = try store.create("a.jpg", 6)
        let first = try store.append(to: id, at: 0)
        try first.write(Array("ab".utf8))
        #expect(try store.status(of: id).offset == 2)
        #expect(throws: DropError.superseded) { try first.write([1]) }
        #expect(throws: DropError.superseded) { try first.finish() }
        let second = try store.append(to: id, at: 2, digest: digest("cd"))
        try second.write(Array("c".utf8))
        let third = try store.append(to: id, at: 2)
        #expect(throws: DropError.superseded) { try second.write(Array("d".utf8)) }
        try third.write(Array("cdef".utf8))
        #expect(try third.finish() == 6)
        #expect(try store.complete(id).phase == .placed(digest("abcdef"), "ana/2026-11-26/a.jpg"))
    }

    @Test("A name that is taken stays as it is: the next directory has the file")
    func taken() throws {
        let world = try world.get()
        try world.put("ana/2026-11-26/IMG_1.JPG", "theirs")
        try world.put("ana/2026-11-26-2", "a file")
        let store = try world.open()
        for text in ["one", "two"] {
            let id = try store.create("IMG_1.JPG", 3)
            _ = try store.send(text, to: id)
            _ = try store.complete(id)
        }
        #expect(
            try world.files() == [
                "ana/2026-11-26/IMG_1.JPG": "theirs", "ana/2026-11-26-2": "a file",
                "ana/2026-11-26-3/IMG_1.JPG": "one", "ana/2026-11-26-4/IMG_1.JPG": "two",
            ])
    }

    @Test("Of a file in one request nothing is durable before all of it")
    func oneRequest() throws {
        let world = try DropWorld()
        let store = try world.open()
        let piece = [UInt8](repeating: 1, count: 1 << 20)
        for isResumable in [true, false] {
            let id = try store.create("\(isResumable).jpg", 17 << 20)
            let writer = try store.append(to: id, at: 0, isResumable: isResumable)
            for _ in 0..<17 { try writer.write(piece) }
            #expect((try store.record(id).offset > 0) == isResumable)
            #expect(try writer.finish(isLast: true))
            #expect(try store.complete(id).offset == 17 << 20)
        }
    }

    @Test("What stands behind the offset, as after a write that filled the disk, is not part of the file")
    func rest() throws {
        let world = try world.get()
        let store = try world.open()
        let id = try store.create("a.jpg", nil)
        _ = try store.send("abc", to: id)
        let directory = try openDirectory(BytePath(world.scratch.appending(".photo-inbox-drop")))
        try directory.openBeneath(id.part, .readWrite).write(Array("XYZ".utf8), at: 3)
        _ = try store.complete(id)
        #expect(try world.files() == ["ana/2026-11-26/a.jpg": "abc"])
    }

    @Test("The last bytes are known by the length, or by who sends them")
    func last() throws {
        let store = try world.get().open()
        let known = try store.create("a.jpg", 4)
        for (offset, isAll) in [(0, false), (2, true)] {
            let writer = try store.append(to: known, at: UInt64(offset))
            try writer.write(Array("ab".utf8))
            #expect(try writer.finish(isLast: nil) == isAll)
        }
        #expect(try store.complete(known).phase == .placed(digest("abab"), "ana/2026-11-26/a.jpg"))
        let unknown = try store.create("b.jpg", nil)
        for (offset, isLast) in [(0, false), (2, true)] {
            let writer = try store.append(to: unknown, at: UInt64(offset))
            try writer.write(Array("cd".utf8))
            #expect(try writer.finish(isLast: isLast) == isLast)
        }
        #expect(try store.complete(unknown).phase == .placed(digest("cdcd"), "ana/2026-11-26/b.jpg"))
    }

    @Test("Many that end at once get their names, and one that cannot holds up no other")
    func many() async throws {
        let world = try world.get()
        let outside = try ScratchDirectory()
        #expect(symlink(outside.path, world.scratch.appending("bob")) == 0)
        let store = try world.open()
        await withTaskGroup(of: Void.self) { tasks in
            for number in 0..<40 {
                tasks.addTask {
                    let owner: DropOwner = number.isMultiple(of: 8) ? .person("bob") : DropWorld.ana
                    let name = number.isMultiple(of: 3) ? "same.jpg" : "\(number).jpg"
                    try? await aside {
                        let id = try store.create(name, 1, of: owner)
                        _ = try store.send("x", to: id)
                        _ = try store.complete(id)
                    }
                }
            }
        }
        let files = try world.files()
        #expect(files.count == 35 && Set(files.values) == ["x"], "\(files)")
        #expect(files.keys.count { $0.hasSuffix("/same.jpg") } == (0..<40).count { $0 % 3 == 0 && $0 % 8 != 0 })
        #expect(try openDirectory(outside.bytePath).entries().isEmpty)
    }

    @Test("A link in the inbox is not followed")
    func links() throws {
        let world = try world.get()
        let outside = try ScratchDirectory()
        let store = try world.open()
        let id = try store.create("a.jpg", 1)
        #expect(symlink(outside.path, world.scratch.appending("ana")) == 0)
        #expect(throws: DropError.self) { try store.create("b.jpg", 1) }
        _ = try store.send("a", to: id)
        #expect(throws: DropError.self) { try store.complete(id) }
        #expect(try openDirectory(outside.bytePath).entries().isEmpty)
        // The reason is removed, and the upload is still whole.
        #expect(unlink(world.scratch.appending("ana")) == 0)
        _ = try store.complete(id)
        #expect(try world.files() == ["ana/2026-11-26/a.jpg": "a"])
    }

    @Test("The members of a set get their names together, in one directory")
    func sets() throws {
        let world = try world.get()
        try world.put("ana/2026-11-26/IMG_1.MOV", "theirs")
        let store = try world.open()
        let set = DropSet(token: Array("x".utf8), count: 2)
        let picture = try store.create("IMG_1.HEIC", 1, set: set)
        _ = try store.send("p", to: picture)
        #expect(try store.complete(picture).phase == .whole(digest("p")))
        // Another person's set of the same token is another set.
        let other = try store.create("IMG_1.HEIC", 1, of: .person("bob"), set: set)
        _ = try store.send("q", to: other)
        _ = try store.complete(other)
        #expect(try store.name(of: picture) == nil && store.name(of: other) == nil)
        let film = try store.create("IMG_1.MOV", 1, set: set)
        _ = try store.send("f", to: film)
        _ = try store.complete(film)
        #expect(try store.name(of: picture) == "ana/2026-11-26-2/IMG_1.HEIC")
        #expect(try store.name(of: film) == "ana/2026-11-26-2/IMG_1.MOV")
        // One that waits in vain is placed alone, and its late companion at once.
        world.pass(seconds: 599)
        store.tidy()
        #expect(try store.name(of: other) == nil)
        world.pass(seconds: 2)
        store.tidy()
        #expect(try store.name(of: other) == "bob/2026-11-26/IMG_1.HEIC")
        let late = try store.create("IMG_1.MOV", 1, of: .person("bob"), set: set)
        _ = try store.send("r", to: late)
        _ = try store.complete(late)
        #expect(try store.name(of: late) == "bob/2026-11-26/IMG_1.MOV")
    }

    @Test("Members of a set that end at the same moment are all placed")
    func setsAtOnce() async throws {
        let world = try DropWorld()
        let store = try world.open()
        var limits = DropLimits()
        limits.open = 400
        try await withThrowingTaskGroup { group in
            for number in 0..<200 {
                let set = DropSet(token: [UInt8(number)], count: 2)
                for name in ["\(number).heic", "\(number).mov"] {
                    let id = try store.create(name, 1, set: set, limits)
                    _ = try store.send("x", to: id)
                    group.addTask { _ = try store.complete(id) }
                }
            }
            try await group.waitForAll()
        }
        #expect(try world.files().count == 400)
    }

    @Test("While an upload is read as a whole, nobody waits for it")
    func busy() throws {
        let world = try DropWorld()
        let store = try world.open()
        let id = try store.create("a.jpg", 2)
        _ = try store.send("a", to: id)
        let upload = try #require(store.books.withLock { $0.live[id] })
        upload.isSealing.withLock { $0 = true }
        #expect(throws: DropError.busy) { try store.status(of: id) }
        #expect(throws: DropError.busy) { try store.append(to: id, at: 1) }
        #expect(throws: DropError.busy) { try store.setLength(2, of: id) }
        upload.isSealing.withLock { $0 = false }
        _ = try store.send("b", to: id, at: 1)
        _ = try store.complete(id)
        #expect(try world.files().values.first == "ab")
    }

    @Test("Who lets too many whole files wait for others begins no more")
    func tooManyWait() throws {
        let world = try DropWorld()
        let store = try world.open()
        for number in 0..<1_000 {
            let id = try store.create("\(number).heic", 1, set: DropSet(token: [1, UInt8(number % 250)], count: 5))
            _ = try store.send("x", to: id)
            _ = try store.complete(id)
        }
        #expect(throws: DropError.tooManyOpen) { try store.create("a.jpg", 1) }
        world.pass(seconds: 601)
        #expect(store.tidy() == [])
        _ = try store.create("a.jpg", 1)
        #expect(try world.files().count == 1_000)
    }

    @Test("A set whose member was cancelled does not wait for it")
    func cancelledMember() throws {
        let store = try world.get().open()
        let set = DropSet(token: [1], count: 2)
        let first = try store.create("a.heic", 1, set: set)
        try store.end(first)
        let second = try store.create("a.mov", 1, set: set)
        _ = try store.send("b", to: second)
        _ = try store.complete(second)
        #expect(try store.name(of: second) == "ana/2026-11-26/a.mov")
    }

    @Test("Limits of a sender")
    func limits() throws {
        let store = try world.get().open()
        let guest = DropOwner.guest("oma")
        var limits = DropLimits()
        (limits.largest, limits.total, limits.open) = (100, 150, 2)
        #expect(throws: DropError.tooLong(limit: 100)) { try store.create("a.jpg", 101, of: guest, limits) }
        let first = try store.create("a.jpg", 100, of: guest, limits)
        #expect(throws: DropError.overTotal) { try store.create("b.jpg", 51, of: guest, limits) }
        var unlimited = limits
        unlimited.total = nil
        let second = try store.create("b.jpg", nil, of: guest, unlimited)
        #expect(throws: DropError.tooManyOpen) { try store.create("c.jpg", 1, of: guest, limits) }
        // Others have limits of their own.
        _ = try store.create("c.jpg", 1, limits)
        let writer = try store.append(to: second, at: 0, limits)
        try writer.write([UInt8](repeating: 1, count: 50))
        #expect(throws: DropError.tooLong(limit: 50)) { try writer.write([1]) }
        try store.end(first)
        #expect(try writer.finish() == 50)
        #expect(throws: DropError.overTotal) { try store.setLength(151, of: second, DropLimits(total: 150)) }
        _ = try store.complete(second)
        #expect(store.used(by: guest) == 50)
        #expect(throws: DropError.overTotal) { try store.create("d.jpg", 101, of: guest, DropLimits(total: 150)) }
    }

    @Test("What must stay free is not used")
    func room() throws {
        let store = try world.get().open { $0.minFree = .max }
        #expect(throws: DropError.noRoom) { try store.create("a.jpg", 1) }
    }

    @Test("A second program cannot open the store")
    func locked() throws {
        let world = try world.get()
        let store = try world.open()
        #expect {
            try world.open()
        } throws: { error in
            (error as? SystemCallError)?.code == .wouldBlock
        }
        withExtendedLifetime(store) {}
    }

    @Test("A directory of a former day that is empty again is removed, and today's stays")
    func emptied() throws {
        let world = try world.get()
        let store = try world.open()
        for (day, name) in [("2026-11-26", "x/a.jpg"), ("2026-11-26", "b.jpg"), ("2026-11-26-2", "b.jpg")] {
            let id = try store.create(name, 1)
            _ = try store.send("a", to: id)
            _ = try store.complete(id)
            #expect(unlink(world.scratch.appending("ana/\(day)/\(name)")) == 0)
        }
        store.tidy()
        #expect(access(world.scratch.appending("ana/2026-11-26/x"), F_OK) == 0)
        #expect(access(world.scratch.appending("ana/2026-11-26-2"), F_OK) != 0)
        world.clock.withLock { $0.day = "2026-11-27" }
        store.tidy()
        #expect(access(world.scratch.appending("ana/2026-11-26"), F_OK) != 0)
        #expect(access(world.scratch.appending("ana"), F_OK) == 0)
    }
}

extension DropLimits {
    init(total: UInt64) {
        self.init()
        self.total = total
    }
}
