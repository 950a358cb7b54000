package import Catalogue
package import FileValues
package import Filing
import LinuxKernel
import PhotoModel
import Settings

/// Records the files in quarantine again after the catalogue was lost, so that they are listed, and can be released and
/// discarded: as the former catalogue has them, or else as the notes beside them say.
///
/// A note is not believed where it says where a file came from, unless that is in the inbox. Changes no file.
package struct QuarantineRestoring {
    /// The longest reason that is believed, in characters.
    private static let longestReason = 1_000

    private let quarantine: BytePath
    private let inboxes: [String: BytePath]
    private let catalogue: CatalogueFile
    private let former: CatalogueFile?
    private let isConfiguredOnly: Bool
    private let work: FileWork

    /// `inboxes` are the inboxes' directories by their names. `former` is what `catalogue` is to replace. With
    /// `isConfiguredOnly`, files of other inboxes are left out: those of another daemon of the same catalogue, for one.
    package init(
        of quarantine: BytePath, inboxes: [String: BytePath], into catalogue: CatalogueFile,
        former: CatalogueFile? = nil, isConfiguredOnly: Bool = false, work: FileWork = FileWork()
    ) {
        self.quarantine = quarantine
        self.inboxes = inboxes
        self.catalogue = catalogue
        self.former = former
        self.isConfiguredOnly = isConfiguredOnly
        self.work = work
    }

    /// Returns how many files are recorded now that were not before. Calls `unreadable` for each that cannot be. What the former
    /// catalogue has is kept even if the file is not there: its disk may be away.
    package func run(unreadable: (BytePath, _ reason: String) -> Void) throws -> Int {
        var known = Set(try catalogue.waitingInQuarantine().compactMap(\.outcome.destination))
        var found: [OutcomeRecord] = []
        // The name of one that was deleted by hand may be that of a later one now.
        for stored in ((try? former?.waitingInQuarantine()) ?? []).reversed() {
            guard let destination = stored.outcome.destination, known.insert(destination).inserted else { continue }
            var record = stored.outcome
            record.photoID = nil
            found.append(record)
        }
        if let root = try? openDirectory(quarantine) {
            for path in files(in: root, unreadable) where !known.contains(quarantine.appending(path)) {
                do throws(FilingError) {
                    let file = try SourceFile(path, beneath: root)
                    let hash = try file.hash(work)
                    found.append(record(of: path, hash, changed: file.identity.changed, in: root))
                } catch {
                    if error.kind == .stopped { throw error }
                    unreadable(quarantine.appending(path), "\(error.cause)")
                }
            }
        }
        // Numbers grow with the time.
        found.sort { ($0.at, $0.path) < ($1.at, $1.path) }
        if !found.isEmpty { try catalogue.recordOutcomes(found) }
        return found.count
    }

    /// The files of each inbox without their notes, which are counted by nobody else either.
    private func files(
        in root: borrowing OwnedDescriptor, _ unreadable: (BytePath, String) -> Void
    ) -> [BytePath] {
        var files: [BytePath] = []
        do throws(SystemCallError) {
            for inbox in try root.entries().map(\.name).sorted() {
                guard isInbox(inbox), let directory = try? root.openDirectoryBeneath(inbox) else { continue }
                do throws(SystemCallError) {
                    files += try directory.entries().map(\.name).sorted().filter { name in
                        name.bytes.first != UInt8(ascii: ".") && !name.bytes.suffix(4).elementsEqual(".txt".utf8)
                            && (try? FileStatus(of: name, in: directory))?.kind == .regular
                    }.map { inbox.appending($0) }
                } catch { unreadable(quarantine.appending(inbox), "\(error)") }
            }
        } catch { unreadable(quarantine, "\(error)") }
        return files
    }

    private func isInbox(_ name: BytePath) -> Bool {
        guard let text = String(validating: name.bytes, as: UTF8.self) else { return false }
        if inboxes[text] != nil { return true }
        // As the configuration requires of a name, so that it can be configured again.
        return !isConfiguredOnly && isPlainName(text)
    }

    private func record(
        of path: BytePath, _ hash: ContentHash, changed: FileTime, in root: borrowing OwnedDescriptor
    ) -> OutcomeRecord {
        let inbox = String(decoding: path.parent.bytes, as: UTF8.self)
        let note = QuarantineNote(besides: path, in: root)
        let reason = note.map { String($0.why.prefix(Self.longestReason)) }
        return OutcomeRecord(
            at: min(note?.when ?? changed, Moment.now.wall), inbox: inbox,
            path: note.flatMap { origin(of: $0, in: inbox) } ?? path.name, outcome: .quarantined,
            reason: reason ?? "set aside earlier; the catalogue that knew why was lost", sha256: hash.bytes,
            destination: quarantine.appending(path))
    }

    /// Where it was in its inbox, if that is believable; nil if not. What is ignored there never came from there.
    private func origin(of note: QuarantineNote, in inbox: String) -> BytePath? {
        guard let root = inboxes[inbox], let path = note.origin.relative(to: root), path.isSafeBeneath else {
            return nil
        }
        switch NameRules.decide(path) {
        case .take, .sidecar: return path
        case .unfinished, .ignored: return nil
        }
    }
}
