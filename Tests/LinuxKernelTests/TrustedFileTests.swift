import FileValues
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

@Suite("Trusted files")
struct TrustedFileTests {
    private let scratch: ScratchDirectory
    /// Root, which owns the parent directories, and the user that runs the tests.
    private let owners: Set<UInt32> = [0, geteuid()]

    init() throws {
        scratch = try ScratchDirectory()
        for name in ["a", "a/b"] { mkdir(scratch.appending(name), 0o755) }
        try program("a/b/x")
    }

    private func program(_ name: String, mode: mode_t = 0o755) throws {
        let path = scratch.appending(name)
        try Data("#!/bin/sh\n".utf8).write(to: URL(filePath: path))
        chmod(path, mode)
    }

    /// Why the file is not trusted; nil if it is.
    private func objection(_ name: String, owners: Set<UInt32>? = nil, isProgram: Bool = true) -> String? {
        let path = name.hasPrefix("/") ? name : scratch.appending(name)
        do throws(UntrustedFile) {
            try checkTrusted(BytePath(path), owners: owners ?? self.owners, isProgram: isProgram)
            return nil
        } catch { return error.description.replacing(scratch.path, with: "@") }
    }

    @Test("Files that only their owners can change are trusted; a program must be executable")
    func trusted() throws {
        #expect(objection("a/b/x") == nil)
        // On merged systems both of these are links.
        #expect(objection("/bin/sh", owners: [0]) == nil)
        try program("a/b/plain", mode: 0o644)
        #expect(objection("a/b/plain", isProgram: false) == nil)
        #expect(objection("a/b/plain") == "@/a/b/plain may not be run; chmod +x @/a/b/plain")
    }

    @Test("A file or parent directory that others may write to is refused")
    func modes() {
        for (name, mode) in [("a/b/x", 0o775), ("a/b/x", 0o757), ("a/b", 0o775), ("a/b", 0o757), ("a", 0o777)] {
            chmod(scratch.appending(name), mode_t(mode))
            #expect(
                objection("a/b/x")
                    == "@/\(name) can be written to by others than its owner; chmod go-w @/\(name)")
            chmod(scratch.appending(name), 0o755)
        }
        #expect(objection("a/b/x") == nil)
    }

    @Test("A root directory of another owner is refused")
    func unknownOwner() {
        #expect(objection("a/b/x", owners: [4_000_000_000]) == "/ belongs to user 0; chown it to root")
    }

    @Test("Files and directories of other owners are refused", .enabled(if: geteuid() == 0, "skipped: needs root"))
    func otherOwners() {
        chown(scratch.appending("a/b"), 4_000, 0)
        #expect(objection("a/b/x") == "@/a/b belongs to user 4000; chown it to root")
        chown(scratch.appending("a/b"), 0, 0)
        chown(scratch.appending("a/b/x"), 4_000, 0)
        #expect(objection("a/b/x") == "@/a/b/x belongs to user 4000; chown it to root")
    }

    @Test("A sticky directory may be on the path, but may not hold the program")
    func sticky() throws {
        chmod(scratch.appending("a"), 0o1777)
        #expect(objection("a/b/x") == nil)
        try program("a/x")
        #expect(objection("a/x") == "everybody may write to @/a; put it elsewhere")
        symlink("b/x", scratch.appending("a/link"))
        #expect(objection("a/link") == "everybody may write to @/a; put it elsewhere")
    }

    @Test("Links are followed, and their targets' directories checked")
    func links() {
        symlink("../b/./x", scratch.appending("a/b/up"))
        symlink(scratch.appending("a/b"), scratch.appending("whole"))
        #expect(objection("whole/up") == nil)
        chmod(scratch.appending("a"), 0o775)
        #expect(objection("whole/up")?.hasPrefix("@/a can be written to") == true)
        symlink("loop", scratch.appending("loop"))
        #expect(objection("loop") == "@/loop leads in a circle")
    }

    @Test("Links of other owners are not followed", .enabled(if: geteuid() == 0, "skipped: needs root"))
    func linksOfOthers() {
        symlink("a", scratch.appending("theirs"))
        lchown(scratch.appending("theirs"), 4_000, 0)
        #expect(objection("theirs/b/x") == "the link @/theirs belongs to user 4000; chown -h it to root")
    }

    @Test("Directories and missing files are refused")
    func notFiles() {
        #expect(objection("a/b") == "@/a/b is not a file")
        #expect(objection("a/b/x/y") == "@/a/b/x is not a directory")
        #expect(objection("a/none") == "there is no @/a/none")
        #expect(objection("/") == "/ is not a file")
    }

    @Test("A file in memory can be read and not changed")
    func memoryFiles() throws {
        let content = Array(repeating: UInt8(ascii: "x"), count: 300_000)
        let file = try memoryFile("test", content: content)
        var read = [UInt8](repeating: 0, count: 400_000)
        #expect(Glibc.read(file.raw, &read, read.count) == content.count)
        #expect(Array(read.prefix(content.count)) == content)
        #expect(pwrite(file.raw, "y", 1, 0) == -1 && errno == EPERM)
        #expect(ftruncate(file.raw, 0) == -1)
    }
}
