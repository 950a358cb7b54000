import FileValues
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

@Suite("Reading whole files")
struct WholeFileTests {
    @Test("A file is read whole up to the limit, and one that is larger is refused")
    func limit() throws {
        let scratch = try ScratchDirectory()
        let path = BytePath("\(scratch.path)/a")
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
        try openDirectory(BytePath(scratch.path)).put(bytes, as: "a")
        #expect(try contents(of: path) == bytes)
        #expect(try contents(of: path, most: bytes.count) == bytes)
        #expect(throws: SystemCallError("read", .fileTooLarge, path: path)) {
            try contents(of: path, most: bytes.count - 1)
        }
    }

    @Test("A file of the kernel, which has no size, is read whole")
    func kernel() throws {
        #expect(try contents(of: "/proc/self/status").starts(with: Array("Name:".utf8)))
        #expect(throws: SystemCallError("open", .noSuchFileOrDirectory, path: "/proc/self/nothing")) {
            try contents(of: "/proc/self/nothing")
        }
        #expect(throws: SystemCallError("read", .isDirectory, path: "/proc")) { try contents(of: "/proc") }
    }

    @Test("A pipe is read to its end, however late its writer writes, as --config <(…) has it")
    func pipe() throws {
        let (end, writing) = try makePipe()
        let reading = OwnedDescriptor(taking: end)
        try startThread(named: "writer") {
            // Whether the reader has come to its read(2) yet or not, it must wait for this.
            usleep(20_000)
            _ = write(writing, "late", 4)
            close(writing)
        }
        #expect(try contents(of: BytePath("/proc/self/fd/\(reading.raw)")) == Array("late".utf8))
    }
}
