import Catalogue
import FileValues
import Filing
import Foundation
import Glibc
import LibraryCare
import LinuxKernel
import TestSupport
import Testing

private let foreignSidecar = """
    <x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>
    <rdf:Description rdf:about='' xmlns:darktable='http://darktable.sf.net/' darktable:history_end='3'/>
    </rdf:RDF></x:xmpmeta>
    """

@Suite("Sidecars are written beside photos, and only what was written there before is changed")
struct SidecarWritingTests {
    /// A library whose files are recorded, and of whose photos something is said.
    private struct Shelf {
        let scratch: ScratchDirectory
        let catalogue: CatalogueFile
        var library: String { scratch.appending("library") }

        private init(scratch: ScratchDirectory, catalogue: CatalogueFile) {
            (self.scratch, self.catalogue) = (scratch, catalogue)
        }

        /// `files`: fixtures by name, or texts, recorded in this order of names.
        init(_ files: [String: String]) throws {
            scratch = try ScratchDirectory()
            catalogue = try CatalogueFile.openForWriting(scratch.appending("catalogue.sqlite"), now: .now)
            try FileManager.default.createDirectory(atPath: library, withIntermediateDirectories: true)
            for (name, fixture) in files { try put(try WorkerHouse.content(fixture), name) }
            try adopt()
            try describe(title: "Möwen")
        }

        func put(_ bytes: [UInt8], _ name: String) throws {
            try Data(bytes).write(to: URL(fileURLWithPath: "\(library)/\(name)"))
        }

        @discardableResult
        func adopt() throws -> LibraryAdoption.Summary {
            let missing = try LibraryVerification(of: BytePath(library), against: catalogue).missing().photos
            return try LibraryAdoption(of: LibraryTree(BytePath(library)), into: catalogue, missing: missing).run()
        }

        /// The same library with a new catalogue.
        func rebuilt(from old: String? = nil) throws -> (shelf: Shelf, findings: [LibraryAdoption.Finding]) {
            let new = try CatalogueFile.openForWriting(scratch.appending("\(UUID()).sqlite"), now: .now)
            let tree = try LibraryTree(BytePath(library))
            let predicted = try LibraryAdoption(of: tree, into: nil, comparingWith: new).run()
            var findings: [LibraryAdoption.Finding] = []
            let summary = try LibraryAdoption(of: tree, into: new).run(report: { findings.append($0) })
            #expect(predicted.restored == summary.restored)
            if let old { _ = try new.copyDescriptions(from: BytePath(scratch.appending(old))) }
            return (Shelf(scratch: scratch, catalogue: new), findings)
        }

        func description(of name: String) throws -> PhotoDescription? {
            let photo = try #require(try catalogue.photo(library: BytePath(library), path: BytePath(name)))
            return try catalogue.description(ofHash: photo.photo.sha256)
        }

        func describe(title: String, keywords: String = "gull\nharbour") throws {
            var batch = DescriptionBatch()
            let none = batch.add([])
            for stored in try catalogue.photos(after: 0, limit: 100) where !stored.photo.part.isSidecar {
                let (key, title) = (batch.add(stored.photo.sha256), batch.add(title.utf8))
                let words = batch.add(keywords.utf8)
                batch.end(.content, key: key, title: title, keywords: words, rating: 4, taken: none, place: none)
            }
            try catalogue.describe(
                batch, from: "table.csv",
                FileIdentity(inode: 1, size: 1, modified: Moment.now.wall, changed: Moment.now.wall)
            ) { _ in ImportPlace() }
        }

        /// Writes what is due; returns what was left.
        @discardableResult
        func write(
            _ work: FileWork = FileWork(), isRecorded: Bool = true, hasFailed: Bool = false
        ) throws -> [String] {
            let writing = try SidecarWriting(of: BytePath(library), for: catalogue, work: work)
            var (last, left) = (Int64(0), [String]())
            while let outcomes = try writing.next(after: &last, limit: 2) {
                if isRecorded { try catalogue.record(outcomes) }
                left += outcomes.compactMap(\.reason)
            }
            #expect((writing.failure == nil) == !hasFailed)
            return left
        }

        var isDue: Bool {
            get throws { try !catalogue.sidecarsToWrite(in: BytePath(library), after: 0, limit: 1).isEmpty }
        }

        func text(_ name: String) -> String? {
            FileManager.default.contents(atPath: "\(library)/\(name)").map { String(decoding: $0, as: UTF8.self) }
        }

        /// Of the photo `name`, as an interruption leaves it.
        func leftover(_ name: String) throws -> String {
            let hash = try SourceFile(BytePath(name), beneath: openDirectory(BytePath(library))).hash()
            return ".photo-inbox-sidecar-\(hash)-0123abcd.part"
        }

        var names: Set<String> {
            get throws {
                Set(try FileManager.default.contentsOfDirectory(atPath: library)).subtracting([".photoinbox-library"])
            }
        }
    }

    private static let foreign = foreignSidecar

    private static func inode(_ path: String) throws -> UInt64 { try FileStatus(at: BytePath(path)).identity.inode }

    @Test("Each has the name that programs look for; none counts as a photo, a stranger or damage, and is written once")
    func names() throws {
        let shelf = try Shelf([
            "a.jpg": "exif.jpg", "b.nef": "mosaic.nef", "b.raf": "preview.raf", "c.dng": "mosaic.dng",
        ])
        #expect(try shelf.write().isEmpty)
        let photos: Set = ["a.jpg", "b.nef", "b.raf", "c.dng"]
        #expect(try shelf.names == photos.union(["a.jpg.xmp", "b.xmp", "b.raf.xmp", "c.dng.xmp"]))
        #expect(try !shelf.isDue)
        let text = try #require(shelf.text("b.xmp"))
        #expect(text.contains("Möwen") && text.contains("<rdf:li>harbour</rdf:li>"))
        let inode = try Self.inode("\(shelf.library)/b.xmp")

        let adoption = try shelf.adopt()
        #expect(adoption.adopted == 0 && adoption.known == 4 && adoption.restored == 4)
        var seen = 0
        _ = try LibraryVerification(of: BytePath(shelf.library), against: shelf.catalogue).run(after: 0) { progress in
            seen = progress.photos
            return progress.isGood
        } report: { _, fault in
            Issue.record("\(fault)")
        }
        #expect(seen == 4)

        #expect(unlink("\(shelf.library)/b.raf.xmp") == 0)
        try shelf.adopt()
        #expect(try shelf.isDue)
        #expect(try shelf.write().isEmpty)
        #expect(shelf.text("b.raf.xmp") != nil, "one that is missing is written again")
        #expect(try Self.inode("\(shelf.library)/b.xmp") == inode, "it says all of that already")
        try shelf.describe(title: "Gulls")
        #expect(try shelf.write().isEmpty)
        #expect(shelf.text("b.xmp") == text.replacing("Möwen", with: "Gulls"))
        #expect(try shelf.names.count == 8)
    }

    @Test("A filed file is never changed: a raw photo's sidecar gets the other name, any other is left")
    func filed() throws {
        let shelf = try Shelf([
            "a.jpg": "exif.jpg", "a.jpg.xmp": Self.foreign, "b.nef": "mosaic.nef", "b.xmp": Self.foreign + " ",
            "c.jpg": "plain.jpg",
        ])
        // What was filed once and copied by hand has the same bytes.
        try shelf.put(Array(Self.foreign.utf8), "c.jpg.xmp")
        let before = try ["a.jpg.xmp", "b.xmp", "c.jpg.xmp"].map { try Self.inode("\(shelf.library)/\($0)") }
        let left = try shelf.write()
        #expect(left.count == 2 && left.allSatisfy { $0.contains("filed") }, "\(left)")
        #expect(try ["a.jpg.xmp", "b.xmp", "c.jpg.xmp"].map { try Self.inode("\(shelf.library)/\($0)") } == before)
        #expect(shelf.text("a.jpg.xmp") == Self.foreign && shelf.text("b.xmp") == Self.foreign + " ")
        #expect(shelf.text("b.nef.xmp")?.contains("Möwen") == true)
        #expect(try !shelf.isDue)
    }

    @Test("Another program's sidecar keeps what it says, its mode, owner and attributes")
    func merged() throws {
        let shelf = try Shelf(["a.jpg": "exif.jpg"])
        try shelf.put(Array(Self.foreign.utf8), "a.jpg.xmp")
        let path = "\(shelf.library)/a.jpg.xmp"
        // Version 2; then tag, permissions and number of owner, user 1000, group, mask and others. See acl(5).
        var list: [UInt8] = [2, 0, 0, 0]
        for (tag, bits, number) in [
            (1, 6, UInt32.max), (2, 6, 1_000), (4, 4, .max), (16, 6, .max), (32, 4, .max),
        ] as [(UInt8, UInt8, UInt32)] {
            list += [tag, 0, bits, 0] + withUnsafeBytes(of: number.littleEndian) { Array($0) }
        }
        let directory = try openDirectory(BytePath(shelf.library))
        let old = try directory.openBeneath("a.jpg.xmp", [.read])
        let attributes = ["user.tag": Array("kept".utf8), "system.posix_acl_access": list].filter {
            old.setAttribute($0, $1)
        }
        #expect(geteuid() != 0 || chown(path, 4_242, 4_343) == 0)
        let before = try FileStatus(at: BytePath(path))
        #expect(try shelf.write().isEmpty)
        let text = try #require(shelf.text("a.jpg.xmp"))
        #expect(text.contains("darktable:history_end='3'/>\n") && text.contains("Möwen"))
        let now = try FileStatus(at: BytePath(path))
        #expect(now.identity.inode != before.identity.inode)
        #expect([now.user, now.group, now.mode] == [before.user, before.group, before.mode])
        let file = try directory.openBeneath("a.jpg.xmp", [.read])
        for (name, value) in attributes { #expect(file.attribute(name, most: 99) == value) }

        try shelf.describe(title: "Gulls")
        #expect(try shelf.write().isEmpty)
        #expect(shelf.text("a.jpg.xmp") == text.replacing("Möwen", with: "Gulls"))
        #expect(try shelf.names == ["a.jpg", "a.jpg.xmp"])
    }

    @Test("What another user could change stays so, and what nobody could is left", arguments: [0o664, 0o644, 0o464])
    func ofOthers(mode: mode_t) async {
        await #expect(processExitsWith: .success) { [mode] in
            let shelf = try Shelf(["a.jpg": "exif.jpg"])
            try shelf.put(Array(foreignSidecar.utf8), "a.jpg.xmp")
            let (path, isRoot) = ("\(shelf.library)/a.jpg.xmp", geteuid() == 0)
            guard chmod(path, mode) == 0 else { exit(2) }
            if isRoot {
                for inner in [shelf.scratch.path, shelf.library] where chmod(inner, 0o777) != 0 { exit(3) }
                guard chown(path, 1_000, 65_534) == 0, chown("\(shelf.library)/a.jpg", 65_534, 65_534) == 0,
                    setegid(65_534) == 0, seteuid(65_534) == 0
                else { exit(4) }
            }
            let left = try shelf.write()
            _ = seteuid(getuid())
            let now = try FileStatus(at: BytePath(path))
            let isLeft = mode == 0o464 || isRoot && mode == 0o644
            guard left.count == (isLeft ? 1 : 0), now.mode == mode else { exit(5) }
            guard shelf.text("a.jpg.xmp")?.contains("Möwen") == !isLeft else { exit(6) }
            guard try shelf.names.count == 2 else { exit(8) }
            guard !isRoot || (now.user, now.group) == (isLeft ? 1_000 : 65_534, 65_534) else { exit(7) }
        }
    }

    @Test(
        "What is no plain sidecar is left as it is, and said so",
        arguments: ["link", "dangling link", "directory", "FIFO", "hard link", "large", "text", "document type"])
    func hostile(kind: String) throws {
        let shelf = try Shelf(["a.jpg": "exif.jpg", "b.jpg": "plain.jpg"])
        let (path, victim) = ("\(shelf.library)/a.jpg.xmp", shelf.scratch.appending("victim"))
        try Data(Self.foreign.utf8).write(to: URL(fileURLWithPath: victim))
        switch kind {
        case "link": #expect(symlink(victim, path) == 0)
        case "dangling link": #expect(symlink(victim + "2", path) == 0)
        case "directory": #expect(mkdir(path, 0o755) == 0)
        case "FIFO": #expect(mkfifo(path, 0o644) == 0)
        case "hard link": #expect(link(victim, path) == 0)
        case "large":
            try shelf.put(Array(Self.foreign.utf8), "a.jpg.xmp")
            #expect(truncate(path, 50 << 20) == 0)
        case "text": try shelf.put(Array("not XML".utf8), "a.jpg.xmp")
        default: try shelf.put(Array("<!DOCTYPE x>\(Self.foreign)".utf8), "a.jpg.xmp")
        }
        let before = try FileStatus(at: BytePath(path))
        let left = try shelf.write()
        #expect(left.count == 1)
        #expect(try FileStatus(at: BytePath(path)) == before)
        #expect(FileManager.default.contents(atPath: victim) == Data(Self.foreign.utf8))
        #expect(try shelf.names == ["a.jpg", "a.jpg.xmp", "b.jpg", "b.jpg.xmp"], "the next photo has its own")
        #expect(try !shelf.isDue)
    }

    @Test("A directory that may not be written is left, and tried again when asked")
    func forbidden() async {
        await #expect(processExitsWith: .success) {
            let shelf = try Shelf(["a.jpg": "exif.jpg"])
            guard chmod(shelf.scratch.path, 0o755) == 0, chmod(shelf.library, 0o555) == 0 else { exit(2) }
            if geteuid() == 0, seteuid(65_534) != 0 { exit(3) }
            guard try shelf.write().count == 1, try !shelf.isDue, try shelf.names == ["a.jpg"] else { exit(4) }
            _ = seteuid(getuid())
            guard chmod(shelf.library, 0o755) == 0 else { exit(5) }
            try shelf.catalogue.renewSidecars(in: BytePath(shelf.library), .left)
            guard try shelf.write().isEmpty, try shelf.names.contains("a.jpg.xmp") else { exit(6) }
        }
    }

    @Test("A photo that is not in its place gets none until its record is repaired; then beside it")
    func moved() throws {
        let shelf = try Shelf(["a.jpg": "exif.jpg"])
        #expect(rename("\(shelf.library)/a.jpg", "\(shelf.library)/b.jpg") == 0)
        #expect(try shelf.write() == ["its photo is not as it was filed; see photoinbox verify"])
        #expect(try shelf.names == ["b.jpg"])
        #expect(try shelf.adopt().moved.count == 1)
        #expect(try shelf.write().isEmpty)
        #expect(try shelf.names == ["b.jpg", "b.jpg.xmp"])
    }

    @Test(
        "A sidecar that another program changes in the last moment is not lost, and is merged soon",
        arguments: [FilingStep.nameCopy, .seeCopy])
    func busy(step: FilingStep) throws {
        let shelf = try Shelf(["a.jpg": "exif.jpg"])
        try shelf.put(Array(Self.foreign.utf8), "a.jpg.xmp")
        let theirs = Self.foreign.replacing("'3'", with: "'44'")
        var isLate = true
        let work = FileWork(willEnter: { now in
            guard now == step, isLate else { return }
            isLate = false
            // After the exchange, by a descriptor that was open before it.
            let name = step == .seeCopy ? try? shelf.names.first { $0.hasSuffix(".part") } : "a.jpg.xmp"
            let file = fopen("\(shelf.library)/\(name ?? "")", "r+")
            fputs(theirs, file)
            fclose(file)
        })
        #expect(try shelf.write(work).isEmpty)
        #expect(!isLate)
        #expect(shelf.text("a.jpg.xmp") == theirs)
        #expect(try shelf.names == ["a.jpg", "a.jpg.xmp"])
        #expect(try shelf.isDue)
        #expect(try shelf.write().isEmpty)
        let text = try #require(shelf.text("a.jpg.xmp"))
        #expect(text.contains("'44'") && text.contains("Möwen"))
        #expect(try shelf.names == ["a.jpg", "a.jpg.xmp"])
    }

    @Test("While somebody has a sidecar open for writing, no other is made")
    func open() async {
        await #expect(processExitsWith: .success) {
            signal(SIGIO, SIG_IGN)
            let shelf = try Shelf(["a.jpg": "exif.jpg"])
            try shelf.put(Array(foreignSidecar.utf8), "a.jpg.xmp")
            let file = try openDirectory(BytePath(shelf.library)).openBeneath("a.jpg.xmp", [.write])
            var steps: [FilingStep] = []
            guard try shelf.write(FileWork(willEnter: { steps.append($0) })).isEmpty, steps.isEmpty else { exit(2) }
            guard try shelf.isDue, shelf.text("a.jpg.xmp") == foreignSidecar else { exit(3) }
            withExtendedLifetime(file) {}
        }
    }

    @Test(
        "A kill at any step leaves the old or the new sidecar, and nothing after the next run",
        arguments: [true, false])
    func killed(isNew: Bool) throws {
        let shelf = try Shelf(["a.jpg": "exif.jpg"])
        if !isNew { try shelf.put(Array(Self.foreign.utf8), "a.jpg.xmp") }
        // The tree as each step finds it is the tree that a kill there leaves.
        var trees: [FilingStep: String] = [:]
        let work = FileWork(willEnter: { step in
            trees[step] = shelf.scratch.appending("at \(step)")
            try? runProgram(["/bin/cp", "-a", shelf.library, shelf.scratch.appending("at \(step)")])
        })
        #expect(try shelf.write(work, isRecorded: false).isEmpty)
        let new = try #require(shelf.text("a.jpg.xmp"))
        #expect(new.contains("Möwen"))
        let steps: Set<FilingStep> = [.makeTemporary, .copy, .setAttributes, .syncCopy, .nameCopy, .syncDestination]
        #expect(Set(trees.keys) == (isNew ? steps : steps.union([.seeCopy])))
        for (step, tree) in trees {
            try FileManager.default.removeItem(atPath: shelf.library)
            #expect(rename(tree, shelf.library) == 0)
            let found = shelf.text("a.jpg.xmp")
            #expect(found == new || found == (isNew ? nil : Self.foreign), "\(step)")
            #expect(try shelf.write(isRecorded: false).isEmpty, "\(step)")
            #expect(shelf.text("a.jpg.xmp") == new, "\(step)")
            #expect(try shelf.names.count == 2, "\(step)")
        }
        // What was written and not recorded counts as this catalogue's.
        try shelf.describe(title: "Gulls")
        #expect(try shelf.write().isEmpty)
        #expect(shelf.text("a.jpg.xmp") == new.replacing("Möwen", with: "Gulls"))
    }

    @Test(
        "A lost catalogue finds again what was said, though not what others say in the same sidecar",
        arguments: [true, false])
    func rebuilt(isReadFirst: Bool) throws {
        let shelf = try Shelf(["a.jpg": "exif.jpg", "b.nef": "mosaic.nef"])
        let theirs = Self.foreign.replacing(
            "/>\n", with: " xmlns:photoshop='http://ns.adobe.com/photoshop/1.0/' photoshop:DateCreated='1999'/>\n")
        try shelf.put(Array(theirs.utf8), "a.jpg.xmp")
        #expect(try shelf.write().isEmpty)
        try shelf.describe(title: "Gulls", keywords: "harbour")
        #expect(try shelf.write().isEmpty)
        #expect(shelf.text("a.jpg.xmp")?.contains("gull<") == false)
        let (new, findings) = try shelf.rebuilt()
        #expect(findings == [.adopted("a.jpg"), .adopted("b.nef")])
        for name in ["a.jpg", "b.nef"] {
            let said = try #require(try new.description(of: name))
            #expect(said == (try shelf.description(of: name)))
            #expect(said.keywords == ["harbour"], "what was taken back stays so")
        }
        let texts = ["a.jpg.xmp", "b.xmp"].map(shelf.text)
        if isReadFirst { #expect(try new.write().isEmpty) }
        #expect(["a.jpg.xmp", "b.xmp"].map(shelf.text) == texts)
        try new.describe(title: "Boats", keywords: "harbour")
        #expect(try new.write().isEmpty)
        #expect(["a.jpg.xmp", "b.xmp"].map(shelf.text) == texts.map { $0?.replacing("Gulls", with: "Boats") })
        #expect(try shelf.names.count == 4)
    }

    @Test("What another catalogue has written is left, with the reason, until both say the same")
    func otherCatalogue() throws {
        let shelf = try Shelf(["a.jpg": "exif.jpg"])
        #expect(try shelf.write().isEmpty)
        let (other, _) = try shelf.rebuilt()
        try other.describe(title: "Newer", keywords: "boat")
        #expect(try other.write().isEmpty)
        let newer = try #require(shelf.text("a.jpg.xmp"))
        #expect(newer.contains("Newer"))
        // As a restored copy of the older catalogue.
        try shelf.adopt()
        #expect(
            try shelf.write() == [
                "a.jpg.xmp says something else than this catalogue (Title, Keywords): import that with photoinbox "
                    + "import-csv, or move the file away"
            ])
        try shelf.describe(title: "Third")
        #expect(try shelf.write().count == 1)
        #expect(shelf.text("a.jpg.xmp") == newer)
        try shelf.describe(title: "Newer", keywords: "boat")
        #expect(try shelf.write().isEmpty)
        #expect(shelf.text("a.jpg.xmp") == newer)
        try shelf.describe(title: "Third", keywords: "boat")
        #expect(try shelf.write().isEmpty)
        #expect(shelf.text("a.jpg.xmp") == newer.replacing("Newer", with: "Third"))
    }

    @Test("A rebuild prefers the old catalogue, and leaves what another one has written")
    func rebuiltFromOlder() throws {
        let shelf = try Shelf(["a.jpg": "exif.jpg", "b.jpg": "plain.jpg"])
        #expect(try shelf.write().isEmpty)
        let (other, _) = try shelf.rebuilt()
        try other.describe(title: "Newer")
        let old = try #require(shelf.text("b.jpg.xmp"))
        #expect(try other.write().isEmpty)
        let newer = try #require(shelf.text("a.jpg.xmp"))
        try shelf.put(Array(old.utf8), "b.jpg.xmp")
        let (new, _) = try shelf.rebuilt(from: "catalogue.sqlite")
        #expect(try new.description(of: "a.jpg")?.title == "Möwen")
        #expect(try new.write().first?.contains("(Title)") == true)
        #expect(shelf.text("a.jpg.xmp") == newer && shelf.text("b.jpg.xmp") == old)
        // Its own it knows again.
        try new.describe(title: "Third")
        #expect(try new.write().count == 1)
        #expect(shelf.text("a.jpg.xmp") == newer)
        #expect(shelf.text("b.jpg.xmp") == old.replacing("Möwen", with: "Third"))
    }

    @Test(
        "Without the library's mark, or with one that cannot be read, its sidecars are reported and not recorded")
    func mark() throws {
        let shelf = try Shelf(["a.jpg": "exif.jpg"])
        #expect(try shelf.write().isEmpty)
        let (mark, away) = ("\(shelf.library)/.photoinbox-library", shelf.scratch.appending("mark"))
        #expect(link(mark, away) == 0)
        #expect(try shelf.rebuilt().shelf.description(of: "a.jpg")?.title == "Möwen", "a backup may have linked it")
        #expect(unlink(mark) == 0)
        let (new, findings) = try shelf.rebuilt()
        #expect(findings.count == 2)
        guard case .sidecar("a.jpg.xmp", let reason)? = findings.last else {
            Issue.record("\(findings)")
            return
        }
        let text = try String(contentsOfFile: away, encoding: .utf8).dropLast()
        #expect(reason.contains("has \(text); if that is this one, write that there"))
        #expect(try new.catalogue.photos(after: 0, limit: 9).count == 1)
        #expect(try new.description(of: "a.jpg") == nil)
        for (content, why) in [("no mark\n", "has no mark in it; put back that of a backup"), (nil, "is a directory")] {
            if let content {
                try shelf.put(Array(content.utf8), ".photoinbox-library")
            } else {
                #expect(mkdir(mark, 0o755) == 0)
            }
            let (other, findings) = try shelf.rebuilt()
            guard case .sidecar("a.jpg.xmp", let reason)? = findings.last else {
                Issue.record("\(findings)")
                return
            }
            #expect(reason.lowercased().contains(why) && reason.contains(".photoinbox-library"))
            #expect(try other.catalogue.photos(after: 0, limit: 9).count == 1)
            #expect(try other.description(of: "a.jpg") == nil)
            // Its own are not changed either, since it is unknown whose they are to be.
            try shelf.describe(title: "Not yet: \(why)")
            #expect(try shelf.write().first?.contains(".photoinbox-library") == true)
            #expect(remove(mark) == 0)
            #expect(rename(away, mark) == 0)
            #expect(try other.adopt().restored == 1, "nothing is lost")
            #expect(rename(mark, away) == 0)
        }
        try new.describe(title: "Gulls")
        let before = try #require(shelf.text("a.jpg.xmp"))
        #expect(try new.write().first?.contains("if that is this one, write that there, or move it away") == true)
        #expect(shelf.text("a.jpg.xmp") == before)
        // The catalogue that has written it knows it without the mark, too.
        try shelf.describe(title: "Boats")
        #expect(try shelf.write().isEmpty)
        #expect(shelf.text("a.jpg.xmp")?.contains("Boats") == true)
        #expect(rename(away, mark) == 0)
        try shelf.describe(title: "Piers")
        #expect(try shelf.write().isEmpty)
        #expect(shelf.text("a.jpg.xmp")?.contains(text) == true)
    }

    @Test("A photo of another size, or that is known as damaged, gets none")
    func otherPhoto() throws {
        let shelf = try Shelf(["a.jpg": "exif.jpg", "b.jpg": "plain.jpg"])
        try shelf.put(try WorkerHouse.content("motion.jpg"), "a.jpg")
        let photo = try #require(try shelf.catalogue.photo(library: BytePath(shelf.library), path: "b.jpg"))
        _ = try shelf.catalogue.record(damage: [photo.id: "other bytes"], at: Moment.now.wall)
        #expect(try shelf.write().count == 2)
        #expect(try shelf.names == ["a.jpg", "b.jpg"])
    }

    @Test("In a full library all are left until later", .enabled(if: geteuid() == 0, "skipped: needs root"))
    func full() throws {
        let shelf = try Shelf([:])
        try runProgram(["/bin/mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", shelf.library])
        defer { try? runProgram(["/bin/umount", shelf.library]) }
        for name in ["exif.jpg", "plain.jpg"] { try shelf.put(try WorkerHouse.content(name), name) }
        try shelf.adopt()
        try shelf.describe(title: "Möwen")
        #expect(throws: (any Error).self) {
            while true { try shelf.put([UInt8](repeating: 1, count: 4_096), "fill\(UInt64.random(in: 0..<(.max)))") }
        }
        let before = try shelf.names
        for _ in 0..<2 {
            let left = try shelf.write(hasFailed: true)
            #expect(left.count == 2 && left.allSatisfy { $0.contains("No space left") })
            #expect(try shelf.names == before && !shelf.isDue)
            try shelf.catalogue.renewSidecars(in: BytePath(shelf.library), .later)
        }
        for name in before where name.hasPrefix("fill") { unlink("\(shelf.library)/\(name)") }
        #expect(try shelf.write().isEmpty)
        #expect(try shelf.names == ["exif.jpg", "plain.jpg", "exif.jpg.xmp", "plain.jpg.xmp"])
    }

    @Test(
        "A directory that is read-only is no reason to leave others", .enabled(if: geteuid() == 0, "needs root"))
    func readOnly() throws {
        let shelf = try Shelf([:])
        let directory = "\(shelf.library)/2019"
        #expect(mkdir(directory, 0o755) == 0)
        for name in ["2019/a.jpg", "b.jpg"] {
            try shelf.put(try WorkerHouse.content(name == "b.jpg" ? "exif.jpg" : "plain.jpg"), name)
        }
        try shelf.adopt()
        try shelf.describe(title: "Möwen")
        try runProgram(["/bin/mount", "--bind", directory, directory])
        defer { try? runProgram(["/bin/umount", directory]) }
        try runProgram(["/bin/mount", "-o", "remount,bind,ro", directory])
        for _ in 0..<2 {
            #expect(try shelf.write(hasFailed: true).first?.contains("Read-only") == true)
            #expect(shelf.text("b.jpg.xmp")?.contains("Möwen") == true)
            try shelf.catalogue.renewSidecars(in: BytePath(shelf.library), .later)
        }
        try runProgram(["/bin/mount", "-o", "remount,bind,rw", directory])
        #expect(try shelf.write().isEmpty)
        #expect(shelf.text("2019/a.jpg.xmp")?.contains("Möwen") == true)
    }

    @Test("A name that is too long is no reason to leave the other one; for a photo without another, it is said")
    func long() throws {
        let name = String(repeating: "x", count: 248)
        let shelf = try Shelf(["\(name).jpg": "exif.jpg", "\(name).nef": "mosaic.nef"])
        #expect(
            try shelf.write() == [
                "its name would be too long; give the photo a shorter one, and run photoinbox verify --repair"
            ])
        #expect(shelf.text("\(name).xmp")?.contains("Möwen") == true)
    }

    @Test("What a sidecar says is restored once its photo can be read, and beside another file with its bytes")
    func restoredLater() throws {
        let shelf = try Shelf(["b.jpg": "exif.jpg"])
        #expect(try shelf.write().isEmpty)
        let (photo, away) = ("\(shelf.library)/b.jpg", shelf.scratch.appending("away.jpg"))
        #expect(rename(photo, away) == 0)
        let (new, findings) = try shelf.rebuilt()
        #expect(
            findings == [
                .sidecar(
                    "b.jpg.xmp",
                    reason: "it was written for a photo that is not beside it; move it there, or away, and run "
                        + "photoinbox adopt")
            ])
        #expect(try new.catalogue.photos(after: 0, limit: 1).isEmpty)
        #expect(rename(away, photo) == 0)
        #expect(try new.adopt().restored == 1)
        #expect(try new.description(of: "b.jpg")?.title == "Möwen")
        try shelf.put(try WorkerHouse.content("exif.jpg"), "a.jpg")
        #expect(try shelf.rebuilt().shelf.description(of: "a.jpg")?.title == "Möwen")
    }

    @Test("A photo and what is named after it are recorded together")
    func together() throws {
        let shelf = try Shelf(["m.jpg": "exif.jpg"])
        #expect(try shelf.write().isEmpty)
        for number in 100..<199 { try shelf.put(Array(Self.foreign.utf8), "\(number).xmp") }
        var (recorded, before) = (Set<LibraryAdoption.Finding>(), 0)
        let new = try CatalogueFile.openForWriting(shelf.scratch.appending("new.sqlite"), now: .now)
        try LibraryAdoption(of: LibraryTree(BytePath(shelf.library)), into: new).run { summary in
            if summary.seen == 101 { before = recorded.count }
        } report: {
            recorded.insert($0)
        }
        #expect(before == 0 || before == 99, "\(before)")
        #expect(recorded.count == 100)
    }

    @Test("A sidecar with an odd rating is reported, and stops nothing")
    func odd() throws {
        let shelf = try Shelf(["a.jpg": "exif.jpg", "b.jpg": "plain.jpg"])
        #expect(try shelf.write().isEmpty)
        let text = try #require(shelf.text("a.jpg.xmp")).replacing(">4<", with: ">-1<")
        try shelf.put(Array(text.utf8), "a.jpg.xmp")
        let (new, findings) = try shelf.rebuilt()
        #expect(
            findings.contains {
                if case .sidecar("a.jpg.xmp", let why) = $0 { why.contains("Rating") } else { false }
            })
        let (first, second) = (try new.description(of: "a.jpg"), try new.description(of: "b.jpg"))
        #expect(first?.title == "Möwen" && first?.rating == nil && second?.rating == 4)
        #expect(try new.write().first?.contains("(Rating)") == true)
        #expect(shelf.text("a.jpg.xmp") == text, "no catalogue has said that")
    }

    @Test(
        "A sidecar that was filed stays as it is, whatever mark it bears, and whatever becomes of the catalogue",
        arguments: [true, false])
    func filedWithMark(isOwn: Bool) throws {
        let shelf = try Shelf(["a.jpg": "exif.jpg"])
        #expect(try shelf.write().isEmpty)
        var text = try #require(shelf.text("a.jpg.xmp"))
        if !isOwn {
            text = text.replacing(
                /Library( [^>]*)?>[0-9a-f]+</,
                with: "Library xmlns:photoinbox=\"photo-inbox:ns:1.0/\">0123456789abcdef<")
        }
        // As after an undo: what was returned is dropped again, with a description that is not in the sidecar yet.
        try shelf.put(Array((text + "\n").utf8), "a.jpg.xmp")
        var record = try #require(try shelf.catalogue.photos(after: 0, limit: 1).first).photo
        let file = try SourceFile("a.jpg.xmp", beneath: openDirectory(BytePath(shelf.library)))
        (record.libraryPath, record.sha256, record.size) = ("a.jpg.xmp", try file.hash().bytes, file.identity.size)
        (record.part.role, record.format) = (SetPart.sidecar, "xmp")
        _ = try shelf.catalogue.adopt([record], at: Moment.now.wall)
        func check(_ shelf: Shelf) throws {
            let before = try FileStatus(at: BytePath("\(shelf.library)/a.jpg.xmp"))
            try shelf.describe(title: "Gulls")
            #expect(try shelf.write().count == 1)
            #expect(try FileStatus(at: BytePath("\(shelf.library)/a.jpg.xmp")) == before)
            #expect(shelf.text("a.jpg.xmp") == text + "\n")
            #expect(try shelf.names == ["a.jpg", "a.jpg.xmp"])
        }
        try check(shelf)
        let (new, _) = try shelf.rebuilt()
        #expect(try new.catalogue.photo(library: BytePath(shelf.library), path: "a.jpg.xmp") == nil)
        guard isOwn else {
            #expect(try new.description(of: "a.jpg") == nil)
            return try check(new)
        }
        // No catalogue remembers that it was filed; it has what this program wrote.
        #expect(try new.description(of: "a.jpg")?.title == "Möwen")
        for title in ["Boats", "Piers"] {
            try new.describe(title: title)
            #expect(try new.write().isEmpty)
        }
        #expect(shelf.text("a.jpg.xmp") == text.replacing("Möwen", with: "Piers") + "\n")
        #expect(try shelf.names == ["a.jpg", "a.jpg.xmp"])
    }

    @Test("A sidecar with the bytes of one that was filed once, and is not any more, is written as any other")
    func filedOnce() throws {
        let shelf = try Shelf(["a.jpg": "exif.jpg"])
        #expect(try shelf.write().isEmpty)
        var record = try #require(try shelf.catalogue.photos(after: 0, limit: 1).first).photo
        let file = try SourceFile("a.jpg.xmp", beneath: openDirectory(BytePath(shelf.library)))
        (record.libraryPath, record.sha256, record.size) = ("a.jpg.xmp", try file.hash().bytes, file.identity.size)
        (record.part.role, record.format) = (SetPart.sidecar, "xmp")
        _ = try shelf.catalogue.adopt([record], at: Moment.now.wall)
        #expect(rename("\(shelf.library)/a.jpg.xmp", shelf.scratch.appending("away")) == 0)
        let missing = try LibraryVerification(of: BytePath(shelf.library), against: shelf.catalogue).missing().photos
        #expect(missing.count == 1)
        try shelf.catalogue.strike(missing, at: Moment.now.wall)
        try shelf.adopt()
        #expect(try shelf.write().isEmpty)
        #expect(try shelf.adopt().restored == 1)
        try shelf.describe(title: "Gulls")
        #expect(try shelf.write().isEmpty)
        #expect(shelf.text("a.jpg.xmp")?.contains("Gulls") == true)
    }

    @Test("A planted sidecar of another photo is neither believed nor recorded, and stays as it is")
    func planted() throws {
        let shelf = try Shelf(["a.jpg": "exif.jpg", "b.jpg": "plain.jpg", "c.jpg": "motion.jpg"])
        #expect(try shelf.write().isEmpty)
        let planted = try #require(shelf.text("a.jpg.xmp"))
        try shelf.put(Array(planted.utf8), "b.jpg.xmp")
        // Of a photo that is nowhere.
        let gone = planted.replacing(
            /Photo( [^>]*)?>[0-9a-f]+</,
            with: "Photo xmlns:photoinbox=\"photo-inbox:ns:1.0/\">\(String(repeating: "ab", count: 32))<")
        try shelf.put(Array(gone.utf8), "c.jpg.xmp")
        let (new, _) = try shelf.rebuilt()
        #expect(try new.description(of: "a.jpg")?.title == "Möwen")
        for name in ["b.jpg", "c.jpg"] { #expect(try new.description(of: name) == nil) }
        #expect(try new.catalogue.photos(after: 0, limit: 9).count == 3)

        try shelf.describe(title: "Gulls")
        #expect(
            try shelf.write()
                == ["b.jpg.xmp", "c.jpg.xmp"].map {
                    "\($0) belongs to another photo; move it there, or away"
                })
        #expect(shelf.text("a.jpg.xmp")?.contains("Gulls") == true)
        #expect(shelf.text("b.jpg.xmp") == planted && shelf.text("c.jpg.xmp") == gone)
        #expect(try shelf.names.count == 6)
    }

    @Test(
        "What an interruption has left is removed only if all of it stands in the sidecar, or will", arguments: 0...8)
    func left(kind: Int) throws {
        let shelf = try Shelf(["a.jpg": "exif.jpg", "b.jpg": "plain.jpg"])
        #expect(try shelf.write().isEmpty)
        let (temporary, old) = (try shelf.leftover("a.jpg"), try #require(shelf.text("a.jpg.xmp")))
        let new = old.replacing("Möwen", with: "Gulls")
        let (title, left, kept): (String, String, String?) =
            switch kind {
            case 0: ("Gulls", "", nil)
            case 1: ("Gulls", String(new.dropLast(20)), nil)
            // Before the exchange and after it, and then something else was said.
            case 2: ("Boats", new, nil)
            case 3: ("Boats", old, nil)
            case 4: ("Gulls", Self.foreign, Self.foreign)
            // Of a new one, where another program has made one since.
            case 6: ("Gulls", String(old.prefix(while: { $0 != "ö" }).dropLast(80)), nil)
            // Of a new one whose values are not said any more, cut off, and with the zeros of a power cut.
            case 7: ("Boats", String(old.dropLast(20)), nil)
            case 8: ("Boats", String(old.dropLast(300)) + String(repeating: "\0", count: 300), nil)
            default: ("Gulls", old.replacing("</rdf:RDF>", with: "<!-- mine --></rdf:RDF>"), "mine")
            }
        if kind == 3 {
            try shelf.describe(title: "Gulls")
            #expect(try shelf.write(isRecorded: false).isEmpty)
        }
        if kind == 6 { try shelf.put(Array(Self.foreign.utf8), "a.jpg.xmp") }
        try shelf.put(Array(left.utf8), temporary)
        try shelf.describe(title: title)
        #expect(try shelf.write().isEmpty)
        for name in ["a.jpg.xmp", "b.jpg.xmp"] { #expect(shelf.text(name)?.contains(title) == true) }
        #expect(
            shelf.text(temporary) == nil && shelf.text("a.jpg-2.xmp")?.contains(kept ?? "-") == kept.map { _ in true })
        #expect(try shelf.names.count == (kept == nil ? 4 : 5))
    }

    @Test("With undo it goes to its photo, or gets a number where that is not", arguments: [true, false])
    func undone(isThere: Bool) throws {
        let shelf = try Shelf(["a.nef": "mosaic.nef"])
        #expect(try shelf.write().isEmpty)
        let text = try #require(shelf.text("a.xmp"))
        let stored = try #require(try shelf.catalogue.photos(after: 0, limit: 1).first)
        let returned = shelf.scratch.appending("returned")
        #expect(mkdir(returned, 0o755) == 0)
        try shelf.put(Array(Self.foreign.utf8), try shelf.leftover("a.nef"))
        #expect(rename("\(shelf.library)/a.nef", isThere ? "\(returned)/a-2.nef" : "\(returned)/moved.nef") == 0)
        let move = RequestedMove(
            token: "t", sourceRoot: stored.photo.library, sourcePath: "a.nef", destinationRoot: BytePath(returned),
            destinationPath: "a-2.nef", sha256: stored.photo.sha256, identity: stored.photo.sourceIdentity)
        let id = try shelf.catalogue.recordRequest(
            RequestRecord(at: Moment.now.wall, what: .undo, user: 0, userName: nil, photoID: stored.id, move: move),
            step: .begun)
        try shelf.catalogue.endRequest(id, at: Moment.now.wall, move: move)
        #expect(try shelf.write().isEmpty)
        let kept = isThere ? "\(returned)/a-2.xmp" : "\(shelf.library)/a.nef-2.xmp"
        #expect(FileManager.default.contents(atPath: kept) == Data(text.utf8))
        #expect(try shelf.names == Set(["sidecar-2.xmp"] + (isThere ? [] : ["a.nef-2.xmp"])))
        #expect(shelf.text("sidecar-2.xmp") == Self.foreign, "what an interruption has left is seen")
    }

    @Test("A new one that an interruption has left with two names keeps its own")
    func twoNames() throws {
        let shelf = try Shelf(["a.jpg": "exif.jpg"])
        #expect(try shelf.write().isEmpty)
        let before = try #require(shelf.text("a.jpg.xmp"))
        #expect(link("\(shelf.library)/a.jpg.xmp", "\(shelf.library)/\(try shelf.leftover("a.jpg"))") == 0)
        try shelf.describe(title: "Gulls")
        #expect(try shelf.write().isEmpty)
        #expect(shelf.text("a.jpg.xmp") == before.replacing("Möwen", with: "Gulls"))
        #expect(try shelf.names == ["a.jpg", "a.jpg.xmp"])
    }

    @Test("What an interruption has left of an undone photo's is removed")
    func leftOfUndone() throws {
        let shelf = try Shelf(["a.jpg": "exif.jpg", "b.jpg": "plain.jpg"])
        #expect(try shelf.write().isEmpty)
        let (temporary, text) = (try shelf.leftover("a.jpg"), try #require(shelf.text("a.jpg.xmp")))
        let photo = try #require(try shelf.catalogue.photo(library: BytePath(shelf.library), path: "a.jpg"))
        try shelf.catalogue.strike([photo.id], at: Moment.now.wall)
        #expect(remove("\(shelf.library)/a.jpg") == 0)
        for count in stride(from: 0, to: text.utf8.count, by: 7) {
            try shelf.put(Array(text.utf8.prefix(count)), temporary)
            try shelf.describe(title: "Gulls \(count)")
            _ = try shelf.write()
            #expect(shelf.text(temporary) == nil)
        }
        #expect(try shelf.names == ["b.jpg", "a.jpg.xmp", "b.jpg.xmp"])
    }

    @Test("A sidecar that changes while it is adopted is not recorded; its mode may change", arguments: [true, false])
    func changing(isReplaced: Bool) throws {
        let shelf = try Shelf(["a.jpg": "exif.jpg"])
        try shelf.put(Array(Self.foreign.utf8), "a.jpg.xmp")
        try shelf.put(Array(Self.foreign.utf8), "new")
        var findings: [LibraryAdoption.Finding] = []
        let adoption = LibraryAdoption(of: try LibraryTree(BytePath(shelf.library)), into: shelf.catalogue)
        let summary = try adoption.run { summary in
            guard summary.seen == 2 else { return }
            #expect(chmod("\(shelf.library)/a.jpg.xmp", 0o600) == 0)
            if isReplaced { #expect(rename("\(shelf.library)/new", "\(shelf.library)/a.jpg.xmp") == 0) }
        } report: {
            findings.append($0)
        }
        #expect(summary.adopted == (isReplaced ? 0 : 1))
        let isRecorded = try shelf.catalogue.photo(library: BytePath(shelf.library), path: "a.jpg.xmp") != nil
        #expect(isRecorded == !isReplaced)
        guard isReplaced else { return #expect(findings == [.adopted("a.jpg.xmp")]) }
        guard case .sidecar("a.jpg.xmp", let reason)? = findings.last else {
            Issue.record("\(findings)")
            return
        }
        #expect(reason.contains("it was changed while it was read"))
    }

    @Test("A photo whose sidecar cannot be written is left, and those behind it have theirs")
    func failing() throws {
        let shelf = try Shelf(["a.jpg": "exif.jpg", "b.jpg": "plain.jpg", "c.jpg": "motion.jpg"])
        // A directory that is named like a temporary or a sidecar, and a photo that is away.
        for name in [".photo-inbox-sidecar-1.part", "a.jpg.xmp"] {
            #expect(mkdir("\(shelf.library)/\(name)", 0o755) == 0)
        }
        #expect(rename("\(shelf.library)/b.jpg", "\(shelf.library)/moved.jpg") == 0)
        #expect(try shelf.write().count == 2)
        #expect(shelf.text("c.jpg.xmp")?.contains("Möwen") == true)
        #expect(try !shelf.isDue)
    }
}
