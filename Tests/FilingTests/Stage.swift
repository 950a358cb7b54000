import FileValues
import Filing
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

/// An inbox, a library and a quarantine below one scratch directory, for one test.
final class Stage {
    let scratch: ScratchDirectory
    let inbox: OwnedDescriptor
    let probe = WriterProbe()

    init(below parent: String? = nil) throws {
        scratch = try ScratchDirectory(below: parent)
        for name in ["inbox", "library", "quarantine"] {
            try systemCall("mkdir") { [scratch] in mkdir(scratch.appending(name), 0o755) }
        }
        inbox = try openDirectory(BytePath(scratch.appending("inbox")))
    }

    func library(_ means: PlacementMeans = .all, _ attributes: FiledAttributes = FiledAttributes()) throws
        -> DestinationRoot
    {
        try DestinationRoot(BytePath(scratch.appending("library")), attributes: attributes, means: means)
    }

    func quarantine() throws -> DestinationRoot { try DestinationRoot(BytePath(scratch.appending("quarantine"))) }

    func path(_ relative: String) -> String { scratch.appending(relative) }

    /// Creates the file `name` in the inbox.
    func drop(_ name: BytePath, _ bytes: [UInt8]) throws {
        let file = try inbox.openBeneath(name, [.write, .createNew], mode: 0o640)
        try file.write(bytes, at: 0)
    }

    func source(_ name: BytePath) throws -> SourceFile { try SourceFile(name, beneath: inbox) }

    /// The plan to file `source` into `2026/11` under its own name.
    func plan(_ source: SourceFile, directory: BytePath = "2026/11") throws -> PlacementPlan {
        PlacementPlan(directory: directory, name: source.name, hash: try source.hash())
    }

    private var copiesMade = 0

    /// Copies `source` and returns the copy's record, which permits the removal of `source`.
    func copies(of source: SourceFile) throws -> [OtherCopy] {
        copiesMade += 1
        let root = BytePath(path("copies-\(copiesMade)"))
        try systemCall("mkdir") { root.withCString { mkdir($0, 0o755) } }
        let bytes = try content(of: source.content)
        try openDirectory(root).openBeneath(source.name, [.write, .createNew], mode: 0o640).write(bytes, at: 0)
        let hash = try source.hash()
        return [.recorded(RecordedCopy(root: root, path: source.name, hash: hash, size: UInt64(bytes.count)))]
    }

    /// Returns the record of the copy that was placed in the library.
    func copy(_ placed: PlacedFile, of source: SourceFile) throws -> [OtherCopy] {
        let root = BytePath(path("library"))
        let (hash, size) = (try source.hash(), source.identity.size)
        return [.recorded(RecordedCopy(root: root, path: placed.path, hash: hash, size: size, lastRead: placed.status))]
    }

    /// Returns the content of every file below `directory` by its relative path.
    func files(_ directory: String) throws -> [BytePath: [UInt8]] {
        try tree(openDirectory(BytePath(path(directory))), "")
    }

    private func tree(_ directory: borrowing OwnedDescriptor, _ path: BytePath) throws -> [BytePath: [UInt8]] {
        var found: [BytePath: [UInt8]] = [:]
        for name in try names(in: directory) {
            let inner = path.appending(name)
            if try FileStatus(of: name, in: directory).kind == .directory {
                found.merge(try tree(directory.openDirectoryBeneath(name), inner)) { first, _ in first }
            } else {
                found[inner] = try content(of: directory.openBeneath(name, [.read, .nonBlocking]))
            }
        }
        return found
    }
}

func names(in directory: borrowing OwnedDescriptor) throws -> [BytePath] {
    let stream = try #require(fdopendir(try directory.openDirectoryBeneath("").take()))
    defer { closedir(stream) }
    var names: [BytePath] = []
    while let entry = readdir(stream) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { BytePath($0) }
        if name != ".", name != ".." { names.append(name) }
    }
    return names
}

func content(of file: borrowing OwnedDescriptor) throws -> [UInt8] {
    let size = Int(try FileStatus(of: file).identity.size)
    var bytes = [UInt8](repeating: 0, count: size)
    let number = file.raw
    let count = bytes.withUnsafeMutableBytes { pread(number, $0.baseAddress, size, 0) }
    return Array(bytes.prefix(max(0, count)))
}

/// Returns pseudorandom bytes, different for each seed.
func someBytes(_ count: Int = 10_000, seed: UInt8 = 1) -> [UInt8] {
    var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15
    let words = (0..<(count / 8 + 1)).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state
    }
    return words.withUnsafeBytes { Array($0.prefix(count)) }
}

let isRoot = geteuid() == 0

/// A name of 255 bytes with a newline and invalid UTF-8 in it.
let hostileName = BytePath([0x0A, 0xFF, 0x2D] + Array(repeating: 0x80, count: 248) + Array(".jpg".utf8))

/// A mounted tmpfs of `size` bytes, for tests that run as root.
final class MountedScratch {
    let scratch: ScratchDirectory

    init(size: String) throws {
        scratch = try ScratchDirectory()
        try runProgram(["/bin/mount", "-t", "tmpfs", "-o", "size=\(size)", "tmpfs", scratch.path])
    }

    func remount(_ options: String) throws {
        try runProgram(["/bin/mount", "-o", "remount,\(options)", scratch.path])
    }

    deinit { try? runProgram(["/bin/umount", "-l", scratch.path]) }
}
