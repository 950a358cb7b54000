import FileValues
import Filing
import Glibc
import LinuxKernel
import SystemPackage

/// Removes files from the source after checking that a copy has their bytes; see
/// ``SourceFile/remove(token:hash:seeing:probe:work:syncing:areTimesReliable:)``.
///
/// The temporary name of a file begins with a mark made from its path, so that the next run can restore the name of a
/// file that a killed run had set aside.
struct ImportRemoval {
    let knowledge: ImportKnowledge
    let shouldStop: () -> Bool

    /// How often to search for a copy that is neither at its path nor recorded elsewhere, and for one that the daemon
    /// is moving. A move takes milliseconds, on a slow disk seconds; if the daemon is killed meanwhile, it stays
    /// unfinished.
    private static let attempts = (lost: 50, moving: 3_000)
    /// Between two searches, in microseconds; the thread is the import's own.
    private static let pause: UInt32 = 20_000

    /// Removes a file that is unchanged since `source` was opened, if its bytes are in the copy that `answer` names, or
    /// in the daemon's copy of that. Returns why it was not removed, or nil. The caller must keep `source` open, since
    /// FAT may give the inode number of a closed file to another one.
    func remove(
        _ source: OpenSource, _ line: ImportMemory.Entry, _ answer: ImportKnowledge.Answer,
        root: borrowing OwnedDescriptor
    ) -> String? {
        var answer = answer
        var reason = "its copy is missing"
        var left = Self.attempts
        while left.lost > 0, left.moving > 0, !shouldStop() {
            if case .moving = answer {
                left.moving -= 1
                reason = "its copy is still being moved out of the inbox"
            } else {
                left.lost -= 1
            }
            if let copy = knowledge.copy(of: answer, line.hash, size: source.size) {
                do throws(FilingError) {
                    try remove(source, line.hash, seeing: copy, root)
                    return nil
                } catch {
                    reason = Self.message(of: error)
                    guard case .noOtherCopy(.missing) = error.cause else { return reason }
                }
            }
            usleep(Self.pause)
            guard let next = try? knowledge.answer(line, source.status) else { break }
            answer = next
        }
        return reason
    }

    private func remove(
        _ source: OpenSource, _ hash: ContentHash, seeing copy: RecordedCopy, _ root: borrowing OwnedDescriptor
    ) throws(FilingError) {
        // Before the file is set aside, which a card's users could notice.
        guard copy.mayExist else {
            throw FilingError(.seeCopy, .destination, .noOtherCopy(.missing(copy.path)), path: source.path)
        }
        let file = try SourceFile(source.path, beneath: root)
        guard file.status.device == source.status.device, file.identity == source.status.identity else {
            throw FilingError(
                .checkSourceAgain, .source, .sourceChanged("it changed during the import"), path: source.path)
        }
        let removal = try file.remove(
            token: "\(Self.mark(for: source.path))-\(FileNames.makeToken())", hash: hash, seeing: [.recorded(copy)],
            probe: WriterProbe(), work: FileWork(shouldStop: shouldStop))
        if case .kept(let error) = removal { throw error }
    }

    private static func message(of error: FilingError) -> String {
        if case .noOtherCopy(let reason) = error.cause { return reason.description }
        return "it could not be removed: \(error.cause)"
    }

    // MARK: - After a crash

    private static let prefix = "import-"
    /// Hexadecimal digits of the path's hash: with 128 random bits after them they fit into a token.
    private static let digits = 24

    /// Returns the beginning of the name of a file that is set aside.
    static func mark(for path: BytePath) -> String {
        var hasher = ContentHasher()
        path.bytes.withUnsafeBytes { hasher.update($0) }
        return prefix + hasher.hash().description.prefix(digits)
    }

    /// Restores the name that the file `entry` in `directory` had before a killed run set it aside.
    static func restore(
        _ entry: BytePath, in directory: OpenDirectory, _ memory: ImportMemory?
    ) -> BytePath? {
        guard let mark = mark(of: entry), let memory, let name = memory.name(setAsideAs: mark, in: directory.path)
        else { return nil }
        do throws(SystemCallError) {
            try directory.descriptor.renameExclusively(entry, as: name)
            return name
        } catch { return nil }
    }

    /// Returns the mark in the name of a file that a killed import set aside; nil for other names.
    static func mark(of name: BytePath) -> String? {
        let (prefix, suffix) = (Array((FileNames.prefix + prefix).utf8), Array(".aside.part".utf8))
        guard name.bytes.starts(with: prefix), name.bytes.suffix(suffix.count).elementsEqual(suffix) else { return nil }
        let token = name.bytes.dropFirst(FileNames.prefix.utf8.count).dropLast(suffix.count)
        return String(decoding: token.prefix(Self.prefix.utf8.count + digits), as: UTF8.self)
    }
}
