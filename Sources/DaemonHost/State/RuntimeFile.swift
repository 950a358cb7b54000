import FileValues
import Glibc
import LinuxKernel

/// A small file in the runtime directory: there whole, or not at all.
struct RuntimeFile: Sendable {
    /// The state dump.
    static let state = RuntimeFile(name: "state.json")
    /// The daemon's process identifier, for those who send it a signal.
    static let pid = RuntimeFile(name: "photoinboxd.pid")

    let name: BytePath

    /// Puts `bytes` there in place of what was there; its path. For the owner to change and the group to read, whatever
    /// the umask says.
    @discardableResult
    func write(_ bytes: [UInt8], in directory: BytePath) throws(SystemCallError) -> BytePath {
        try openDirectory(directory).put(bytes, as: name)
        return directory.appending(name)
    }

    /// Removes what a crash has left half-written of files called `name` in `directory`; for their only writer.
    static func removeHalfWritten(_ names: [BytePath], in directory: BytePath) {
        guard let parent = try? openDirectory(directory), let entries = try? parent.entries() else { return }
        let beginnings = names.map { $0.bytes + [UInt8(ascii: ".")] }
        for entry in entries where entry.name.bytes.suffix(5) == ArraySlice(".part".utf8) {
            if beginnings.contains(where: { entry.name.bytes.starts(with: $0) }) { try? parent.unlink(entry.name) }
        }
    }

    /// Takes it away; it is no harm if it is not there.
    func remove(from directory: BytePath) {
        guard let parent = try? openDirectory(directory) else { return }
        try? parent.unlink(name)
    }
}
