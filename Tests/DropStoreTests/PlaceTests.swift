import FileValues
import Filing
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import DropStore

@Suite("Where uploads go, and where they cannot", .timeLimit(.minutes(60)))
struct DropPlaceTests {
    let world = Result { try DropWorld() }

    private func place(_ names: [(String, String)], _ store: DropStore, set: DropSet? = nil) throws {
        for (name, text) in names {
            let id = try store.create(name, text.utf8.count, set: set)
            _ = try store.send(text, to: id)
            _ = try store.complete(id)
        }
    }

    @Test("Files of a second shot with the same stem are not put beside the first one's")
    func stems() throws {
        let world = try world.get()
        let store = try world.open()
        try place([("IMG_1.CR3", "A raw"), ("IMG_1.CR3", "B raw"), ("img_1.JPG", "B"), ("IMG_1.CR3.xmp", "x")], store)
        try place([("IMG_2.JPG", "C")], store)
        let day = "ana/2026-11-26"
        #expect(
            try world.files() == [
                "\(day)/IMG_1.CR3": "A raw", "\(day)-2/IMG_1.CR3": "B raw", "\(day)-2/img_1.JPG": "B",
                "\(day)-2/IMG_1.CR3.xmp": "x", "\(day)/IMG_2.JPG": "C",
            ])
        // Also after a restart, and for a late member of a set.
        try world.put("\(day)/IMG_3.HEIC", "older")
        let set = DropSet(token: [1], count: 2)
        try place([("IMG_3.HEIC", "p")], store, set: set)
        world.pass(seconds: 601)
        store.tidy()
        try place([("IMG_3.MOV", "f")], store, set: set)
        world.pass(seconds: 601)
        store.tidy()
        #expect(try world.files()["\(day)-2/IMG_3.MOV"] == "f")
    }

    @Test("The word of a set that is used again later is another set's")
    func wordUsedAgain() throws {
        let world = try world.get()
        let store = try world.open()
        let set = DropSet(token: [1], count: 2)
        try place([("a.heic", "1"), ("a.mov", "2")], store, set: set)
        world.pass(seconds: 3_600)
        try place([("b.heic", "3")], store, set: set)
        #expect(try world.files().count == 2)
        try place([("b.mov", "4")], store, set: set)
        #expect(try world.files().count == 4)
    }

    @Test("Where a file cannot get its name, nothing of it is accepted; and it is not complete until it has one")
    func noPlace() throws {
        let world = try world.get()
        let store = try world.open()
        let id = try store.create("a.jpg", 1)
        try world.put("ana", "a file")
        #expect(throws: DropError.self) { try store.create("b.jpg", 1) }
        _ = try store.send("a", to: id)
        #expect(throws: DropError.self) { try store.complete(id) }
        #expect(store.tidy().count == 1)
        unlink(world.scratch.appending("ana"))
        #expect(store.tidy() == [])
        #expect(try world.files() == ["ana/2026-11-26/a.jpg": "a"])
    }

    @Test("An inbox that was moved away gets nothing more")
    func moved() throws {
        let world = try world.get()
        let store = try world.open()
        let id = try store.create("a.jpg", 1)
        _ = try store.send("a", to: id)
        let (path, aside) = (world.scratch.path, world.scratch.path + "-aside")
        #expect(rename(path, aside) == 0 && mkdir(path, 0o755) == 0)
        #expect(throws: DropError.inboxGone) { try store.complete(id) }
        #expect(throws: DropError.inboxGone) { try store.create("b.jpg", 1) }
        #expect(rmdir(path) == 0 && rename(aside, path) == 0)
        _ = try store.complete(id)
        #expect(try world.files() == ["ana/2026-11-26/a.jpg": "a"])
    }

    @Test("What was begun and left shuts nobody out; a quota needs the length")
    func limits() throws {
        let world = try world.get()
        let store = try world.open()
        var limits = DropLimits()
        (limits.open, limits.total) = (2, 100)
        let first = try store.create("0.jpg", 1, limits)
        world.pass(seconds: 601)
        let second = try store.create("1.jpg", 1, limits)
        let third = try store.create("2.jpg", 1, limits)
        #expect(throws: DropError.ended(.expired)) { try store.append(to: first, at: 0) }
        for id in [second, third] { #expect(try store.status(of: id).phase == .receiving) }
        #expect(throws: DropError.tooManyOpen) { try store.create("3.jpg", 1, limits) }
        #expect(throws: DropError.lengthRequired) { try store.create("3.jpg", nil, limits) }
    }

    @Test("Uploads that were left with bytes shut nobody out; one that receives bytes is not one of them")
    func left() throws {
        let world = try world.get()
        let store = try world.open()
        var limits = DropLimits()
        limits.open = 2
        let text = String(repeating: "a", count: 100)
        let busy = try store.create("busy.jpg", 100, limits)
        let writer = try store.append(to: busy, at: 0, digest: digest(text), limits)
        let left = try store.create("left.jpg", 2, limits)
        _ = try store.send("a", to: left)
        // Of a digest's bytes the ledger hears when all have come.
        for _ in 0..<61 {
            world.pass(seconds: 10)
            try writer.write([UInt8(ascii: "a")])
        }
        let third = try store.create("third.jpg", 1, limits)
        #expect(throws: DropError.ended(.expired)) { try store.append(to: left, at: 1) }
        #expect(throws: DropError.tooManyOpen) { try store.create("fourth.jpg", 1, limits) }
        try writer.write(Array(repeating: UInt8(ascii: "a"), count: 39))
        #expect(try writer.finish(isLast: true))
        #expect(try store.complete(busy).path != nil)
        _ = try store.send("c", to: third)
        // What is whole and waits for its set receives nothing.
        let set = try store.create("a.heic", 1, set: DropSet(token: [1], count: 2), limits)
        _ = try store.send("b", to: set)
        _ = try store.complete(set)
        _ = try store.create("fifth.jpg", 1, limits)
    }

    @Test("Of each owner as many are remembered, whatever others send")
    func remembered() throws {
        var table = UploadTable()
        func place(_ owner: DropOwner, _ number: Int, _ time: Int64) throws {
            let id = UploadID()
            let name = try DropName(Array("\(number).jpg".utf8), of: owner)
            for entry in [
                LedgerEntry.created(id, NewUpload(owner, name, length: 1), began: 0), .offset(id, 1),
                .whole(id, digest("x")), .placing(id, BytePath("\(owner)/2026-11-26/\(number).jpg")), .placed(id),
            ] {
                let fits = table.apply(LedgerLine(time, entry))
                #expect(fits)
            }
        }
        for number in 0..<10 { try place(.person("ana"), number, 100) }
        for number in 0..<UploadTable.mostPlaced + 5 { try place(.guest("oma"), number, 200) }
        table.forget(at: 300)
        #expect(table.uploads.values.count { $0.new.owner == .person("ana") } == 10)
        #expect(table.uploads.count == 10 + UploadTable.mostPlaced)
        #expect(table.use(of: .guest("oma")).bytes == UInt64(UploadTable.mostPlaced + 5))
    }

    @Test("A second part of one upload is kept beside the first, with the name and the sender in the journal")
    func keptTwice() throws {
        let world = try world.get()
        let hidden = world.scratch.appending(".photo-inbox-drop")
        var store: DropStore? = try world.open()
        let id = try #require(try store?.create("a.jpg", 10))
        _ = try store?.send("hello", to: id)
        store = nil
        #expect(truncate("\(hidden)/\(id).part", 4) == 0)
        store = try world.open()
        #expect(store?.remarks.allSatisfy { $0.contains("a.jpg from ana") } == true)
        store = nil
        try world.put(".photo-inbox-drop/\(id).part", "other")
        store = try world.open()
        #expect(store?.remarks.count == 1)
        let files = try world.files(hidden: true)
        #expect(files[".photo-inbox-drop/\(id).kept"] == "hell")
        #expect(files[".photo-inbox-drop/\(id)-2.kept"] == "other")
    }

    @Test("A store of another user is refused with the owner and what to do", .enabled(if: geteuid() == 0))
    func otherOwner() throws {
        let world = try world.get()
        var store: DropStore? = try world.open()
        withExtendedLifetime(store) {}
        store = nil
        #expect(chown(world.scratch.appending(".photo-inbox-drop"), 65_534, 65_534) == 0)
        #expect {
            try world.open()
        } throws: { error in
            "\(error)".contains("belongs to") && "\(error)".contains("chown -R")
        }
    }

    @Test("Of what is created and ended in a loop, little is remembered")
    func loop() throws {
        let world = try world.get()
        let store = try world.open()
        #expect(throws: DropName.Refusal.malformed) {
            try DropName([UInt8](repeating: UInt8(ascii: "a"), count: 1_025), of: DropWorld.ana)
        }
        for number in 0..<1_100 { try store.end(try store.create("\(number).jpg", 1)) }
        store.tidy()
        #expect(store.uploads(of: DropWorld.ana).count == UploadTable.mostEnded)
    }

    @Test("Offsets that are reported with a failure are durable, and a length is not less than what was written")
    func offsets() throws {
        let world = try world.get()
        let store = try world.open()
        let id = try store.create("a.jpg", 10)
        let writer = try store.append(to: id, at: 0)
        try writer.write(Array("hello".utf8))
        _ = try writer.finish(isLast: true)
        #expect(throws: DropError.wrongOffset(5)) { try store.complete(id) }
        #expect(try store.record(id).offset == 5)
        let open = try store.create("b.jpg", nil)
        let checked = try store.append(to: open, at: 0, digest: digest("hello"))
        try checked.write(Array("hello".utf8))
        #expect(throws: DropError.wrongLength) { try store.setLength(4, of: open) }
        try store.setLength(5, of: open)
    }
}
