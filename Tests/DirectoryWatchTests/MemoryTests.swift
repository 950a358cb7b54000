import FileValues
import LinuxKernel
import TestSupport
import Testing

@testable import DirectoryWatch
@testable import WatchCore

@Suite("The memory that is kept over a restart")
struct MemoryTests {
    @Test("A memory is read as it was written, with any bytes in names")
    func roundTrip() throws {
        var random = SeededGenerator(seed: 1)
        for size in [0, 1, 2, 17, 400] {
            let memory = sample(directories: size, files: size * 3, using: &random)
            let decoded = try WatchMemory(decoding: memory.encoded())
            #expect(decoded == memory)
            #expect(decoded.count(of: "a") == memory.count(of: "a"))
            #expect(files(of: decoded, "a").count == size * 3)
            #expect(files(of: decoded, "a") == files(of: memory, "a"))
        }
        #expect(try WatchMemory(decoding: WatchMemory().encoded()) == WatchMemory())
    }

    @Test("Files are listed with paths made of their directories' names")
    func paths() {
        var root = RootMemory(identity: identity(1))
        root.add(entry("top.jpg", 1))
        let a = root.addDirectory(named: "a", inode: 5, in: 0)
        let deep = root.addDirectory(named: "b", inode: 6, in: a)
        root.add(entry("one.jpg", 2))
        root.add(entry("\u{FF}\n", 3))
        _ = root.addDirectory(named: "empty", inode: 7, in: deep)
        _ = root.addDirectory(named: "c", inode: 8, in: 0)
        root.add(entry("two.jpg", 4))
        var memory = WatchMemory()
        memory.roots["r"] = [root]
        #expect(Set(files(of: memory, "r").keys) == ["top.jpg", "a/b/one.jpg", "a/b/\u{FF}\n", "c/two.jpg"])
        #expect(root.directories == 5 && memory.count(of: "r") == 4 && memory.count(of: "other") == 0)
        memory.forget(root: "r")
        #expect(memory == WatchMemory())
    }

    @Test("Any shorter or longer file is an error")
    func cut() {
        var random = SeededGenerator(seed: 2)
        let bytes = sample(directories: 6, files: 20, using: &random).encoded()
        for length in bytes.indices {
            #expect(throws: WatchMemoryError.self) { try WatchMemory(decoding: Array(bytes[..<length])) }
        }
        #expect(throws: WatchMemoryError(.length)) { try WatchMemory(decoding: bytes + [0]) }
        #expect(throws: WatchMemoryError(.foreign)) { try WatchMemory(decoding: Array("no such thing".utf8)) }
        var newer = bytes
        newer[8] = 9
        #expect(throws: WatchMemoryError(.version(9))) { try WatchMemory(decoding: newer) }
    }

    @Test("20,000 random changes are found by the checksum")
    func damage() {
        var random = SeededGenerator(seed: 3)
        let bytes = sample(directories: 10, files: 60, using: &random).encoded()
        for _ in 0..<20_000 {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...4, using: &random) { mutate(&damaged, using: &random) }
            if damaged == bytes { continue }
            #expect(throws: WatchMemoryError.self) { try WatchMemory(decoding: damaged) }
        }
    }

    @Test("6,000 random changes with a corrected checksum are an error, or a memory that can be read")
    func forged() throws {
        var random = SeededGenerator(seed: 4)
        let bytes = sample(directories: 10, files: 60, using: &random).encoded()
        var accepted = 0
        for _ in 0..<6_000 {
            var forged = bytes
            for _ in 0..<Int.random(in: 1...3, using: &random) { mutate(&forged, from: 24, using: &random) }
            seal(&forged)
            guard let memory = try? WatchMemory(decoding: forged) else { continue }
            accepted += 1
            for id in memory.rootIdentifiers {
                memory.forEachFile(of: id) { path, identity in
                    precondition(path.isSafeBeneath && identity.modified.nanoseconds < 1_000_000_000)
                }
            }
            #expect(try WatchMemory(decoding: memory.encoded()) == memory)
        }
        // Sizes and times may be anything, so some must have passed: the checks behind the checksum were reached.
        #expect(accepted > 150 && accepted < 5_850)
    }

    @Test("Lengths and counts beyond the end are errors that allocate nothing")
    func promises() {
        func sealed(_ body: (inout [UInt8]) -> Void) -> [UInt8] {
            var bytes = WatchMemory.magic + [1, 0, 0, 0] + [UInt8](repeating: 0, count: 12)
            body(&bytes)
            seal(&bytes)
            return bytes
        }
        let note = sealed { $0.append(littleEndian: UInt32.max) }
        let roots = sealed {
            $0.append(littleEndian: UInt32(0))
            $0.append(littleEndian: UInt32.max)
        }
        let payload = sealed {
            $0.append(littleEndian: UInt32(0))
            $0.append(littleEndian: UInt32(1))
            $0.append(littleEndian: UInt16(1))
            $0 += Array("r".utf8) + [UInt8](repeating: 0, count: 24)
            $0.append(littleEndian: UInt64.max)
        }
        let files = sealed {
            $0.append(littleEndian: UInt32(0))
            $0.append(littleEndian: UInt32(1))
            $0.append(littleEndian: UInt16(1))
            $0 += Array("r".utf8) + [UInt8](repeating: 0, count: 24)
            $0.append(littleEndian: UInt64(18))
            $0.append(littleEndian: UInt32.max)
            $0.append(littleEndian: UInt64(1))
            $0.append(littleEndian: UInt32.max)
            $0.append(littleEndian: UInt16(0))
        }
        for bytes in [note, roots, payload, files] {
            #expect(throws: WatchMemoryError.self) { try WatchMemory(decoding: bytes) }
        }
        // A chain of directories deeper than any path can be.
        var chain = RootMemory(identity: identity(1))
        var last = 0
        for _ in 0..<3_000 { last = chain.addDirectory(named: "d", inode: 1, in: last) }
        var memory = WatchMemory()
        memory.roots["r"] = [chain]
        #expect(throws: WatchMemoryError.self) { try WatchMemory(decoding: memory.encoded()) }
    }

    @Test("CRC-32C has the values of RFC 3720, appendix B.4")
    func checksum() {
        #expect(CRC32C.checksum(Array("123456789".utf8)) == 0xE306_9283)
        #expect(CRC32C.checksum([UInt8](repeating: 0, count: 32)) == 0x8A91_36AA)
        #expect(CRC32C.checksum([UInt8](repeating: 0xFF, count: 32)) == 0x62A8_AB43)
        #expect(CRC32C.checksum((0..<32).map { UInt8($0) }) == 0x46DD_794E)
        #expect(CRC32C.checksum([]) == 0)
    }

    @Test("Inodes are compared only where the file system keeps them")
    func identityRule() {
        let ext4 = IdentityRule(FileSystem(type: 0xEF53, identifier: 1))
        let vfat = IdentityRule(FileSystem(type: 0x4D44, identifier: 1))
        let (one, other) = (entry("a", 1).identity, entry("a", 2).identity)
        #expect(ext4.isSame(one, one) && !ext4.isSame(one, other) && vfat.isSame(one, other))
        for different in [
            FileIdentity(inode: 1, size: 1, modified: one.modified, changed: one.changed),
            FileIdentity(
                inode: 1, size: one.size, modified: FileTime(seconds: 9, nanoseconds: 9), changed: one.changed),
            FileIdentity(
                inode: 1, size: one.size, modified: one.modified, changed: FileTime(seconds: 9, nanoseconds: 9)),
        ] {
            #expect(!ext4.isSame(one, different) && !vfat.isSame(one, different))
        }
        #expect(!ext4.isSame(identity(1), identity(2)) && vfat.isSame(identity(1), identity(2)))
        let elsewhere = RootIdentity(fileSystem: FileSystem(type: 0x4D44, identifier: 2), inode: 1)
        #expect(!vfat.isSame(identity(1), elsewhere))
        for type in [0x2011_BAB0, 0x6573_5546, 0xFF53_4D42, 0x0102_1997, 1] as [Int64] {
            #expect(FileSystem(type: type, identifier: 0).kind.inodes == .passing)
        }
        for type in [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x6969] as [Int64] {
            #expect(FileSystem(type: type, identifier: 0).kind.inodes == .lasting)
        }
    }
}

@Suite("The file of a memory")
struct MemoryFileTests {
    @Test("It is written as a whole, for its owner alone, over an old one; read; removed")
    func file() throws {
        var random = SeededGenerator(seed: 5)
        let scratch = try ScratchDirectory()
        let file = WatchMemoryFile(scratch.bytePath.appending("known"))
        #expect(try file.read() == nil)
        for size in [3, 300, 30] {
            let memory = sample(directories: size, files: size * 10, using: &random)
            try file.write(memory)
            #expect(try file.read() == memory)
        }
        #expect(try FileStatus(at: file.path).mode == 0o600)
        #expect(try openDirectory(scratch.bytePath).entries().map(\.name) == ["known"])
        try file.remove()
        try file.remove()
        #expect(try file.read() == nil)
    }

    @Test("Damaged files, links, directories and other kinds are errors, and can be overwritten")
    func hostile() throws {
        var random = SeededGenerator(seed: 6)
        let scratch = try ScratchDirectory()
        let file = WatchMemoryFile(scratch.bytePath.appending("known"))
        let memory = sample(directories: 3, files: 9, using: &random)
        try file.write(memory)
        for _ in 0..<50 {
            var bytes = memory.encoded()
            mutate(&bytes, using: &random)
            if bytes == memory.encoded() { continue }
            let raw = try openDirectory(scratch.bytePath).openBeneath("other", [.write, .createNew])
            try raw.write(bytes, at: 0)
            try openDirectory(scratch.bytePath).rename("other", replacing: "known")
            #expect(throws: WatchMemoryError.self) { try file.read() }
        }
        try runProgram(["/bin/ln", "-sf", "/etc/passwd", scratch.appending("known")])
        #expect(throws: WatchMemoryError.self) { try file.read() }
        try file.write(memory)
        #expect(try file.read() == memory)
        try file.remove()
        try runProgram(["/bin/mkdir", scratch.appending("known")])
        #expect(throws: WatchMemoryError.self) { try file.read() }
        #expect(throws: WatchMemoryError.self) { try file.write(memory) }
        #expect(try openDirectory(scratch.bytePath).entries().map(\.name) == ["known"])
        #expect(throws: WatchMemoryError.self) {
            try WatchMemoryFile(scratch.bytePath.appending("no/such/place")).write(memory)
        }
    }
}

// MARK: - Samples

private func identity(_ inode: UInt64) -> RootIdentity {
    RootIdentity(fileSystem: FileSystem(type: 0x4D44, identifier: 1), inode: inode)
}

private func entry(_ name: String, _ inode: UInt64) -> RootMemory.Entry {
    RootMemory.Entry(
        name: BytePath(name), kind: .regular,
        identity: FileIdentity(
            inode: inode, size: 10, modified: FileTime(seconds: -1, nanoseconds: 999_999_999),
            changed: FileTime(seconds: 1, nanoseconds: 2)))
}

private func sample(directories: Int, files: Int, using random: inout SeededGenerator) -> WatchMemory {
    func name(_ number: Int) -> BytePath {
        let bytes = (0..<Int.random(in: 1...40, using: &random)).map { _ in
            let byte = UInt8.random(in: 1...255, using: &random)
            return byte == UInt8(ascii: "/") ? 1 : byte
        }
        return BytePath(bytes + Array("\(number)".utf8))
    }
    func time() -> FileTime {
        FileTime(
            seconds: Int64.random(in: .min ... .max, using: &random),
            nanoseconds: UInt32.random(in: 0..<1_000_000_000, using: &random))
    }
    var memory = WatchMemory()
    memory.note = Array("some note".utf8)
    for id in ["a", "ä b"] {
        var root = RootMemory(
            identity: RootIdentity(
                fileSystem: FileSystem(type: 0xEF53, identifier: random.next()), inode: random.next()))
        var places = [0]
        var left = files
        func fill(_ count: Int) {
            for _ in 0..<count {
                root.add(
                    RootMemory.Entry(
                        name: name(left), kind: Bool.random(using: &random) ? .regular : .symbolicLink,
                        identity: FileIdentity(
                            inode: random.next(), size: random.next(), modified: time(), changed: time()),
                        isLeftAlone: Bool.random(using: &random)))
                left -= 1
            }
        }
        for number in 0..<directories {
            places.append(
                root.addDirectory(
                    named: name(number), inode: random.next(), in: places.randomElement(using: &random) ?? 0))
            fill(Int.random(in: 0...min(left, 6), using: &random))
        }
        fill(left)
        memory.roots[id] = [root]
    }
    return memory
}

private func files(of memory: WatchMemory, _ root: String) -> [BytePath: FileIdentity] {
    var found: [BytePath: FileIdentity] = [:]
    memory.forEachFile(of: root) { found[$0] = $1 }
    return found
}

/// Flips, sets, removes, doubles or cuts at a random place from `start` on.
private func mutate(_ bytes: inout [UInt8], from start: Int = 0, using random: inout SeededGenerator) {
    guard bytes.count > start + 1 else { return }
    let place = Int.random(in: start..<bytes.count, using: &random)
    switch Int.random(in: 0..<6, using: &random) {
    case 0, 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 2: bytes[place] = [0, 0xFF, 0x2F, 0x7F, 1].randomElement(using: &random) ?? 0
    case 3: bytes.remove(at: place)
    case 4: bytes.insert(bytes[place], at: place)
    default: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...60, using: &random)))
    }
}

/// Puts the right length and checksum over whatever is there.
private func seal(_ bytes: inout [UInt8]) {
    var header: [UInt8] = []
    header.append(littleEndian: CRC32C.checksum(Array(bytes[24...])))
    header.append(littleEndian: UInt64(bytes.count - 24))
    bytes.replaceSubrange(12..<24, with: header)
}
