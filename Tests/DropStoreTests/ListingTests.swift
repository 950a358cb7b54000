import FileValues
import Filing
import LinuxKernel
import TestSupport
import Testing

@testable import DropStore

@Suite("What a device has put")
struct ListingTests {
    let world = Result { try DropWorld() }

    private static let phone = DropOwner.device("phone", of: "ana")

    private func paths(_ listing: DeviceListing, _ folder: BytePath = "") -> [String] {
        listing.rows(in: folder).flatMap { name, row in
            let path = folder.appending(name)
            return [path.escaped] + (row.kind == .folder ? paths(listing, path) : [])
        }
    }

    private func refusal<Value>(_ body: () throws -> Value) -> ListingRefusal? {
        do { _ = try body() } catch { return error as? ListingRefusal }
        return nil
    }

    /// A file that has its name in the inbox, by way of the listing.
    private func send(_ text: String, as path: BytePath, _ store: DropStore, _ listing: DeviceListing) throws {
        let id = try store.create(path.escaped, text.utf8.count, of: Self.phone)
        _ = try store.send(text, to: id)
        let row = try listing.announce(id, path, size: UInt64(text.utf8.count), modified: 5)
        _ = try store.complete(id)
        #expect(listing.list(row, at: path) == [])
    }

    private func hold(_ text: String, as path: BytePath, _ store: DropStore, _ listing: DeviceListing) throws
        -> UploadID
    {
        let name = try DropName(path.bytes, of: Self.phone, isHeld: true)
        let id = try store.create(NewUpload(Self.phone, name, length: UInt64(text.utf8.count)))
        #expect(try store.send(text, to: id) == UInt64(text.utf8.count))
        _ = try listing.put(path, .held(id), size: UInt64(text.utf8.count), modified: 5)
        return id
    }

    @Test("Files and folders stay listed over restarts, whatever becomes of the photos, and of each device its own")
    func rows() throws {
        let world = try world.get()
        var store: DropStore? = try world.open()
        do {
            let listing = try #require(try store?.listing(of: "phone", "ana", born: 1))
            try listing.makeFolder("DCIM", modified: 1)
            try send("hello", as: "DCIM/a.jpg", #require(store), listing)
            _ = try listing.put("DCIM/._a.jpg", .litter, size: 4_096, modified: 7)
            _ = try listing.put("b\t\n.jpg", .empty, modified: 7)
            #expect(refusal { try listing.makeFolder("DCIM", modified: 1) } == .exists)
            #expect(refusal { try listing.makeFolder("DCIM/a.jpg", modified: 1) } == .exists)
            #expect(refusal { try listing.makeFolder("none/a", modified: 1) } == .noParent)
            #expect(refusal { try listing.put("none/a.jpg", .empty, modified: 1) } == .noParent)
            #expect(refusal { try listing.put("DCIM/a.jpg/b", .empty, modified: 1) } == .noParent)
            #expect(refusal { try listing.put("DCIM", .empty, modified: 1) } == .isFolder)
            #expect(refusal { try listing.remove("none") } == .notFound)
        }
        #expect(try world.files() == ["ana/phone/2026-11-26/DCIM/a.jpg": "hello"])
        store = nil
        store = try world.open()
        let listing = try #require(try store?.listing(of: "phone", "ana", born: 1))
        #expect(paths(listing) == ["DCIM", "DCIM/._a.jpg", "DCIM/a.jpg", "b\\t\\n.jpg"])
        let row = try #require(listing.row(at: "DCIM/a.jpg"))
        #expect(row.kind == .sent && row.size == 5 && row.modified == 5)
        #expect(try #require(try store?.listing(of: "laptop", "ana", born: 1)).rows(in: "").isEmpty)
        #expect(try #require(try store?.listing(of: "phone", "ben", born: 1)).rows(in: "").isEmpty)
    }

    @Test("Rows are moved and removed with all below them, and no photo with them")
    func moves() throws {
        let world = try world.get()
        let store = try world.open()
        var listing: DeviceListing? = try store.listing(of: "phone", "ana", born: 1)
        do {
            let listing = try #require(listing)
            for folder: BytePath in ["a", "a/b", "ab"] { try listing.makeFolder(folder, modified: 1) }
            try send("x", as: "a/b/c.jpg", store, listing)
            try send("y", as: "ab/d.jpg", store, listing)
            #expect(refusal { try listing.move("a", to: "a/b/e", overwrites: true) } == .isInside)
            #expect(refusal { try listing.move("a", to: "a", overwrites: true) } == .isInside)
            #expect(refusal { try listing.move("a/b", to: "a", overwrites: true) } == .isInside)
            #expect(refusal { try listing.move("a", to: "none/a", overwrites: true) } == .noParent)
            #expect(refusal { try listing.move("none", to: "x", overwrites: true) } == .notFound)
            #expect(refusal { try listing.move("a", to: "ab", overwrites: false) } == .exists)
            let long = BytePath(String(repeating: "x", count: 1_023))
            #expect(refusal { try listing.move("a", to: long, overwrites: false) } == .tooLong)
            _ = try listing.move("a", to: "e", overwrites: false)
            #expect(paths(listing) == ["ab", "ab/d.jpg", "e", "e/b", "e/b/c.jpg"])
            _ = try listing.move("e/b", to: "ab", overwrites: true)
            #expect(paths(listing) == ["ab", "ab/c.jpg", "e"])
            _ = try listing.remove("e")
        }
        listing = nil
        let again = try world.reopened(store).listing(of: "phone", "ana", born: 1)
        #expect(paths(again) == ["ab", "ab/c.jpg"])
        _ = try again.remove("ab")
        #expect(paths(again) == [])
        #expect(try world.files().count == 2)
    }

    @Test("A torn last line is left out, and what is put afterwards is found")
    func torn() throws {
        let world = try world.get()
        do {
            let listing = try world.open().listing(of: "phone", "ana", born: 1)
            for folder: BytePath in ["a", "b", "c"] { try listing.makeFolder(folder, modified: 1) }
        }
        let hidden = try openDirectory(BytePath(world.scratch.appending(".photo-inbox-drop")))
        let file = try hidden.openBeneath("ana+phone+1.listing", .readWrite)
        try file.cut(to: try FileStatus(of: file).identity.size - 3)
        let store = try world.open()
        do {
            let listing = try store.listing(of: "phone", "ana", born: 1)
            #expect(paths(listing) == ["a", "b"])
            try listing.makeFolder("d", modified: 1)
        }
        #expect(paths(try world.reopened(store).listing(of: "phone", "ana", born: 1)) == ["a", "b", "d"])
    }

    @Test("Ended between a photo's name and its row: announced, it is listed if it has its name, and only then")
    func announced() throws {
        let world = try world.get()
        do {
            let store = try world.open()
            let listing = try store.listing(of: "phone", "ana", born: 1)
            for (name, isPlaced) in [("a.jpg", true), ("b.jpg", false)] {
                // Of the other, half has come.
                let id = try store.create(name, isPlaced ? 1 : 2, of: Self.phone)
                _ = try store.send("x", to: id)
                _ = try listing.announce(id, BytePath(name), size: 1, modified: 5)
                if isPlaced { _ = try store.complete(id) }
            }
            #expect(paths(listing) == [])
        }
        let store = try world.open()
        #expect(paths(try store.listing(of: "phone", "ana", born: 1)) == ["a.jpg"])
        #expect(paths(try world.reopened(store).listing(of: "phone", "ana", born: 1)) == ["a.jpg"])
    }

    @Test("What is announced does not replace what was put later")
    func announcedBefore() throws {
        let world = try world.get()
        do {
            let store = try world.open()
            let listing = try store.listing(of: "phone", "ana", born: 1)
            let id = try store.create("a.jpg", 1, of: Self.phone)
            _ = try store.send("x", to: id)
            _ = try listing.announce(id, "a.jpg", size: 1, modified: 5)
            _ = try store.complete(id)
            try send("later", as: "a.jpg", store, listing)
        }
        #expect(try world.open().listing(of: "phone", "ana", born: 1).row(at: "a.jpg")?.size == 5)
        #expect(try world.files().count == 2)
    }

    @Test("A held file has no name until it gets one, continues to be held after a restart, and is placed once")
    func held() throws {
        let world = try world.get()
        let id: UploadID
        do {
            let store = try world.open()
            id = try hold("hello", as: "a.jpg.tacitpart", store, try store.listing(of: "phone", "ana", born: 1))
            // Neither asking for it nor the end of the program gives it a name.
            #expect(try store.complete(id).phase == .receiving)
            store.tidy()
            store.close()
        }
        #expect(try world.files() == [:])
        let store = try world.open()
        let listing = try store.listing(of: "phone", "ana", born: 1)
        #expect(listing.row(at: "a.jpg.tacitpart")?.size == 5)
        let name = try DropName(Array("x/a.jpg".utf8), of: Self.phone)
        try listing.makeFolder("x", modified: 1)
        let row = try listing.announce(id, "x/a.jpg", size: 5, modified: 5)
        for _ in 0..<2 {
            #expect(try store.name(id, name).phase == .placed(digest("hello"), "ana/phone/2026-11-26/x/a.jpg"))
        }
        // The row of the old name is gone with the upload's, even if nothing more is written.
        #expect(paths(listing) == ["x"])
        #expect(paths(try world.reopened(store).listing(of: "phone", "ana", born: 1)) == ["x", "x/a.jpg"])
        _ = row
        #expect(try world.files() == ["ana/phone/2026-11-26/x/a.jpg": "hello"])
    }

    @Test("Ended when a held file's name was said, and nothing was done for it yet: it has it after the next start")
    func named() throws {
        let world = try world.get()
        do {
            let store = try world.open()
            let listing = try store.listing(of: "phone", "ana", born: 1)
            let id = try hold("hello", as: "a.jpg.part", store, listing)
            _ = try listing.announce(id, "a.jpg", size: 5, modified: 5)
            try store.record([.named(id, DropName(Array("a.jpg".utf8), of: Self.phone))])
        }
        #expect(try world.files() == [:])
        #expect(paths(try world.open().listing(of: "phone", "ana", born: 1)) == ["a.jpg"])
        #expect(try world.files() == ["ana/phone/2026-11-26/a.jpg": "hello"])
    }

    @Test("A held file that nobody moves ends, and its row with it; so does one that is removed or replaced")
    func heldEnds() throws {
        let world = try world.get()
        let log = Locked<[String]>([])
        let store = try world.open { $0.log = { line in log.withLock { $0.append(line) } } }
        let listing = try store.listing(of: "phone", "ana", born: 1)
        let first = try hold("one", as: "a.part", store, listing)
        let second = try hold("two", as: "b.part", store, listing)
        #expect(try listing.put("b.part", .empty, modified: 1) == [second])
        #expect(try listing.remove("a.part") == [first])
        let third = try hold("three", as: "c.part", store, listing)
        #expect(paths(listing) == ["b.part", "c.part"])
        #expect(log.withLock(\.self) == [])
        world.pass(seconds: 8 * 86_400)
        store.tidy()
        #expect(throws: DropError.ended(.expired)) {
            try store.name(third, DropName(Array("c.jpg".utf8), of: Self.phone))
        }
        #expect(paths(listing) == ["b.part"])
        #expect(log.withLock { $0.count(where: { $0.hasPrefix("c.part from ana/phone was sent") }) } == 1)
        #expect(refusal { try listing.move("c.part", to: "c.jpg", overwrites: true) } == .notFound)
        #expect(try world.files() == [:])
    }

    @Test("Where the listing is full, what was sent first is forgotten; folders and placeholders are refused")
    func full() throws {
        let world = try world.get()
        let log = Locked<[String]>([])
        let store = try world.open { options in
            options.listed = (rows: 5, folders: 2)
            options.log = { line in log.withLock { $0.append(line) } }
        }
        let listing = try store.listing(of: "phone", "ana", born: 1)
        try listing.makeFolder("a", modified: 1)
        try listing.makeFolder("b", modified: 1)
        #expect(refusal { try listing.makeFolder("c", modified: 1) } == .full)
        for number in 1...5 { try send("x", as: BytePath("\(number).jpg"), store, listing) }
        #expect(paths(listing) == ["3.jpg", "4.jpg", "5.jpg", "a", "b"])
        // Placeholders and what desktops leave go first.
        for number in 6...7 { _ = try listing.put(BytePath("\(number)"), number == 6 ? .empty : .litter, modified: 1) }
        for number in 8...9 { try send("x", as: BytePath("\(number).jpg"), store, listing) }
        #expect(paths(listing) == ["5.jpg", "8.jpg", "9.jpg", "a", "b"])
        for number in 1...3 { _ = try hold("x", as: BytePath("\(number).part"), store, listing) }
        #expect(refusal { try listing.put("9", .empty, modified: 1) } == .full)
        #expect(try world.files().count == 7)
        #expect(log.withLock { $0.count(where: { $0.contains("is forgotten") }) } == 1)
    }

    @Test("What is held makes no room for others, and is not counted with them")
    func heldApart() throws {
        let world = try world.get()
        let store = try world.open()
        let listing = try store.listing(of: "phone", "ana", born: 1)
        var limits = DropLimits()
        limits.open = 1
        for number in 1...3 { _ = try hold("x", as: BytePath("\(number).part"), store, listing) }
        // Its length is said by its end alone.
        let name = try DropName(Array("4.part".utf8), of: Self.phone, isHeld: true)
        let id = try store.create(NewUpload(Self.phone, name, length: nil), limits)
        world.pass(seconds: 700)
        #expect(throws: DropError.tooManyOpen) {
            _ = try store.send("x", to: id)
            _ = try store.create(NewUpload(Self.phone, name, length: 1), limits)
        }
        try store.hold(id)
        #expect(try store.record(id).isHeldWhole)
        for number in 5...6 {
            world.pass(seconds: 700)
            _ = try store.create(NewUpload(Self.phone, name, length: UInt64(number)), limits)
        }
        #expect(paths(listing) == ["1.part", "2.part", "3.part"])
    }

    @Test("A held file whose name was said, and that did not get it, can be named again")
    func namedAgain() throws {
        let world = try world.get()
        let store = try world.open()
        let id = try hold("hello", as: "a.jpg.part", store, try store.listing(of: "phone", "ana", born: 1))
        try store.record([.named(id, DropName(Array("a.jpg".utf8), of: Self.phone))])
        let again = try world.reopened(store)
        #expect(paths(try again.listing(of: "phone", "ana", born: 1)) == ["a.jpg.part"])
        _ = try again.name(id, DropName(Array("b.jpg".utf8), of: Self.phone))
        #expect(try world.files() == ["ana/phone/2026-11-26/b.jpg": "hello"])
        #expect(paths(try again.listing(of: "phone", "ana", born: 1)) == [])
    }

    @Test("A device that is added after one of its name was removed sees nothing of that, and its listing is removed")
    func births() throws {
        let world = try world.get()
        let store = try world.open()
        for person in ["ana", "an"] { try store.listing(of: "phone", person, born: 1).makeFolder("a", modified: 1) }
        let later = try store.listing(of: "phone", "ana", born: 2)
        #expect(paths(later) == [])
        try later.makeFolder("b", modified: 1)
        let hidden = try openDirectory(BytePath(world.scratch.appending(".photo-inbox-drop")))
        func files() throws -> [String] {
            try hidden.entries().map(\.name.escaped).filter { $0.hasSuffix(".listing") }.sorted()
        }
        #expect(try files() == ["an+phone+1.listing", "ana+phone+2.listing"])
        // A request of the first that is late.
        _ = try store.listing(of: "phone", "ana", born: 1)
        let again = try world.reopened(store)
        _ = try again.listing(of: "phone", "ana", born: 0)
        #expect(paths(try again.listing(of: "phone", "ana", born: 2)) == ["b"])
    }

    @Test("What is changed between an announcement and its row")
    func meanwhile() throws {
        let world = try world.get()
        let store = try world.open()
        let listing = try store.listing(of: "phone", "ana", born: 1)
        for folder: BytePath in ["x", "y"] { try listing.makeFolder(folder, modified: 1) }
        let first = try hold("one", as: "a.part", store, listing)
        #expect(refusal { try listing.announce(first, "y", size: 3, modified: 5) } == .isFolder)
        let row = try listing.announce(first, "x/a.jpg", size: 3, modified: 5)
        // Another is held by the same name, which stays.
        let second = try hold("two", as: "a.part", store, listing)
        _ = try listing.remove("x")
        #expect(listing.list(row, at: "x/a.jpg", movedFrom: (path: "a.part", id: first)) == [])
        #expect(listing.row(at: "a.part")?.kind == .held(second))
        #expect(paths(listing) == ["a.part", "x", "x/a.jpg", "y"])
        #expect(refusal { try listing.put("a.part", .empty, modified: 1, overwrites: false) } == .exists)
        let again = try world.reopened(store)
        #expect(paths(try again.listing(of: "phone", "ana", born: 1)) == ["a.part", "x", "x/a.jpg", "y"])
    }

    @Test("A damaged line costs its row alone; it is kept, and reported")
    func damaged() throws {
        let world = try world.get()
        do {
            let store = try world.open()
            let listing = try store.listing(of: "phone", "ana", born: 1)
            for folder: BytePath in ["DCIM", "DCIM/a"] { try listing.makeFolder(folder, modified: 1) }
            try send("x", as: "DCIM/a/b.jpg", store, listing)
        }
        let hidden = try openDirectory(BytePath(world.scratch.appending(".photo-inbox-drop")))
        try hidden.openBeneath("ana+phone+1.listing", .readWrite).write(Array("x".utf8), at: 3)
        let log = Locked<[String]>([])
        let store = try world.open { $0.log = { line in log.withLock { $0.append(line) } } }
        #expect(paths(try store.listing(of: "phone", "ana", born: 1)) == ["DCIM", "DCIM/a", "DCIM/a/b.jpg"])
        #expect(try !hidden.isFree("ana+phone+1.listing.damaged"))
        #expect(
            log.withLock { $0.count(where: { $0.contains("1 lines of .photo-inbox-drop/ana+phone+1.listing") }) } == 1)
    }

    @Test("The file stays small, however often rows change, and means the same")
    func compaction() throws {
        let world = try world.get()
        let store = try world.open()
        let listing = try store.listing(of: "phone", "ana", born: 1)
        try listing.makeFolder("a", modified: 1)
        let id = try store.create("b.jpg", 1, of: Self.phone)
        _ = try listing.announce(id, "b.jpg", size: 1, modified: 1)
        for number in 0..<1_500 { _ = try listing.put("a/x", .empty, modified: Int64(number)) }
        let hidden = try openDirectory(BytePath(world.scratch.appending(".photo-inbox-drop")))
        #expect(try FileStatus(of: "ana+phone+1.listing", in: hidden).identity.size < 80_000)
        // What is announced is kept.
        _ = try store.send("x", to: id)
        _ = try store.complete(id)
        let again = try world.reopened(store).listing(of: "phone", "ana", born: 1)
        #expect(paths(again) == ["a", "a/x", "b.jpg"])
        #expect(again.row(at: "a/x")?.modified == 1_499)
    }

    @Test("Lines are read as they were written, and any sequence of them means the same when it is written anew")
    func lines() throws {
        var chance = SeededGenerator(seed: 11)
        var table = ListingTable()
        let names = ["a", "b", "a/a", "a/b", "a/a/a", "b/a", "a\tb\n\u{202E}", "ä"].map { BytePath($0) }
        for number in 1..<3_000 {
            let (path, other) = (
                try #require(names.randomElement(using: &chance)), try #require(names.randomElement(using: &chance))
            )
            let kinds: [ListingRow.Kind] = [.folder, .empty, .sent, .litter, .held(UploadID())]
            let row = ListingRow(
                try #require(kinds.randomElement(using: &chance)), size: 3, modified: -2, number: UInt64(number))
            var entry: ListingEntry
            switch Int.random(in: 0..<5, using: &chance) {
            case 0: entry = .removed(path)
            case 1 where !other.isInside(path): entry = .moved(path, to: other)
            case 2: entry = .announced(UploadID(), path, ListingRow(.sent, size: 3, modified: 1, number: row.number))
            default: entry = .put(path, row)
            }
            let line = ListingLine(entry)
            #expect(ListingLine(String(line.text.dropLast())) == line)
            if case .moved = entry, table[path] == nil { entry = .removed("none") }
            table.apply(entry)
            #expect(table.count == table.folders.values.reduce(0) { $0 + $1.count })
            let names = table.folders.values.reduce(0) { $0 + $1.keys.reduce(0) { $0 + $1.bytes.count } }
            #expect(table.bytes == names + table.folders.keys.reduce(0) { $0 + $1.bytes.count })
            for (folder, rows) in table.folders {
                for (name, row) in rows { #expect(table.isFolder(folder.appending(name)) == (row.kind == .folder)) }
                #expect(folder.isEmpty || table[folder]?.kind == .folder)
            }
            var again = ListingTable()
            for entry in table.entries { again.apply(entry) }
            #expect(again.folders == table.folders)
        }
        for damaged in [
            "put\ta\t1\t2\t3", "put\t../a\t1\t2\t3\tsent", "put\ta\t-1\t2\t3\tsent", "put\ta\t1\t2\t3\theld",
            "moved\ta\ta/b", "removed\t", "other\ta", "announced\ta\t1\t2\t3\tsent\tx",
        ] {
            #expect(
                ListingLine(fields: damaged.split(separator: "\t", omittingEmptySubsequences: false).map(String.init))
                    == nil)
        }
    }
}

extension DropWorld {
    /// The store anew, as after a kill.
    fileprivate func reopened(_ store: consuming DropStore) throws -> DropStore {
        // Nobody else has it open.
        store.close()
        return try open()
    }
}
