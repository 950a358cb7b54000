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
            let file = try openParent(of: path).openBeneath(path.name, [.read, .nonBlocking])
            let status = try FileStatus(of: file)
            guard status.kind == .regular, status.identity.size <= Self.largest else {
                throw SystemCallError("open", .invalidArgument, path: path)
            }
            // If it is cut short meanwhile, its checksum will be wrong.
            bytes = try readToEnd(file.raw, most: Int(Self.largest), path)
        } catch {
            if error.code == .noSuchFileOrDirectory { return nil }
            throw WatchMemoryError(.system(CallFailure(error)))
        }
        return try WatchMemory(decoding: bytes)
    }

    /// Replaces the file by `memory`, durably; readable for its owner alone, since it names files.
    public func write(_ memory: WatchMemory) throws(WatchMemoryError) {
        do throws(SystemCallError) {
            try openParent(of: path).put(memory.encoded(), as: path.name, mode: 0o600, durably: true)
        } catch {
            throw WatchMemoryError(.system(CallFailure(error)))
        }
    }

    /// Checks that ``write(_:)`` can create its temporary file: creates it and removes it.
    public func tryWriting() throws(WatchMemoryError) {
        do throws(SystemCallError) {
            let directory = try openParent(of: path)
            let name = path.name.addingSuffix(".\(getpid()).part")
            try? directory.unlink(name)
            _ = try directory.openBeneath(name, [.write, .createNew])
            try directory.unlink(name)
        } catch { throw WatchMemoryError(.system(CallFailure(error))) }
    }

    /// Removes the file if it is there. The next watch reports all files.
    public func remove() throws(WatchMemoryError) {
        do throws(SystemCallError) { try openParent(of: path).unlink(path.name) } catch {
            if error.code != .noSuchFileOrDirectory { throw WatchMemoryError(.system(CallFailure(error))) }
        }
    }
}
