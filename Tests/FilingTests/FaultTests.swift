import FileValues
import Filing
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

@Suite("An error leaves the source, no temporary, and the right kind")
struct FaultTests {
    private func failure(_ source: SourceFile, _ stage: Stage, _ library: DestinationRoot) throws -> FilingError? {
        let plan = try stage.plan(source)
        do {
            _ = try place(source, by: plan, in: library)
            return nil
        } catch { return error }
    }

    @Test(
        "A full library is a transient error until there is space",
        .enabled(if: isRoot, "skipped: needs root to mount a small file system"),
        arguments: PlacementTests.everyMeans)
    func fullDisk(means: PlacementMeans) throws {
        let stage = try Stage()
        let mounted = try MountedScratch(size: "1m")
        try stage.drop("a.jpg", someBytes(2_000_000))
        let source = try stage.source("a.jpg")
        let library = try DestinationRoot(mounted.scratch.bytePath, means: means)
        let error = try #require(try failure(source, stage, library))
        #expect(error.kind == .noSpace)
        #expect(error.code == .noSpace)
        #expect(error.isTransient)
        #expect(try names(in: library.descriptor.openDirectoryBeneath("2026/11")).isEmpty)
        try source.requireUnchanged(.checkSource)
        // A retry succeeds when there is space.
        try mounted.remount("size=4m")
        #expect(try failure(source, stage, library) == nil)
    }

    @Test("A read-only library is an error of the destination", .enabled(if: isRoot, "skipped: needs root to mount"))
    func readOnlyLibrary() throws {
        let stage = try Stage()
        let mounted = try MountedScratch(size: "4m")
        try mounted.remount("ro")
        try stage.drop("a.jpg", someBytes())
        let error = try #require(
            try failure(stage.source("a.jpg"), stage, DestinationRoot(mounted.scratch.bytePath)))
        #expect(error.kind == .readOnly)
        #expect(error.side == .destination)
    }

    @Test(
        "A copy on another file system never has the inode number of its source",
        .enabled(if: isRoot, "skipped: needs root to mount two small file systems"),
        arguments: PlacementTests.everyMeans)
    func otherNumber(means: PlacementMeans) throws {
        let stage = try Stage()
        let (inbox, mounted) = (try MountedScratch(size: "4m"), try MountedScratch(size: "4m"))
        let directory = try openDirectory(inbox.scratch.bytePath)
        let library = try DestinationRoot(mounted.scratch.bytePath, means: means)
        for number in 0..<40 {
            _ = try directory.openBeneath(BytePath("\(number)"), [.write, .createNew])
        }
        try directory.openBeneath("a.jpg", [.write, .createNew]).write(someBytes(), at: 0)
        let source = try SourceFile("a.jpg", beneath: directory)
        // tmpfs numbers its files in turn: the next one there would have the source's number.
        var last: UInt64 = 0
        while last < source.identity.inode - 1 {
            let file = try library.descriptor.openBeneath(BytePath("after \(last)"), [.write, .createNew])
            last = try FileStatus(of: file).identity.inode
        }
        try #require(last == source.identity.inode - 1)
        let placed = try place(source, by: stage.plan(source, directory: ""), in: library)
        #expect(placed.status.identity.inode != source.identity.inode)
        #expect(try content(of: library.descriptor.openBeneath("a.jpg", .read)) == someBytes())
        #expect(try names(in: library.descriptor).allSatisfy { !FileNames.isOurs($0) })
    }

    @Test(
        "A file is placed in a library on another file system",
        .enabled(if: access("/dev/shm", W_OK) == 0, "skipped: no /dev/shm"))
    func otherFileSystem() throws {
        let stage = try Stage()
        let shared = try ScratchDirectory(below: "/dev/shm")
        try stage.drop("a.jpg", someBytes(3_000_000))
        let source = try stage.source("a.jpg")
        let library = try DestinationRoot(shared.bytePath)
        #expect(try failure(source, stage, library) == nil)
        #expect(try content(of: library.descriptor.openBeneath("2026/11/a.jpg", .read)) == someBytes(3_000_000))
    }

    @Test("A library without permission is a transient error", .enabled(if: !isRoot, "skipped: needs an ordinary user"))
    func noPermission() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        #expect(chmod(stage.path("library"), 0o555) == 0)
        let error = try #require(try failure(stage.source("a.jpg"), stage, stage.library()))
        #expect(error.kind == .permission)
        #expect(error.isTransient)
    }

    @Test("An owner that may not be set is an error", .enabled(if: !isRoot, "skipped: needs an ordinary user"))
    func foreignOwner() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        let library = try stage.library(.all, FiledAttributes(user: 0))
        let error = try #require(try failure(stage.source("a.jpg"), stage, library))
        #expect(error.code == .notPermitted)
        #expect(try stage.files("library").isEmpty)
    }

    @Test("Owner and group are set", .enabled(if: isRoot, "skipped: needs root to give files away"))
    func owner() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        let library = try stage.library(.all, FiledAttributes(user: 4242, group: 4343, mode: 0o640))
        #expect(try failure(stage.source("a.jpg"), stage, library) == nil)
        let status = try FileStatus(of: library.descriptor.openBeneath("2026/11/a.jpg", .read))
        #expect([status.user, status.group, status.mode] == [4242, 4343, 0o640])
        let directory = try FileStatus(of: library.descriptor.openDirectoryBeneath("2026"))
        #expect([directory.user, directory.group] == [4242, 4343])
    }

    @Test("Exhausted descriptors are a transient error")
    func exhausted() async {
        await #expect(processExitsWith: .success) {
            let stage = try Stage()
            try stage.drop("a.jpg", someBytes())
            let source = try stage.source("a.jpg")
            let plan = try stage.plan(source)
            let library = try stage.library()
            let next = dup(0)
            close(next)
            var limit = rlimit(rlim_cur: rlim_t(next + 1), rlim_max: rlim_t(next + 1))
            guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
                throw Errno(rawValue: errno)
            }
            do throws(FilingError) {
                _ = try place(source, by: plan, in: library)
                exit(2)
            } catch {
                guard error.kind == .exhausted, error.isTransient else { exit(3) }
            }
        }
    }

    @Test func everyErrorNumberHasItsKind() {
        func kind(_ code: Errno) -> FilingError.Kind {
            FilingError(.copy, .either, .system(SystemCallError("write", code)), path: "a").kind
        }
        #expect(kind(.noSpace) == .noSpace)
        #expect(kind(.diskQuotaExceeded) == .noSpace)
        #expect(kind(.readOnlyFileSystem) == .readOnly)
        #expect(kind(.ioError) == .inputOutput)
        #expect(kind(.permissionDenied) == .permission)
        #expect(kind(.tooManyOpenFiles) == .exhausted)
        #expect(kind(.noSuchFileOrDirectory) == .gone)
        #expect(kind(.fileNameTooLong) == .other)
        let error = FilingError(
            .copy, .destination, .system(SystemCallError("pwrite", .noSpace)), path: BytePath("a\nb"))
        #expect(error.description == "copying, a\\nb: pwrite: No space left on device")
    }
}
