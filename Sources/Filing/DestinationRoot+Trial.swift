import FileValues
import LinuxKernel

extension DestinationRoot {
    /// Makes a trial write of 64 KiB with sync, which leaves no file. Throws the error that a photo would meet. Waits
    /// for the disk.
    package func tryWriting() throws(FilingError) {
        let file = try filing(.makeTemporary, .destination, path) { () throws(SystemCallError) in
            try makeUnnamedFile()
        }
        try filing(.copy, .destination, path) { () throws(SystemCallError) in
            try file.write(Self.incompressible(), at: 0)
        }
        try filing(.syncCopy, .destination, path) { () throws(SystemCallError) in try file.sync() }
    }

    private func makeUnnamedFile() throws(SystemCallError) -> OwnedDescriptor {
        if means.contains(.anonymousTemporary), let file = try? descriptor.makeAnonymousFile(mode: 0o600) {
            return file
        }
        let name = FileNames.temporary(FileNames.makeToken())
        let file = try descriptor.openBeneath(name, [.readWrite, .createNew], mode: 0o600)
        try removeUnfinished(name, in: descriptor)
        return file
    }

    /// Bytes that no file system can compress.
    private static func incompressible() -> [UInt8] {
        var state: UInt64 = 1
        let words = (0..<8_192).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state
        }
        return words.withUnsafeBytes { Array($0) }
    }
}
