package import FileValues
package import LinuxKernel
import SystemPackage

/// The content of the text file beside a quarantined file. Each part is one line; paths are escaped.
package struct QuarantineNote: Hashable, Sendable {
    /// The defect: `the JPEG is cut short`.
    package var what: String
    /// The evidence: `1,048,576 bytes, no end marker`.
    package var why: String
    /// When it was set aside.
    package var when: FileTime
    /// Its former path.
    package var origin: BytePath
    /// The action for a person.
    package var advice: String

    package init(what: String, why: String, when: FileTime, origin: BytePath, advice: String) {
        self.what = what
        self.why = why
        self.when = when
        self.origin = origin
        self.advice = advice
    }

    /// The file's text.
    package var text: String {
        """
        what  \(oneLine(what))
         why  \(oneLine(why))
        when  \(utcText(when))
        from  \(origin.escaped)
          do  \(oneLine(advice))

        """
    }

    /// The largest text that is read.
    private static let largest = 64 << 10

    /// Reads the text of a note; nil if this program has not written it. Anybody may have put it there: the caller checks
    /// what it says.
    package init?(text: some Collection<UInt8>) {
        guard let text = String(validating: Array(text), as: UTF8.self), text.hasSuffix("\n") else { return nil }
        let lines = text.dropLast().split(separator: "\n", omittingEmptySubsequences: false)
        let labels = ["what  ", " why  ", "when  ", "from  ", "  do  "]
        guard lines.count == labels.count, zip(lines, labels).allSatisfy({ $0.hasPrefix($1) }) else { return nil }
        let parts = lines.map { BytePath(escaped: String($0.dropFirst(6))) }
        let words = parts.map { $0.flatMap { String(validating: $0.bytes, as: UTF8.self) } }
        guard let what = words[0], let why = words[1], let when = words[2].flatMap({ Self.time($0) }),
            let origin = parts[3], let advice = words[4]
        else { return nil }
        self.init(what: what, why: why, when: when, origin: origin, advice: advice)
    }

    /// Reads the note beside the quarantined file `path`; nil if there is none that this program has written.
    package init?(besides path: BytePath, in root: borrowing OwnedDescriptor) {
        guard let directory = try? root.openDirectoryBeneath(path.parent),
            let note = try? directory.openBeneath(FileNames.reason(for: path.name, attempt: 0), [.read, .nonBlocking]),
            let status = try? FileStatus(of: note), status.kind == .regular, status.links == 1,
            let bytes = try? note.read(Self.largest + 1), bytes.count <= Self.largest
        else { return nil }
        self.init(text: bytes)
    }

    private static func time(_ text: String) -> FileTime? {
        let digits = #/([0-9]{4})-([0-9]{2})-([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) UTC/#
        guard let match = text.wholeMatch(of: digits) else { return nil }
        let numbers = [match.1, match.2, match.3, match.4, match.5, match.6].compactMap { Int($0) }
        guard numbers.count == 6, let date = CivilDate(year: numbers[0], month: numbers[1], day: numbers[2]) else {
            return nil
        }
        return CivilDateTime(date, hour: numbers[3], minute: numbers[4], second: numbers[5])?.instant(offset: 0)
    }

    private func oneLine(_ text: String) -> String { escapeForDisplay(Array(text.utf8)) }
}

/// `2026-11-21 14:03:07 UTC`.
private func utcText(_ time: FileTime) -> String {
    CivilDateTime(time).map { "\($0) UTC" } ?? "\(time.seconds) s after 1970"
}

/// Writes `note` durably beside the quarantined file `path` of `root` and returns its path. Leaves no note after an
/// error, and never changes the quarantined file. `again` is set if a crash may have left an incomplete note.
@discardableResult
package func writeReason(
    _ note: QuarantineNote, besides path: BytePath, in root: DestinationRoot, again: Bool = false,
    work: FileWork = FileWork()
) throws(FilingError) -> BytePath {
    work.willEnter(.writeReason)
    let directory = try root.openDirectory(path.parent)
    if again {
        do { try directory.unlink(FileNames.reason(for: path.name, attempt: 0)) } catch {
            if error.code != .noSuchFileOrDirectory {
                throw FilingError(.writeReason, .destination, .system(error), path: path)
            }
        }
    }
    let written = try filing(.writeReason, .destination, path) { () throws(SystemCallError) in
        try FileNames.withFreeNumber { number throws(SystemCallError) -> BytePath? in
            let name = FileNames.reason(for: path.name, attempt: number)
            let made = try nilIfExists { () throws(SystemCallError) in
                try directory.openBeneath(name, [.write, .createNew], mode: 0o644)
            }
            guard let file = made else { return nil }
            do throws(SystemCallError) {
                try file.setMode((root.attributes.mode ?? 0o644) & 0o666)
                try file.write(Array(note.text.utf8), at: 0)
                try file.sync()
                try directory.syncDirectory()
            } catch {
                try? directory.unlink(name)
                throw error
            }
            return name
        } isFree: { number throws(SystemCallError) in
            try directory.isFree(FileNames.reason(for: path.name, attempt: number))
        }
    }
    guard let written else { throw .noFreeName(.writeReason, path) }
    return path.parent.appending(written)
}

/// Removes the note beside a file that leaves the quarantine, if this program wrote it. Errors are ignored, since
/// nothing depends on a note.
package func removeReason(besides path: BytePath, in root: borrowing OwnedDescriptor) {
    let name = FileNames.reason(for: path.name, attempt: 0)
    guard let directory = try? root.openDirectoryBeneath(path.parent),
        let note = try? directory.openBeneath(name, [.read, .nonBlocking]),
        let status = try? FileStatus(of: note), status.kind == .regular, status.links == 1
    else { return }
    guard (try? note.read(256))?.starts(with: Array("what  ".utf8)) == true else { return }
    try? directory.unlink(name)
}
