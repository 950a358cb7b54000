import FileValues
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import LinuxKernel

@Suite("Inotify records")
struct InotifyTests {
    private struct Record: Equatable {
        let watch: Int32
        let mask: InotifyMask
        let name: BytePath
    }

    private func readAll(_ instance: InotifyInstance, capacity: Int) throws -> [Record] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 8)
        defer { buffer.deallocate() }
        var found: [Record] = []
        while true {
            let count = try instance.read(into: buffer)
            if count == 0 { return found }
            for record in InotifyRecords(UnsafeRawBufferPointer(rebasing: buffer[..<count])) {
                found.append(Record(watch: record.watch, mask: record.mask, name: record.copiedName))
            }
        }
    }

    @Test("Names of 1 to 255 arbitrary bytes are read, with a buffer for one record and with a large one")
    func names() throws {
        let scratch = try ScratchDirectory()
        let directory = try openDirectory(scratch.bytePath)
        for capacity in [InotifyInstance.smallestBuffer, 64 << 10] {
            let instance = try InotifyInstance()
            let watch = try instance.addWatch(directory: directory, [.created, .deleted])
            let names = [1, 15, 16, 17, 254, 255].map { BytePath(Array(repeating: 0xFF, count: $0)) }
            for name in names {
                _ = try directory.openBeneath(name, [.write, .createNew])
                try systemCall("unlinkat") { name.withCString { unlinkat(directory.raw, $0, 0) } }
            }
            #expect(try instance.queuedBytes() > 0)
            let expected = names.flatMap {
                [Record(watch: watch, mask: .created, name: $0), Record(watch: watch, mask: .deleted, name: $0)]
            }
            #expect(try readAll(instance, capacity: capacity) == expected)
        }
    }

    @Test("A removed directory reports itself, then the end of its watch")
    func lastRecords() throws {
        let scratch = try ScratchDirectory()
        mkdir(scratch.appending("sub"), 0o755)
        let instance = try InotifyInstance()
        let watch = try instance.addWatch(BytePath(scratch.appending("sub")), [.deletedSelf, .onlyDirectory])
        rmdir(scratch.appending("sub"))
        #expect(
            try readAll(instance, capacity: 4096) == [
                Record(watch: watch, mask: .deletedSelf, name: ""), Record(watch: watch, mask: .ignored, name: ""),
            ])
        #expect(!instance.removeWatch(watch))
    }

    @Test("After the end every call throws, and none affects another file")
    func end() throws {
        let instance = try InotifyInstance()
        instance.end()
        instance.end()
        #expect(throws: SystemCallError("inotify_add_watch", .badFileDescriptor)) {
            _ = try instance.addWatch("/", .created)
        }
        #expect(!instance.removeWatch(1))
    }

    @Test("An incomplete record ends the sequence", arguments: [0, 1, 15, 16, 20, 31])
    func truncated(count: Int) {
        // One record that claims 16 bytes of name.
        var bytes = [UInt8](repeating: 0, count: 32)
        bytes[12] = 16
        bytes[16] = 0x61
        let names = bytes.withUnsafeBytes { buffer in
            InotifyRecords(UnsafeRawBufferPointer(rebasing: buffer[..<count])).map { $0.copiedName }
        }
        #expect(names.isEmpty)
        #expect(bytes.withUnsafeBytes { InotifyRecords($0).map { $0.copiedName } } == ["a"])
    }

    @Test func maskNames() {
        #expect(InotifyMask([.created, .isDirectory]).names == "CREATE,ISDIR")
        #expect(InotifyMask([]).names == "")
    }
}

@Suite("Directory listings")
struct DirectoryReaderTests {
    @Test("Every entry is listed once, with a buffer that holds only a few")
    func listing() throws {
        let scratch = try ScratchDirectory()
        let directory = try openDirectory(scratch.bytePath)
        var expected: [BytePath: FileKind] = [:]
        for number in 0..<500 {
            let name = BytePath(Array("\(number)-".utf8) + Array(repeating: 0xFE, count: number % 240))
            _ = try directory.openBeneath(name, [.write, .createNew])
            expected[name] = .regular
        }
        mkdir(scratch.appending("sub"), 0o755)
        mkfifo(scratch.appending("pipe"), 0o644)
        symlink("x", scratch.appending("way"))
        expected.merge(["sub": .directory, "pipe": .fifo, "way": .symbolicLink]) { $1 }
        let reader = DirectoryReader(capacity: 4096)
        // Twice: the position is reset.
        for _ in 0..<2 {
            var found: [BytePath: FileKind] = [:]
            var count = 0
            try reader.read(directory) {
                found[$0.name] = $0.kind
                count += 1
            }
            #expect(count == expected.count)
            #expect(found == expected)
        }
    }

    @Test("The names of a small directory are listed at once, and of no larger one")
    func allNames() throws {
        let scratch = try ScratchDirectory()
        let directory = try openDirectory(scratch.bytePath)
        let reader = DirectoryReader(capacity: 4096)
        var names: Set<BytePath> = []
        for number in 0..<200 {
            // Twice: the position is reset.
            for _ in 0..<2 {
                let found = try reader.allNames(in: directory)
                if number < 100 { #expect(found == names) } else { #expect(found == nil || found == names) }
            }
            let name = BytePath("IMG_\(1000 + number).JPG")
            _ = try directory.openBeneath(name, [.write, .createNew])
            names.insert(name)
        }
        #expect(try reader.allNames(in: directory) == nil)
    }

    @Test("Records with a wrong length are ignored")
    func malformed() {
        var bytes = [UInt8](repeating: 0, count: 24)
        bytes[16] = 200
        bytes[19] = 0x61
        for length: UInt8 in [0, 18, 19, 25, 200] {
            bytes[16] = length
            var count = 0
            bytes.withUnsafeBytes { DirectoryReader.parse($0) { _, _, _ in count += 1 } }
            #expect(count == 0)
        }
    }
}
