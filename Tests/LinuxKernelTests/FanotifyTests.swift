import FileValues
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import LinuxKernel

/// A record as a value.
private struct Seen: Equatable {
    var mask: FanotifyMask
    var name: BytePath
    var newName: BytePath?
}

@Suite("fanotify's records are read from the raw buffer, whatever is in it")
struct FanotifyRecordTests {
    private static let handle: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]

    /// `struct fanotify_event_info_header`, the file system 9, and a place.
    static func info(type: UInt8, handle: [UInt8] = handle, name: [UInt8]?) -> [UInt8] {
        let named = name.map { $0 + Array(repeating: 0, count: 4 - $0.count % 4) } ?? []
        let length = UInt16(20 + handle.count + named.count)
        return [type, 0] + bytes(length) + bytes(UInt64(9)) + bytes(UInt32(handle.count)) + bytes(Int32(1)) + handle
            + named
    }

    static func record(mask: FanotifyMask, process: Int32 = 7, _ infos: [UInt8]) -> [UInt8] {
        bytes(UInt32(24 + infos.count)) + [3, 0] + bytes(UInt16(24)) + bytes(mask.rawValue) + bytes(Int32(-1))
            + bytes(process) + infos
    }

    private static func bytes<Value: FixedWidthInteger>(_ value: Value) -> [UInt8] {
        withUnsafeBytes(of: value) { Array($0) }
    }

    private func parse(_ bytes: [UInt8]) -> [Seen] {
        bytes.withUnsafeBytes { buffer in
            FanotifyRecords(buffer).map {
                Seen(mask: $0.mask, name: $0.entry?.copiedName ?? "-", newName: $0.target?.copiedName)
            }
        }
    }

    @Test("A place, a rename's two, the directory itself, a lost handle, an overflow; types to come are passed over")
    func kinds() {
        let name = Array("a".utf8)
        let records =
            Self.record(mask: [.created, .closedAfterWriting], Self.info(type: 2, name: Array("x.jpg".utf8)))
            + Self.record(mask: .renamed, Self.info(type: 10, name: name) + Self.info(type: 12, name: [0xFF, 0x0A]))
            + Self.record(mask: [.movedSelf, .isDirectory], Self.info(type: 2, name: [UInt8(ascii: ".")]))
            + Self.record(mask: .deleted, Self.info(type: 2, handle: Array(repeating: 1, count: 25), name: name))
            + Self.record(mask: .queueOverflow, process: 0, [])
            + Self.record(mask: .deletedSelf, [4, 0, 8, 0, 0, 0, 0, 0] + Self.info(type: 3, name: nil))
        #expect(
            parse(records) == [
                Seen(mask: [.created, .closedAfterWriting], name: "x.jpg"),
                Seen(mask: .renamed, name: "a", newName: BytePath([0xFF, 0x0A])),
                Seen(mask: [.movedSelf, .isDirectory], name: ""), Seen(mask: .deleted, name: "-"),
                Seen(mask: .queueOverflow, name: "-"), Seen(mask: .deletedSelf, name: ""),
            ])
    }

    @Test("Bytes that are no whole record end the sequence")
    func truncated() {
        let whole = Self.record(mask: .created, Self.info(type: 2, name: Array("name".utf8)))
        for count in 0..<whole.count { #expect(parse(Array(whole[..<count])).isEmpty) }
        #expect(parse(whole + whole[..<20]).count == 1)
        for (place, value) in [(0, 0), (0, 23), (4, 2), (6, 23), (6, 200)] {
            var broken = whole
            broken[place] = UInt8(value)
            #expect(parse(broken).isEmpty, "\(place) = \(value)")
        }
    }

    @Test("Lengths that lie stay inside their record")
    func lies() {
        let whole = Self.record(mask: .created, Self.info(type: 2, name: Array("name".utf8)))
        // The info record's own length, the handle's length.
        for place in [26, 27, 36, 37, 38, 39] {
            for value: UInt8 in [0, 1, 3, 0x7F, 0x80, 0xFF] {
                var broken = whole
                broken[place] = value
                #expect(parse(broken).count == 1)
            }
        }
    }

    @Test("Half a million mutated buffers are read without a touch outside them, and to an end")
    func fuzz() {
        var random = Sequence64(state: 20_26)
        let seed =
            Self.record(mask: .renamed, Self.info(type: 10, name: Array("old".utf8)) + Self.info(type: 12, name: [1]))
            + Self.record(mask: .created, Self.info(type: 2, name: Array("another-name.jpg".utf8)))
        for _ in 0..<500_000 {
            var bytes = seed
            for _ in 0..<1 + random.next() % 6 {
                bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            let count = Int(random.next() % UInt64(bytes.count + 1))
            // Debug builds trap on what lies outside a raw buffer; the exact copy makes a sanitizer see it, too.
            let exact = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
            exact.copyBytes(from: bytes[..<count])
            var total = 0
            for record in FanotifyRecords(UnsafeRawBufferPointer(exact)) {
                total += 24 + (record.entry?.name.count ?? 0) + (record.target?.name.count ?? 0)
            }
            #expect(total <= count)
            exact.deallocate()
        }
    }
}

/// A seeded generator; see splitmix64.
private struct Sequence64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

@Suite("A fanotify group tells of a file system", .serialized)
struct FanotifyGroupTests {
    private static let all: FanotifyMask = [
        .created, .deleted, .closedAfterWriting, .renamed, .deletedSelf, .movedSelf, .isDirectory,
    ]

    /// Why a file system can't be marked here.
    static let refusal: String? = {
        do {
            let scratch = try ScratchDirectory(below: ScratchDirectory.quiet)
            try FanotifyGroup().mark(fileSystemOf: try openDirectory(scratch.bytePath), all)
            return nil
        } catch {
            return "needs root: \(error)"
        }
    }()

    private func readAll(_ group: FanotifyGroup, of directory: DirectoryHandle) throws -> [Seen] {
        let descriptor = try group.duplicate()
        var buffer = [UInt8](repeating: 0, count: 4_096)
        var found: [Seen] = []
        while true {
            let count = read(descriptor.raw, &buffer, buffer.count)
            if count <= 0 { return found }
            buffer.withUnsafeBytes { bytes in
                for record in FanotifyRecords(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
                where record.entry?.directory == directory || record.target?.directory == directory {
                    #expect(record.process == getpid())
                    found.append(
                        Seen(
                            mask: record.mask, name: record.entry?.copiedName ?? "-",
                            newName: record.target?.copiedName))
                }
            }
        }
    }

    @Test(
        "Of what happens in a directory by its handle, with names of any bytes and the process that did it",
        .enabled(if: refusal == nil, "skipped: \(refusal ?? "")"), arguments: ["/tmp", "/dev/shm"])
    func records(place: String) throws {
        let scratch = try ScratchDirectory(below: place)
        mkdir(scratch.appending("sub"), 0o755)
        let directory = try openDirectory(scratch.bytePath.appending("sub"))
        let handle = try DirectoryHandle(of: directory)
        #expect(try DirectoryHandle(of: try openDirectory(scratch.bytePath)) != handle)
        let group = try FanotifyGroup()
        try group.mark(fileSystemOf: directory, Self.all)
        try group.mark(fileSystemOf: directory, Self.all)
        let names = [BytePath(Array(repeating: 0xFF, count: 255)), BytePath([0x0A])]
        close(names[0].withCString { openat(directory.raw, $0, O_CREAT | O_WRONLY | O_CLOEXEC, 0o644) })
        _ = names[0].withCString { old in names[1].withCString { renameat(directory.raw, old, directory.raw, $0) } }
        _ = names[1].withCString { unlinkat(directory.raw, $0, 0) }
        rename(scratch.appending("sub"), scratch.appending("moved"))
        // The kernel merges what waits; a program that another test starts may hold the file for a moment longer.
        let seen = try readAll(group, of: handle)
        #expect(seen.first?.mask.contains(.created) == true)
        #expect(seen.contains(Seen(mask: .renamed, name: names[0], newName: names[1])))
        #expect(seen.contains { $0.mask.contains(.deleted) && $0.name == names[1] })
        #expect(seen.last == Seen(mask: [.movedSelf, .isDirectory], name: ""))
        // Taken off again, nothing more is told.
        try group.unmark(fileSystemOf: directory, Self.all)
        mkdir(scratch.appending("moved/x"), 0o755)
        #expect(try readAll(group, of: handle).isEmpty)
        #expect(throws: SystemCallError("fanotify_mark", .noSuchFileOrDirectory)) {
            try group.unmark(fileSystemOf: directory, Self.all)
        }
    }

    @Test("Another directory on the same inode has another handle")
    func handles() throws {
        let scratch = try ScratchDirectory(below: ScratchDirectory.quiet)
        var seen: [UInt64: Set<DirectoryHandle>] = [:]
        for _ in 0..<50 {
            mkdir(scratch.appending("sub"), 0o755)
            let directory = try openDirectory(scratch.bytePath.appending("sub"))
            let inode = try FileStatus(of: directory).identity.inode
            #expect(seen[inode, default: []].insert(try DirectoryHandle(of: directory)).inserted)
            rmdir(scratch.appending("sub"))
        }
    }

    @Test("Where there are no handles, that is said") func withoutHandles() throws {
        #expect(throws: SystemCallError("name_to_handle_at", .notSupportedOnSocket)) {
            _ = try DirectoryHandle(of: try openDirectory("/proc"))
        }
    }

    @Test("After its end every call says so", .enabled(if: refusal == nil, "skipped: \(refusal ?? "")"))
    func end() throws {
        let group = try FanotifyGroup()
        group.end()
        group.end()
        #expect(throws: SystemCallError("fanotify_mark", .badFileDescriptor)) {
            try group.mark(fileSystemOf: try openDirectory("/tmp"), Self.all)
        }
    }
}
