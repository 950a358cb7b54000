import FileValues
import LinuxKernel

/// Small files in the runtime directory: each is there whole, or not at all.
enum RuntimeFile {
    /// The state dump.
    static let state: BytePath = "state.json"
    /// The daemon's process identifier, for those who send it a signal.
    static let pid: BytePath = "photoinboxd.pid"

    /// Removes what a crash has left half-written of files called `name` in `directory`; for their only writer.
    static func removeHalfWritten(_ names: [BytePath], in directory: BytePath) {
        guard let parent = try? openDirectory(directory), let entries = try? parent.entries() else { return }
        let beginnings = names.map { $0.bytes + [UInt8(ascii: ".")] }
        for entry in entries where entry.name.bytes.suffix(5) == ArraySlice(".part".utf8) {
            if beginnings.contains(where: { entry.name.bytes.starts(with: $0) }) { try? parent.unlink(entry.name) }
        }
    }

    /// Removes a file, if it is there.
    static func remove(_ name: BytePath, from directory: BytePath) { try? openDirectory(directory).unlink(name) }
}
