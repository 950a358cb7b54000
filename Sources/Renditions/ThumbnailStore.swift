package import FileValues
import Glibc
package import LinuxKernel
import SystemPackage

/// Renditions as files in the state directory, named by the hash of their photo: `thumbnails/ab/abcd…-512.jpg`.
///
/// A file is complete or absent, except after a power cut, when empty files count as absent. Files are not synced,
/// since they can be made again. The state directory's group may read all of them, as the pages' program does.
package struct ThumbnailStore: Hashable, Sendable {
    /// `thumbnails` in the state directory.
    package let root: BytePath

    package init(state: BytePath) { root = state.appending("thumbnails") }

    /// Returns the path of the picture of `size` for the photo with this hash, whether or not it exists.
    package func path(of hash: [UInt8], size: UInt32) -> BytePath { path(of: hash, "\(size)") }

    /// Returns the path of the picture named by a word: `abcd…-tilt-shift.jpg`.
    package func path(of hash: [UInt8], _ word: String) -> BytePath {
        root.appending(Self.place(of: hash)).appending(Self.name(of: hash, "-\(word).jpg"))
    }

    package func has(_ hash: [UInt8], size: UInt32) -> Bool { has(hash, "\(size)") }

    package func has(_ hash: [UInt8], _ word: String) -> Bool {
        guard let status = try? FileStatus(at: path(of: hash, word)) else { return false }
        return status.kind == .regular && status.identity.size > 0
    }

    /// Writes a picture, replacing an existing one.
    func write(_ bytes: [UInt8], of hash: [UInt8], size: UInt32) throws(SystemCallError) {
        try write(bytes, of: hash, "\(size)")
    }

    func write(_ bytes: [UInt8], of hash: [UInt8], _ word: String) throws(SystemCallError) {
        try put(bytes, named: Self.name(of: hash, "-\(word).jpg"), in: Self.place(of: hash))
    }

    package func open(_ hash: [UInt8], _ word: String) throws(SystemCallError) -> OwnedDescriptor {
        try openDirectory(root).openBeneath(
            Self.place(of: hash).appending(Self.name(of: hash, "-\(word).jpg")), [.read, .nonBlocking])
    }

    /// Returns why there is no picture, and the decoder that made none; nil if there is one, or none was attempted.
    package func failure(of hash: [UInt8]) -> (reason: String, decoder: String)? {
        guard let lines = read(Self.place(of: hash).appending(Self.name(of: hash, ".txt"))) else { return nil }
        return (lines[0], lines.count > 1 ? lines[1] : "")
    }

    /// Writes or, with nil, deletes the reason why this decoder made no picture.
    func setFailure(_ failure: String?, by decoder: String? = nil, of hash: [UInt8]) throws(SystemCallError) {
        let name = Self.name(of: hash, ".txt")
        if let failure {
            return try put(Array("\(failure)\n\(decoder ?? "")\n".utf8), named: name, in: Self.place(of: hash))
        }
        guard let directory = try? openDirectory(root.appending(Self.place(of: hash))) else { return }
        try? directory.unlink(name)
    }

    /// Returns the last photo up to which all were processed with these settings; 0 if unknown.
    package func doneUpTo(_ settings: String) -> Int64 {
        let words = read("done")?[0].split(separator: " ", maxSplits: 1) ?? []
        guard words.count == 2, words[1] == settings else { return 0 }
        return Int64(words[0]) ?? 0
    }

    package func keep(doneUpTo id: Int64, _ settings: String) throws(SystemCallError) {
        try put(Array("\(id) \(settings)\n".utf8), named: "done", in: "")
    }

    /// Lets the group into directories that an earlier version made under the unit's umask, for their owner alone.
    package func openToGroup() {
        guard let root = try? openDirectory(root) else { return }
        Self.openToGroup(root)
        for entry in (try? root.entries()) ?? [] where entry.kind != .regular {
            if let directory = try? root.openDirectoryBeneath(entry.name) { Self.openToGroup(directory) }
        }
    }

    private static func openToGroup(_ directory: borrowing OwnedDescriptor) {
        guard let mode = try? FileStatus(of: directory).mode & 0o7777, mode & 0o050 != 0o050 else { return }
        // One of another owner stays.
        try? directory.setModeOrLess(mode | 0o050)
    }

    private static func place(of hash: [UInt8]) -> BytePath { BytePath(hexadecimal(hash.prefix(1))) }

    private static func name(of hash: [UInt8], _ ending: String) -> BytePath {
        BytePath(hexadecimal(hash[...]) + ending)
    }

    private func put(_ bytes: [UInt8], named name: BytePath, in place: BytePath) throws(SystemCallError) {
        let state = try openDirectory(root.parent)
        let directory = try state.makeDirectoriesBeneath(BytePath("thumbnails").appending(place), mode: 0o750)
        try openDirectory(root).giveToOwner(of: state)
        try directory.giveToOwner(of: state)
        try directory.put(bytes, as: name)
    }

    /// Returns the lines of a small file; nil if there are none.
    private func read(_ path: BytePath) -> [String]? {
        guard let directory = try? openDirectory(root), let file = try? directory.openBeneath(path, .read),
            let bytes = try? file.read(4_096), !bytes.isEmpty
        else { return nil }
        return bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
    }
}
