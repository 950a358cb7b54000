public import FileValues
import Glibc
import LinuxKernel
import SystemPackage

/// The file of a ``WatchMemory``. It is always complete, the old or the new one, whatever happens while it is written.
///
/// A value. Its calls wait for the disk, so they must not be made on a queue that has to answer.
public struct WatchMemoryFile: Hashable, Sendable {
    /// Where it is.
    public let path: BytePath

    /// Larger files are rejected: 20 million files fit.
    private static let largest: UInt64 = 1 << 30

    /// The file at `path`; its directory must be there when it is written, it need not.
    public init(_ path: BytePath) { self.path = path }

    /// The memory in the file; nil if there is none. Throws if it cannot be read, is damaged, is a link or no regular
    /// file.
    public func read() throws(WatchMemoryError) -> WatchMemory? {
        let bytes: [UInt8]
        do throws(SystemCallError) {
            let file = try directory().openBeneath(path.name, [.read, .nonBlocking])
            let status = try FileStatus(of: file)
            guard status.kind == .regular, status.identity.size <= Self.largest else {
                throw SystemCallError("open", .invalidArgument, path: path)
            }
            bytes = try Self.read(file, size: Int(status.identity.size))
        } catch {
            if error.code == .noSuchFileOrDirectory { return nil }
            throw WatchMemoryError(.system(CallFailure(error)))
        }
        return try WatchMemory(decoding: bytes)
    }

    private static func read(_ file: borrowing OwnedDescriptor, size: Int) throws(SystemCallError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: size)
        var done = 0
        while done < size {
            let result: Result<Int, SystemCallError> = bytes.withUnsafeMutableBytes { buffer in
                do throws(SystemCallError) {
                    return .success(
                        try file.read(into: .init(rebasing: buffer[done...]), at: UInt64(done)))
                } catch { return .failure(error) }
            }
            let count = try result.get()
            // It was cut short meanwhile: its checksum will be wrong.
            if count == 0 { break }
            done += count
        }
        bytes.removeSubrange(done...)
        return bytes
    }

    /// Replaces the file by `memory`, durably; readable for its owner alone, since it names files.
    public func write(_ memory: WatchMemory) throws(WatchMemoryError) {
        do throws(SystemCallError) { try write(memory.encoded()) } catch {
            throw WatchMemoryError(.system(CallFailure(error)))
        }
    }

    /// Checks that ``write(_:)`` can create its temporary file: creates it and removes it.
    public func tryWriting() throws(WatchMemoryError) {
        do throws(SystemCallError) {
            let directory = try directory()
            _ = try makeTemporary(in: directory)
            try directory.unlink(temporary)
        } catch { throw WatchMemoryError(.system(CallFailure(error))) }
    }

    private var temporary: BytePath { path.name.addingSuffix(".\(getpid()).part") }

    private func makeTemporary(in directory: borrowing OwnedDescriptor) throws(SystemCallError) -> OwnedDescriptor {
        // One that is there is left from a crash of a process with our number.
        try? directory.unlink(temporary)
        return try directory.openBeneath(temporary, [.write, .createNew], mode: 0o600)
    }

    private func write(_ bytes: [UInt8]) throws(SystemCallError) {
        let directory = try directory()
        let file = try makeTemporary(in: directory)
        do throws(SystemCallError) {
            try file.write(bytes, at: 0)
            try file.sync()
            try directory.rename(temporary, replacing: path.name)
        } catch {
            try? directory.unlink(temporary)
            throw error
        }
        try directory.sync()
    }

    /// Removes the file if it is there. The next watch reports all files.
    public func remove() throws(WatchMemoryError) {
        do throws(SystemCallError) { try directory().unlink(path.name) } catch {
            if error.code != .noSuchFileOrDirectory { throw WatchMemoryError(.system(CallFailure(error))) }
        }
    }

    private func directory() throws(SystemCallError) -> OwnedDescriptor {
        try openDirectory(path.parent.isEmpty ? "." : path.parent)
    }
}
