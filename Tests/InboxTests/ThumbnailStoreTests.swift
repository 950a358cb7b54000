import FileValues
import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import Renditions

/// Permission bits by path below a directory.
private func modes(_ scratch: ScratchDirectory, _ paths: String...) throws -> [UInt32] {
    let root = try openDirectory(scratch.bytePath)
    return try paths.map { try FileStatus(of: BytePath($0), beneath: root).mode & 0o777 }
}

@Suite("The store of thumbnails")
struct ThumbnailStoreTests {
    @Test("The group, of which the pages' program is a member, may read pictures that are made under a umask of 0077")
    func umasked() async {
        await #expect(processExitsWith: .success) {
            umask(0o077)
            let scratch = try ScratchDirectory()
            let store = ThumbnailStore(state: scratch.bytePath)
            let hash = [UInt8](repeating: 0xAB, count: 32)
            try store.write([1], of: hash, size: 512)
            let file = "thumbnails/ab/\(hexadecimal(hash))-512.jpg"
            try #require(modes(scratch, "thumbnails", "thumbnails/ab", file) == [0o750, 0o750, 0o640])
        }
    }

    @Test("Directories that an earlier version made for their owner alone are opened to the group")
    func repaired() throws {
        let scratch = try ScratchDirectory()
        let store = ThumbnailStore(state: scratch.bytePath)
        // There is none yet.
        store.openToGroup()
        try store.write([1], of: [UInt8](repeating: 0xAB, count: 32), size: 512)
        try store.keep(doneUpTo: 1, "x")
        for path in ["thumbnails/ab", "thumbnails"] { #expect(chmod(scratch.appending(path), 0o700) == 0) }
        #expect(chmod(scratch.appending("thumbnails/done"), 0o600) == 0)
        store.openToGroup()
        #expect(
            try modes(scratch, "thumbnails", "thumbnails/ab", "thumbnails/done") == [0o750, 0o750, 0o600])
    }
}
