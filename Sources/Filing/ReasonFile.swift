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
