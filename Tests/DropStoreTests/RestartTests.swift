import FileValues
import Filing
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import DropStore

@Suite("A store that is opened again")
struct RestartTests {
    let world = Result { try DropWorld() }

    /// The text of the ledger, and another one for the next start.
    private func edit(_ world: DropWorld, _ change: (inout String) -> Void) throws {
        let directory = try openDirectory(BytePath(world.scratch.appending(".photo-inbox-drop")))
        let file = try directory.openBeneath("ledger", .readWrite)
        var text = String(decoding: try file.read(Int(FileStatus(of: file).identity.size)), as: UTF8.self)
        change(&text)
        try file.cut(to: 0)
        try file.write(Array(text.utf8), at: 0)
    }

    @Test("An upload continues at its offset, and what is behind it is cut off")
    func continues() throws {
        let world = try world.get()
        let id: UploadID
        do {
            let store = try world.open()
            id = try store.create("a.jpg", 6)
            _ = try store.send("abc", to: id)
            let writer = try store.append(to: id, at: 3, digest: digest("def"))
            try writer.write(Array("XX".utf8))
        }
        let store = try world.open()
        #expect(store.remarks == [])
        #expect(try store.status(of: id).offset == 3)
        _ = try store.send("def", to: id, at: 3)
        #expect(try store.complete(id).phase == .placed(digest("abcdef"), "ana/2026-11-26/a.jpg"))
    }

    @Test("Whole files that waited are placed by the next start's tidying, or at the end")
    func waiting() throws {
        let world = try world.get()
        let set = DropSet(token: [1], count: 2)
        var store: DropStore? = try world.open()
        let id = try #require(try store?.create("a.heic", 1, set: set))
        _ = try store?.send("a", to: id)
        _ = try store?.complete(id)
        store = nil
        store = try world.open()
        #expect(store?.isWaiting == true)
        #expect(try world.files() == [:])
        store?.close()
        #expect(try world.files() == ["ana/2026-11-26/a.heic": "a"])
        store = nil
        store = try world.open()
        #expect(try store?.name(of: id) == "ana/2026-11-26/a.heic")
    }

    @Test("A whole part that has other bytes than the ledger says gets no name")
    func damagedPart() throws {
        let world = try world.get()
        let id: UploadID
        do {
            let store = try world.open()
            id = try store.create("a.heic", 3, set: DropSet(token: [1], count: 2))
            _ = try store.send("abc", to: id)
            _ = try store.complete(id)
        }
        let directory = try openDirectory(BytePath(world.scratch.appending(".photo-inbox-drop")))
        try directory.openBeneath(id.part, .readWrite).write(Array("X".utf8), at: 1)
        let store = try world.open()
        #expect(store.remarks.count == 2)
        #expect(try store.status(of: id).phase == .ended(.lost))
        store.close()
        #expect(try world.files() == [:])
        // It may be one bit of many gigabytes: a person decides.
        #expect(try world.files(hidden: true)[".photo-inbox-drop/\(id).kept"] == "aXc")
    }

    @Test("A torn last line is nothing; a damaged one costs what it said, and no part that it may have been about")
    func damagedLines() throws {
        let world = try world.get()
        let ids: [UploadID]
        do {
            let store = try world.open()
            ids = try ["a.jpg", "b.jpg"].map { try store.create($0, 3) }
            for id in ids { _ = try store.send("ab", to: id) }
        }
        try edit(world) { $0 += "1234abcd\t0\toffs" }
        do {
            let store = try world.open()
            #expect(store.remarks == [])
            #expect(try ids.map { try store.status(of: $0).offset } == [2, 2])
        }
        try edit(world) { text in
            let lines = text.split(separator: "\n").map { line in
                line.contains("a.jpg") ? line.replacing("a.jpg", with: "c.jpg") : line
            }
            text = lines.joined(separator: "\n") + "\n"
        }
        for remarks in [2, 0] {
            let store = try world.open()
            #expect(store.remarks.count == remarks)
            #expect(throws: DropError.notFound) { try store.status(of: ids[0]) }
            #expect(try store.status(of: ids[1]).offset == 2)
            #expect(try world.files(hidden: true)[".photo-inbox-drop/\(ids[0]).kept"] == "ab")
        }
    }

    @Test("A part without a line is kept, but an empty one, whose begin was interrupted")
    func unknownPart() throws {
        let world = try world.get()
        _ = try world.open()
        let id = UploadID()
        try world.put(".photo-inbox-drop/\(id).part", "x")
        try world.put(".photo-inbox-drop/\(UploadID()).part", "")
        #expect(try world.open().remarks.count == 1)
        #expect(
            try world.files(hidden: true).keys.sorted() == [".photo-inbox-drop/\(id).kept", ".photo-inbox-drop/ledger"])
    }

    @Test("A ledger that is gone, empty or older costs no bytes", arguments: ["gone", "empty", "older"])
    func restoredLedger(kind: String) throws {
        let world = try world.get()
        let ledger = world.scratch.appending(".photo-inbox-drop/ledger")
        _ = try world.open()
        let before = try world.files(hidden: true)[".photo-inbox-drop/ledger"] ?? ""
        let id: UploadID
        do {
            let store = try world.open()
            id = try store.create("a.heic", 5, set: DropSet(token: [1], count: 2))
            _ = try store.send("photo", to: id)
            _ = try store.complete(id)
        }
        if kind == "gone" { unlink(ledger) } else { try edit(world) { $0 = kind == "empty" ? "" : before } }
        for remarks in [1, 0] {
            #expect(try world.open().remarks.count == remarks)
            #expect(try world.files(hidden: true)[".photo-inbox-drop/\(id).kept"] == "photo")
        }
    }

    @Test("A name that a power cut took is given again")
    func lostName() throws {
        let world = try world.get()
        let id: UploadID
        do {
            let store = try world.open()
            id = try store.create("a.jpg", 5)
            _ = try store.send("photo", to: id)
            _ = try store.complete(id)
        }
        let part = world.scratch.appending(".photo-inbox-drop/\(id).part")
        #expect(rename(world.scratch.appending("ana/2026-11-26/a.jpg"), part) == 0)
        let store = try world.open()
        #expect(store.remarks == [])
        #expect(try world.files().values.sorted() == ["photo"])
        #expect(try store.name(of: id) != nil)
    }

    @Test("A part that cannot be looked at holds up no other")
    func oddPart() throws {
        let world = try world.get()
        let ids: [UploadID]
        do {
            let store = try world.open()
            ids = try [1, 2].map { try store.create("\($0).heic", 5, set: DropSet(token: [UInt8($0)], count: 2)) }
            for id in ids {
                _ = try store.send("photo", to: id)
                _ = try store.complete(id)
            }
        }
        let part = world.scratch.appending(".photo-inbox-drop/\(ids[0]).part")
        #expect(rename(part, part + "x") == 0 && symlink("/etc/hostname", part) == 0)
        let store = try world.open()
        #expect(store.remarks.count == 1 && store.remarks[0].contains("cannot be looked at"))
        store.close()
        #expect(try world.files().values.sorted() == ["photo"])
        #expect(try store.name(of: ids[1]) != nil && store.name(of: ids[0]) == nil)
    }

    @Test("What is all there does not expire, but gets its name")
    func allThere() throws {
        let world = try world.get()
        let store = try world.open()
        let id = try store.create("a.jpg", 5)
        _ = try store.send("photo", to: id)
        world.pass(seconds: 8 * 86_400)
        #expect(store.tidy() == [])
        #expect(try world.files() == ["ana/2026-11-26/a.jpg": "photo"])
        #expect(try store.name(of: id) != nil)
    }

    @Test("Time that passes expires an upload; a clock that jumps does not")
    func expiry() throws {
        let world = try world.get()
        let week: Int64 = 7 * 86_400
        var store: DropStore? = try world.open()
        let id = try #require(try store?.create("a.jpg", 3))
        _ = try store?.send("ab", to: id)
        world.clock.withLock { $0.wall += 400 * 86_400 * 1_000_000_000 }
        store?.tidy()
        #expect(try store?.status(of: id).offset == 2)
        // Over a restart of the machine, it counts as a day.
        store = nil
        world.clock.withLock { ($0.boot, $0.boottime, $0.wall) = ("two", 0, $0.wall + 400 * 86_400 * 1_000_000_000) }
        store = try world.open()
        #expect(store?.seconds == 86_400)
        world.pass(seconds: week - 86_400)
        store?.tidy()
        #expect(try store?.status(of: id).phase == .receiving)
        world.pass(seconds: 2)
        store?.tidy()
        #expect(throws: DropError.ended(.expired)) { try store?.append(to: id, at: 2) }
        #expect(try world.files(hidden: true).count == 1)
    }

    @Test("A ledger means the same after it was written anew")
    func compaction() throws {
        var table = UploadTable()
        var chance = SeededGenerator(seed: 7)
        let owners: [DropOwner] = [.person("ana"), .guest("oma")]
        var ids: [UploadID] = []
        let first = UploadID()
        let placed = NewUpload(owners[1], DropName(original: "a", path: "a"), length: 2)
        for entry: LedgerEntry in [
            .created(first, placed, began: 0), .offset(first, 2), .whole(first, digest("ab")), .placing(first, "a"),
            .placed(first),
        ] {
            let fits = table.apply(LedgerLine(0, entry))
            #expect(fits)
        }
        for time in 0..<2_000 {
            let id = ids.suffix(4).randomElement(using: &chance)
            let entry: LedgerEntry
            switch (Int.random(in: 0..<8, using: &chance), id) {
            case (0, _), (_, nil):
                let new = UploadID()
                ids.append(new)
                let owner = owners[Int.random(in: 0..<2, using: &chance)]
                var upload = NewUpload(
                    owner, DropName(original: "a\tb\n\u{202E}.jpg", path: "a/b.jpg"),
                    length: Bool.random(using: &chance) ? 2 : nil)
                upload.modified = FileTime(seconds: -5, nanoseconds: 7)
                upload.digest = Bool.random(using: &chance) ? digest("x") : nil
                upload.set = Bool.random(using: &chance) ? DropSet(token: [9, 0xFF], count: 3) : nil
                entry = .created(new, upload, began: Int64(time))
            case (1, let id?): entry = .length(id, 2)
            case (2, let id?): entry = .offset(id, 1)
            case (3, let id?): entry = .offset(id, 2)
            case (4, let id?): entry = .whole(id, digest("ab"))
            case (5, let id?): entry = .placing(id, BytePath("ana/x \\ y/\(time)"))
            case (6, let id?): entry = .placed(id)
            case (_, let id?): entry = .ended(id, UploadEnd.allCases.randomElement(using: &chance) ?? .lost)
            }
            let line = LedgerLine(Int64(time), entry)
            #expect(LedgerLine(String(line.text.dropLast())) == line)
            _ = table.apply(line)
        }
        for forgetting in [false, true] {
            if forgetting { table.forget(at: 30 * 86_400 + 1_000) }
            var again = UploadTable()
            for line in table.lines {
                let fits = again.apply(line)
                #expect(fits, "\(line)")
            }
            #expect(again.uploads == table.uploads)
            for owner in owners { #expect(again.use(of: owner) == table.use(of: owner)) }
        }
        #expect(table.uploads.count < ids.count && !table.totals.isEmpty)
    }

    @Test("No damage of a line passes for another one")
    func lineDamage() throws {
        let id = try #require(UploadID("0123456789abcdef0123456789abcdef"))
        let text = Array(LedgerLine(5, .offset(id, 17)).text.dropLast().utf8)
        for index in text.indices {
            for bit in 0..<8 {
                var damaged = text
                damaged[index] ^= 1 << bit
                #expect(LedgerLine(String(decoding: damaged, as: UTF8.self)) == nil)
            }
            #expect(LedgerLine(String(decoding: text[..<index], as: UTF8.self)) == nil)
        }
    }
}

@Suite("Names of uploads")
struct DropNameTests {
    @Test(
        "Names stay as they are, as far as any library can have them",
        arguments: [
            ("IMG_1.JPG", "IMG_1.JPG"), ("/Trip/ä.heic", "Trip/ä.heic"), ("a//b.jpg", "a/b.jpg"),
            ("a\u{308}.jpg", "a\u{308}.jpg"), ("x\u{202E}gpj.jpg", "x%E2%80%AEgpj.jpg"), ("a\nb.jpg", "a%0Ab.jpg"),
            ("C:\\fakepath\\a.jpg", "C:\\fakepath\\a.jpg"),
            ("1/2/3/4/5/6/7/8/9/10/a.jpg", "1/2/3/4/5/6/7/8/a.jpg"),
        ])
    func kept(given: String, path: String) throws {
        let name = try DropName(Array(given.utf8), of: .person("ana"))
        #expect(name.path.bytes == Array(path.utf8))
        #expect(name.original.bytes == Array(given.utf8))
    }

    @Test("Bytes that are no UTF-8, and names that are too long")
    func bytes() throws {
        #expect(try DropName([0xFF, 0x61], of: .person("ana")).path == "%FFa")
        let long = [UInt8](repeating: 0x61, count: 400) + Array(".jpg".utf8)
        let name = try DropName(long, of: .person("ana")).path
        #expect(name.bytes.count == 255 && name.lowercasedExtension == Array("jpg".utf8))
    }

    @Test(
        "What the daemon would ignore, or wait for, is refused; so is what leads elsewhere",
        arguments: [
            "", "/", "a/", ".", "..", "../a.jpg", "a/../b.jpg", "./a.jpg", "a\0.jpg", ".hidden.jpg", "._IMG_1.JPG",
            ".thumbnails/a.jpg", "a.jpg.part", "A.TMP", "a.crdownload", "Thumbs.db", "desktop.ini", "@eaDir/a.jpg",
            "__MACOSX/a.jpg", ".photo-inbox-drop/ledger", ".photo-inbox-drop", "urls.links", "x.URL", "y.webloc",
            "~$a.jpg", "a.tacitpart",
        ])
    func refused(given: String) {
        #expect(throws: DropName.Refusal.self) { try DropName(Array(given.utf8), of: .person("ana")) }
    }

    @Test("An owner whose directory the daemon would ignore, or that leads elsewhere, is refused")
    func owners() {
        for owner in [DropOwner.person(".ana"), .person("@eadir"), .person(".."), .guest(".."), .person("")] {
            #expect(throws: DropName.Refusal.self) { try DropName(Array("a.jpg".utf8), of: owner) }
        }
    }
}
