// The program that Campaigns/drop.py kills: uploads of every kind into one inbox, and what continues them afterwards.
//
//   drop-probe run INBOX        uploads; says what was acknowledged, a line each
//   drop-probe resume INBOX     opens the store again, says what it found, and finishes what is unfinished

import DropStore
import FileValues
import Filing
import Glibc
import LinuxKernel

/// The bytes of the file with this name, or with its unfinished one: the same in each run.
func content(_ name: String) -> [UInt8] {
    let name = name.hasSuffix(".part") ? name.dropLast(5) : name[...]
    var state = name.utf8.reduce(0x9E37_79B9_7F4A_7C15 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 } | 1
    let length = 20_000 + Int(state >> 33) % 60_000
    return (0..<length).map { _ in
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return UInt8(truncatingIfNeeded: state >> 32)
    }
}

func digest(_ bytes: some Sequence<UInt8>) -> ContentHash {
    var hasher = ContentHasher()
    Array(bytes).withUnsafeBytes { hasher.update($0) }
    return hasher.hash()
}

/// A line that is out before anything else happens.
func say(_ line: String) {
    var text = line + "\n"
    _ = text.withUTF8 { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
}

let ana = DropOwner.person("ana")
let phone = DropOwner.device("phone", of: "ana")

struct Session {
    let store: DropStore

    init(_ inbox: String) throws {
        var options = DropStore.Options()
        options.minFree = 0
        options.today = { "2026-11-26" }
        store = try DropStore(BytePath(inbox), options)
        for remark in store.remarks { say("remark \(remark)") }
    }

    func create(
        _ name: String, of owner: DropOwner = ana, hasLength: Bool = true, wanted: ContentHash? = nil,
        set: DropSet? = nil
    ) throws -> UploadID {
        let bytes = content(name)
        let given = try DropName(Array(name.utf8), of: owner, isHeld: owner == phone)
        var new = NewUpload(owner, given, length: hasLength ? UInt64(bytes.count) : nil)
        new.modified = FileTime(seconds: 1_700_000_000, nanoseconds: 0)
        new.digest = wanted
        new.set = set
        let id = try store.create(new)
        say("created \(id) \(name) \(digest(bytes))")
        return id
    }

    /// Sends a part of the content, in pieces.
    func send(_ id: UploadID, _ name: String, _ range: Range<Int>, isChecked: Bool, isLast: Bool = false) throws {
        let bytes = Array(content(name)[range])
        let writer = try store.append(
            to: id, at: UInt64(range.lowerBound), digest: isChecked ? digest(bytes) : nil)
        for start in stride(from: 0, to: bytes.count, by: 9_000) {
            try writer.write(Array(bytes[start..<min(start + 9_000, bytes.count)]))
        }
        if isLast {
            // They are made durable with their name.
            if try !writer.finish(isLast: true) { say("accepted \(id)") }
        } else {
            say("offset \(id) \(try writer.finish())")
        }
    }

    func complete(_ id: UploadID) throws {
        let record = try store.complete(id)
        if case .placed(let digest, let path) = record.phase {
            say("placed \(id) \(digest) \(path)")
        } else {
            say("waiting \(id)")
        }
    }

    func whole(_ name: String, isChecked: Bool, hasLength: Bool = true, set: DropSet? = nil, steps: Int = 1) throws {
        let id = try create(name, hasLength: hasLength, set: set)
        let count = content(name).count
        for step in 0..<steps {
            try send(
                id, name, count * step / steps..<count * (step + 1) / steps, isChecked: isChecked,
                isLast: isChecked && step == steps - 1)
        }
        try complete(id)
    }

    func run() throws {
        try whole("IMG_1.JPG", isChecked: true, steps: 3)
        // Its name is taken, by the one before and by a file of somebody else.
        try whole("IMG_1.JPG", isChecked: false)
        try whole("a/b/IMG_2.HEIC", isChecked: false, hasLength: false, steps: 2)
        let pair = DropSet(token: Array("live".utf8), count: 2)
        try whole("IMG_3.HEIC", isChecked: true, set: pair)
        try whole("IMG_3.MOV", isChecked: true, set: pair, steps: 2)
        // One of whose set the other never comes.
        try whole("IMG_4.HEIC", isChecked: false, set: DropSet(token: Array("lone".utf8), count: 2))
        // Wrong bytes, and the right ones after them.
        let wrong = try create("IMG_5.JPG")
        let count = content("IMG_5.JPG").count
        try send(wrong, "IMG_5.JPG", 0..<count / 2, isChecked: true)
        let writer = try store.append(to: wrong, at: UInt64(count / 2), digest: digest([1]))
        try writer.write([UInt8](repeating: 7, count: 5_000))
        do {
            _ = try writer.finish()
            say("accepted \(wrong)")
        } catch DropError.wrongDigest {}
        // A writer that another request ends.
        let late = try store.append(to: wrong, at: UInt64(count / 2))
        try late.write(Array(content("IMG_5.JPG")[count / 2..<count / 2 + 100]))
        let offset = Int(try store.status(of: wrong).offset)
        do {
            try late.write([1])
            say("accepted \(wrong)")
        } catch DropError.superseded {}
        try send(wrong, "IMG_5.JPG", offset..<count, isChecked: false)
        try complete(wrong)
        // What ends without a name.
        let cancelled = try create("IMG_6.JPG")
        try send(cancelled, "IMG_6.JPG", 0..<10_000, isChecked: false)
        try store.end(cancelled)
        say("ended \(cancelled)")
        let damaged = try create("IMG_7.JPG", wanted: digest([]))
        try send(damaged, "IMG_7.JPG", 0..<content("IMG_7.JPG").count, isChecked: false)
        do { try complete(damaged) } catch DropError.wrongDigest { say("ended \(damaged)") }
        let guest = DropOwner.guest("oma")
        let begun = try create("IMG_8.JPG", of: guest)
        try send(begun, "IMG_8.JPG", 0..<15_000, isChecked: true)
        try device()
        store.tidy()
        store.close()
    }

    // MARK: - A device

    /// Changes a row: whether it is there is not known until it is `listed` or `unlisted`.
    func change(_ path: String, to word: String = "listed", _ body: (BytePath) throws -> Void) throws {
        say("changing \(path)")
        try body(BytePath(path))
        say("\(word) \(path)")
    }

    func put(_ name: String, _ listing: DeviceListing) throws {
        try change(name) { path in
            let (id, count) = (try create(name, of: phone), content(name).count)
            try send(id, name, 0..<count, isChecked: true, isLast: !name.hasSuffix(".part"))
            if name.hasSuffix(".part") {
                for old in try listing.put(path, .held(id), size: UInt64(count), modified: 1) {
                    try store.end(old)
                    say("ended \(old)")
                }
            } else {
                let row = try listing.announce(id, path, size: UInt64(count), modified: 1)
                try complete(id)
                _ = listing.list(row, at: path)
            }
        }
    }

    /// Gives a held file its name.
    func settle(_ path: BytePath, _ listing: DeviceListing) throws {
        guard let row = listing.row(at: path), case .held(let id) = row.kind else { return }
        let target = BytePath(path.bytes.dropLast(5))
        let new = try listing.announce(id, target, size: row.size, modified: row.modified)
        let record = try store.name(id, DropName(target.bytes, of: phone))
        if case .placed(let digest, let place) = record.phase { say("placed \(id) \(digest) \(place)") }
        _ = listing.list(new, at: target, movedFrom: (path, id))
    }

    func device() throws {
        let listing = try store.listing(of: "phone", "ana", born: 1)
        try change("DCIM") { try listing.makeFolder($0, modified: 1) }
        // The second in place of the first: both are photos.
        for name in ["DCIM/P_1.JPG", "DCIM/P_1.JPG", "DCIM/P_2.JPG.part", "DCIM/P_2.JPG.part", "DCIM/P_3.JPG.part"] {
            try put(name, listing)
        }
        try change("DCIM/P_2.JPG.part", to: "unlisted") { path in
            try change("DCIM/P_2.JPG") { _ in try settle(path, listing) }
        }
        try change("DCIM/P_1.JPG", to: "unlisted") { _ = try listing.remove($0) }
        try change("DCIM/P_4.JPG") { _ = try listing.put($0, .empty, modified: 1) }
    }

    /// What is listed; and what a phone does then: it moves what is held.
    func resumeDevice() throws {
        let listing = try store.listing(of: "phone", "ana", born: 1)
        let rows =
            listing.rows(in: "")
            + listing.rows(in: "DCIM").map { ("DCIM/" + $0.name.escaped, $0.row) }.map {
                (name: BytePath($0.0), row: $0.1)
            }
        for (path, _) in rows { say("row \(path)") }
        for (path, row) in rows {
            guard case .held = row.kind else { continue }
            try change(path.escaped, to: "unlisted") { try settle($0, listing) }
        }
        // What no row has.
        for (id, record) in store.uploads(of: phone) where record.phase == .receiving && record.new.name.isHeld {
            try store.end(id)
        }
    }

    func resume() throws {
        for owner in [ana, .guest("oma"), phone] {
            for (id, record) in store.uploads(of: owner) {
                let name = String(decoding: record.new.name.original.bytes, as: UTF8.self)
                let offset = try store.status(of: id).offset
                switch record.phase {
                case .receiving: say("found \(id) receiving \(offset)")
                case .whole: say("found \(id) whole \(offset)")
                case .placing: say("found \(id) placing \(offset)")
                case .placed: say("found \(id) placed \(offset)")
                case .ended(let end): say("found \(id) ended \(offset) \(end.rawValue)")
                }
                guard record.phase == .receiving, !record.new.name.isHeld else { continue }
                do {
                    try send(id, name, Int(offset)..<content(name).count, isChecked: true)
                    try complete(id)
                } catch DropError.wrongDigest { say("ended \(id)") }
            }
        }
        try resumeDevice()
        store.close()
        for owner in [ana, .guest("oma"), phone] {
            for (id, record) in store.uploads(of: owner) {
                if case .placed(let digest, let path) = record.phase { say("placed \(id) \(digest) \(path)") }
            }
        }
    }
}

do {
    let session = try Session(CommandLine.arguments[2])
    switch CommandLine.arguments[1] {
    case "run": try session.run()
    case "resume": try session.resume()
    default: exit(64)
    }
    say("end")
} catch {
    say("failed \(error)")
    exit(1)
}
