import FileValues
import LinuxKernel

extension DestinationRoot {
    /// Writes 64 KiB into a file without a name, syncs it and removes it: throws what a photo would run into. Waits for the
    /// disk.
    package func tryWriting() throws(FilingError) {
        let file = try filing(.makeTemporary, .destination, path) { () throws(SystemCallError) in
            try makeUnnamedFile()
        }
        try filing(.copy, .destination, path) { () throws(SystemCallError) in
            try file.write(Self.trial(), at: 0)
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

    /// What no file system makes smaller.
    private static func trial() -> [UInt8] {
        var state: UInt64 = 1
        let words = (0..<8_192).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state
        }
        return words.withUnsafeBytes { Array($0) }
    }
}
