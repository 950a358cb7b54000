import FileValues
import PhotoFormats
import PhotoModel
import TestSupport
import Testing

@Suite("Library paths")
struct LayoutTests {
    private let date = CivilDate(year: 2024, month: 1, day: 31)

    @Test("The standard layout")
    func standard() {
        let layout = LibraryLayout.standard
        #expect(layout.path(for: "IMG_1.JPG", date: date) == "2024/01/2024-01-31/IMG_1.JPG")
        #expect(layout.path(for: "dir/IMG_1.JPG", date: date, candidate: 2) == "2024/01/2024-01-31/IMG_1-2.JPG")
        #expect(layout.path(for: "IMG_1.JPG", date: nil) == "undated/IMG_1.JPG")
    }

    @Test(
        "Names are made safe",
        arguments: [
            ([], "_"), (Array("..".utf8), "_."), (Array(".".utf8), "_"), (Array(".hidden.jpg".utf8), "_hidden.jpg"),
            (Array("a\nb.jpg".utf8), "a%0Ab.jpg"), ([0x61, 0xFF, 0x2E, 0x6A, 0x70, 0x67], "a%FF.jpg"),
            (Array("x\u{202E}gpj.exe".utf8), "x%E2%80%AEgpj.exe"), (Array("caf\u{E9}.jpg".utf8), "caf\u{E9}.jpg"),
            (Array("👨‍👩‍👧.heic".utf8), "👨‍👩‍👧.heic"), (Array("no extension".utf8), "no extension"),
        ] as [([UInt8], String)])
    func safe(bytes: [UInt8], name: String) { #expect(SafeName(BytePath(bytes)).candidate() == BytePath(name)) }

    @Test("Long names keep their extension and whole characters, with any suffix")
    func long() {
        let name = SafeName(BytePath(String(repeating: "ä", count: 200) + ".jpeg"))
        for number in [0, 1, 99, UInt64.max] {
            let bytes = name.candidate(number).bytes
            #expect(bytes.count <= 255 && bytes.count >= 253)
            #expect(bytes.suffix(5).elementsEqual(".jpeg".utf8))
            #expect(String(validating: bytes, as: UTF8.self) != nil)
        }
        let endless = SafeName(BytePath("a." + String(repeating: "b", count: 400)))
        #expect(endless.candidate(7).bytes.count == 255)
        #expect(endless.candidate(7).bytes.suffix(2).elementsEqual("-7".utf8))
    }

    @Test("Any bytes become one safe component, and numbers distinguish them")
    func anyBytes() {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 0...300, using: &generator)).map { _ in
                UInt8.random(in: 1...255, using: &generator)
            }
            let name = SafeName(BytePath(bytes))
            let candidates = (0..<4).map { name.candidate($0) }
            #expect(Set(candidates).count == 4)
            for path in candidates {
                #expect(path.isSafeBeneath && path.components == [path] && path.bytes.count <= 255)
                #expect(path.bytes.first != 0x2E)
                #expect(String(validating: path.bytes, as: UTF8.self) != nil)
                #expect(!path.bytes.contains { $0 < 0x20 || $0 == 0x7F })
            }
        }
    }

    @Test("A template with several fields")
    func templates() throws {
        let layout = try LibraryLayout(template: "by {camera}/{year}-{month}/{day}/{name}")
        #expect(layout.path(for: "a.jpg", date: date, camera: "R6/x") == "by R6_x/2024-01/31/a.jpg")
        #expect(layout.path(for: "a.jpg", date: date) == "by unknown-camera/2024-01/31/a.jpg")
        #expect(try LibraryLayout(template: "{year}/{month}/{date}/{name}") == .standard)
        #expect(try LibraryLayout(template: "{name}").path(for: "a.jpg", date: date) == "a.jpg")
        let camera = try LibraryLayout(template: "{camera}/{name}")
        #expect(camera.path(for: "a.jpg", date: date, camera: "..") == "_./a.jpg")
    }

    @Test(
        "Invalid templates are refused, with the place",
        arguments: [
            ("", 1), ("{year}", 6), ("{year}/{nmae}", 8), ("{year", 1), ("year}/{name}", 5), ("/{name}", 1),
            ("a//{name}", 3), ("../{name}", 3), ("{name}/x", 1), ("x{name}", 2), ("{year}/a\n/{name}", 9),
            ("{name}.jpg", 1), ("{year}/", 7),
        ])
    func wrongTemplates(template: String, column: Int) {
        let error = #expect(throws: LibraryLayout.TemplateError.self) { try LibraryLayout(template: template) }
        #expect(error?.column == column)
        #expect(error?.reason.contains("\n") == false)
    }
}

@Suite("Decisions by name")
struct NameRulesTests {
    @Test(
        "Unfinished names",
        arguments: [
            "IMG_1.JPG.part", "IMG_1.jpg.crdownload", "a.download", "a.TMP", "IMG.filepart", "IMG_1.jpg.tacitpart",
            ".syncthing.IMG_1.JPG.tmp",
            "~syncthing~IMG_1.JPG.tmp", ".IMG_1.JPG.a1B2c3", ".nfs00000000004567", "~$doc.jpg", ".fuse_hidden0001",
            ".goutputstream-X1Y2Z3", ".pending-1700000000-IMG_1.jpg", "film.mp4.!qB", "deep/down/IMG.jpg.part",
            "IMG.jpg.ocTransferId123.part", ".in.IMG_1.JPG.",
        ])
    func unfinished(name: String) {
        guard case .unfinished(let rule) = NameRules.decide(BytePath(name)) else {
            Issue.record("\(name) is \(NameRules.decide(BytePath(name)))")
            return
        }
        #expect(!rule.isEmpty)
        #expect(NameRules.isUnfinished(BytePath(name)))
    }

    @Test("isUnfinished agrees with decide for every name")
    func isUnfinished() {
        let pieces = [
            "", "a", "/", ".", "~", "~$", ".part", ".TMP", ".tmp", ".!qB", ".sync_", "._", ".syncthing.", ".trashed-",
            ".aria2", ".jpg", "IMG_1", ".nfs", "Thumbs.db", "@eaDir", ".abc123", ".heic", "\u{E9}",
        ]
        for first in pieces {
            for second in pieces {
                for third in pieces {
                    let path = BytePath(first + second + third)
                    var isUnfinished = false
                    if case .unfinished = NameRules.decide(path) { isUnfinished = true }
                    #expect(NameRules.isUnfinished(path) == isUnfinished || path.bytes.last == 0x2F, "\(path)")
                }
            }
        }
    }

    @Test(
        "Ignored names and directories",
        arguments: [
            (".DS_Store", ".ds_store (macOS)"), ("Thumbs.db", "thumbs.db (Windows)"),
            ("desktop.ini", "desktop.ini (Windows)"),
            ("._IMG_1.JPG", "._* (macOS)"), ("@eaDir/IMG_1.JPG/SYNOPHOTO.jpg", "@eadir (Synology)"),
            (".stfolder", ".stfolder (Syncthing)"), (".stversions/a/IMG.jpg", ".stversions (Syncthing)"),
            (".trashed-1700000000-IMG_1.jpg", ".trashed-* (Android)"),
            (".Trash-1000/files/IMG_1.jpg", ".trash* (trash)"),
            ("a/.cache/b.jpg", "hidden directory"), (".hidden.jpg", "hidden file"),
        ])
    func ignored(name: String, rule: String) { #expect(NameRules.decide(BytePath(name)) == .ignored(rule: rule)) }

    @Test(
        "Sidecars",
        arguments: [
            ("IMG_1.xmp", .xmp), ("IMG_1.CR3.XMP", .xmp), ("IMG_1.AAE", .aae), ("MVI_1.THM", .thm),
            ("IMG_1.jpg.json", .takeout),
            ("IMG_1.HEIC.supplemental-metadata.json", .takeout), ("IMG_1.jpg.supplemental-me.json", .takeout),
            ("IMG_1.jpg(2).json", .takeout), ("IMG_1.jpg.supplemental-metadata(1).json", .takeout),
            ("a23456789_123456789_123456789_123456789_1234.j.json", .takeout),
        ] as [(String, SidecarKind)])
    func sidecars(name: String, kind: SidecarKind) { #expect(NameRules.decide(BytePath(name)) == .sidecar(kind)) }

    @Test(
        "Names that decide nothing",
        arguments: [
            "IMG_1.JPG", "part", "a.b.c.jpg", "tmp.jpg", "settings.json", "a.j.json", "my.xmp.jpg",
            "IMG_1.sync-conflict-20240131.jpg",
            "Thumbs.db.jpg", "supplemental-metadata.json", "nfs.jpg", ".part/../x", "",
        ].filter { !$0.contains("..") })
    func taken(name: String) { #expect(NameRules.decide(BytePath(name)) == .take) }

    @Test("Directories that are watched")
    func watchedDirectories() {
        #expect(NameRules.ruleIgnoring(directory: "DCIM") == nil)
        #expect(NameRules.ruleIgnoring(directory: "@eaDir") == "@eadir (Synology)")
        #expect(NameRules.ruleIgnoring(directory: ".git") == "hidden directory")
    }

    @Test(
        "Directories of systems and programs are not watched",
        arguments: [
            "@eaDir", "#recycle", "#snapshot", "@Recycle", ".@__thumb", "@Recently-Snapshot", ".stfolder",
            ".stversions", ".Trash-1000", ".Trashes", "$RECYCLE.BIN", "System Volume Information", "lost+found",
            "__MACOSX", ".thumbnails", ".Spotlight-V100", ".fseventsd", ".git",
        ])
    func unwatchedDirectories(name: String) { #expect(NameRules.ruleIgnoring(directory: BytePath(name)) != nil) }

    @Test("Formats and their extensions")
    func formatsAndExtensions() {
        #expect(PhotoFormat.jpeg.agrees(withExtension: Array("jpeg".utf8)))
        #expect(!PhotoFormat.jpeg.agrees(withExtension: Array("png".utf8)))
        #expect(PhotoFormat.formats(withExtension: Array("heic".utf8)) == [.heic, .heif])
        #expect(Set(PhotoFormat.allCases.map(\.rawValue)).count == PhotoFormat.allCases.count)
    }
}
