import FileValues
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

@Suite("Opening beneath a directory")
struct BeneathTests {
    @Test("Missing directories are created, and files opened in them")
    func create() throws {
        let scratch = try ScratchDirectory()
        let root = try openDirectory(BytePath(scratch.path))
        let day = try root.makeDirectoriesBeneath("2026/11", mode: 0o750)
        _ = try day.openBeneath("a.jpg", [.write, .createNew])
        let again = try root.openBeneath("2026/11/a.jpg", [.read, .nonBlocking])
        #expect(try FileStatus(of: again).kind == .regular)
        #expect(throws: SystemCallError("openat", .fileExists, path: "a.jpg")) {
            _ = try day.openBeneath("a.jpg", [.write, .createNew])
        }
    }

    @Test("New directories have the mode that is asked for, whatever the umask is; existing ones keep theirs")
    func modes() async {
        await #expect(processExitsWith: .success) {
            umask(0o077)
            let scratch = try ScratchDirectory()
            let root = try openDirectory(BytePath(scratch.path))
            try root.setModeOrLess(0o2700)
            let hasGroupBit = try FileStatus(of: root).mode & 0o2000
            _ = try root.makeDirectoriesBeneath("a/b", mode: 0o750)
            for path in ["a", "a/b"] as [BytePath] {
                try #require(FileStatus(of: path, beneath: root).mode & 0o7777 == 0o750 | hasGroupBit)
            }
            try openDirectory(BytePath(scratch.path + "/a/b")).setMode(0o700)
            _ = try root.makeDirectoriesBeneath("a/b/c", mode: 0o755)
            try #require(FileStatus(of: "a/b", beneath: root).mode & 0o777 == 0o700)
            try #require(FileStatus(of: "a/b/c", beneath: root).mode & 0o777 == 0o755)
        }
    }

    @Test("Links are not followed, in the middle or at the end")
    func links() throws {
        let scratch = try ScratchDirectory()
        let root = try openDirectory(BytePath(scratch.path))
        #expect(symlink("/etc", "\(scratch.path)/way") == 0)
        #expect(symlink("/etc/passwd", "\(scratch.path)/file") == 0)
        #expect(throws: SystemCallError.self) { _ = try root.openBeneath("way/passwd", .read) }
        #expect(throws: SystemCallError("openat", .tooManySymbolicLinkLevels, path: "file")) {
            _ = try root.openBeneath("file", .read)
        }
        #expect(try FileStatus(of: "way", in: root).kind == .symbolicLink)
    }

    @Test("Paths that lead outside are refused before any call", arguments: ["../etc", "/etc", "a/../../etc", "", "."])
    func escapes(path: String) throws {
        let scratch = try ScratchDirectory()
        let root = try openDirectory(BytePath(scratch.path))
        #expect(throws: SystemCallError.self) { _ = try root.openBeneath(BytePath(path), .read) }
    }

    @Test("Names may hold any bytes")
    func anyBytes() throws {
        let scratch = try ScratchDirectory()
        let root = try openDirectory(BytePath(scratch.path))
        let name = BytePath([0x0A, 0xFF, 0x2D] + Array(repeating: 0x80, count: 252))
        _ = try root.openBeneath(name, [.write, .createNew])
        #expect(try FileStatus(of: name, in: root).identity.size == 0)
    }
}
