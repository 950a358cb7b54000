import Foundation
import Testing

/// Only `Filing/Removal` removes or replaces files that may contain a photo's bytes. Every other source file that
/// removes or replaces a name, or truncates a file, is listed here with its target.
@Suite("Only one module removes photos' files")
struct SourceSearchTests {
    private static let removal = "Filing/Removal/"
    private static let allowed: [String: String] = [
        "Catalogue/CatalogueFile+Checking.swift": "the mark of a damaged catalogue",
        "Catalogue/CatalogueFile+OpenFile.swift": "the catalogue's own files",
        "Catalogue/PostgreSQL/ServerMemory.swift": "the log of what was begun, which is kept in two files",
        "Catalogue/CatalogueFile.swift": "the catalogue's log and the copy made before a migration",
        "DaemonHost/Control/ControlSocket.swift": "the control socket",
        "DaemonHost/Daemon/Directories.swift": "the link to the runtime directory",
        "DaemonHost/State/MetricsWriter.swift": "the file of metrics",
        "DaemonHost/State/RuntimeFile.swift": "files of the runtime directory",
        "DirectoryWatch/Liveness/LivenessCookie.swift": "the cookie",
        "DirectoryWatch/Memory/WatchMemoryFile.swift": "the file of what is known",
        "DropStore/DeviceListing.swift": "listings of devices that were removed, and the copy of a damaged one",
        "DropStore/DropStore.swift": "parts of uploads that were ended or never began",
        "DropStore/LiveUpload.swift": "bytes of an upload that were not acknowledged",
        "DropStore/Placement.swift": "empty directories, by rmdir",
        "DropStore/LineFile.swift": "a new ledger that could not be written",
        "FetchService/Transfer.swift": "a download that begins anew",
        "Filing/ImportInbox+Runs.swift": "empty directories, by rmdir",
        "Filing/ReasonFile.swift": "notes beside quarantined files",
        "Importing/ImportMemory.swift": "the file of what was imported",
        "LibraryCare/CatalogueRebuilding.swift": "a catalogue that is not needed",
        "LibraryCare/SidecarWriting.swift": "sidecars that were not filed, and their temporaries",
        "Links/LinkNote.swift": "notes beside dropped links",
        "Links/LinkStore.swift": "the ledger of links",
        "LinuxKernel/Files/DirectoryEntries+Whole.swift": "the calls themselves",
        "LinuxKernel/Files/DirectoryEntries.swift": "the calls themselves",
        "LinuxKernel/Files/FileContent.swift": "the calls themselves",
        "LinuxKernel/Sockets/LocalSocket.swift": "sockets",
        "Renditions/ThumbnailStore.swift": "notes on thumbnails",
        "Settings/PlaceProbe.swift": "a hidden file that shows whether two places are one",
        "Describing/RejectsFile.swift": "the table of rejects",
        "photoinbox/Maintain/Bookmark.swift": "how far a verification is",
        "photoinbox/Renditions/SheetFile.swift": "contact sheets",
        "SettingUp/SetupTest.swift": "the test photo, of eight pixels, that it has made itself",
        "SettingUp/SetupExecution.swift": "the configuration and units, of which copies stay",
    ]

    private static var calls: Regex<(Substring, Substring?)> {
        #/\.unlink\(|\bunlink(at)?\(|\bremove\("|\brename\([^)]*\breplacing: |\brenameat\(|\brename\("|\bf?truncate\(|\.cut\(to:|removeItem|moveItem|replaceItem/#
    }

    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources")

    private func found() throws -> [String: [String]] {
        let calls = Self.calls
        var found: [String: [String]] = [:]
        let all = try #require(FileManager.default.enumerator(at: Self.sources, includingPropertiesForKeys: nil))
        for case let file as URL in all where ["swift", "c", "h", "cpp"].contains(file.pathExtension) {
            let name = String(file.path.dropFirst(Self.sources.path.count + 1))
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                let code = line.trimmingPrefix(while: \.isWhitespace)
                if code.hasPrefix("//") || code.hasPrefix("*") || code.hasPrefix("/*") { continue }
                if code.contains(calls) { found[name, default: []].append(String(code)) }
            }
        }
        return found
    }

    @Test func onlyOneModuleRemovesPhotos() throws {
        let found = try found()
        #expect(found.keys.contains { $0.hasPrefix(Self.removal) }, "the search finds nothing")
        for (name, lines) in found where !name.hasPrefix(Self.removal) {
            #expect(Self.allowed[name] != nil, "\(name) removes or replaces files: \(lines.joined(separator: " | "))")
        }
        #expect(Set(Self.allowed.keys).subtracting(found.keys).isEmpty, "listed, and nothing is there any more")
    }

    @Test("A discard order, which requires no other copy, is created in one place only")
    func oneOrder() throws {
        let all = try #require(FileManager.default.enumerator(at: Self.sources, includingPropertiesForKeys: nil))
        var places: [String] = []
        for case let file as URL in all where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            places += text.matches(of: /DiscardOrder\(/).map { _ in file.lastPathComponent }
        }
        #expect(places == ["TrashBin.swift"])
    }
}
