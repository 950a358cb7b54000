import FileValues

/// Kinds of files that are not filed, by their first bytes, so that people are told what a file is.
enum OtherKind {
    /// A signature of a kind, and the words for it.
    private struct Signature {
        let offset: Int
        let bytes: [UInt8]
        let name: String

        init(_ name: String, _ bytes: [UInt8], at offset: Int = 0) {
            (self.name, self.bytes, self.offset) = (name, bytes, offset)
        }

        init(_ name: String, _ text: String, at offset: Int = 0) { self.init(name, Array(text.utf8), at: offset) }
    }

    /// Of kinds that are text, or begin with some.
    private static let texts: [Signature] = [
        Signature("a PDF document", "%PDF-"), Signature("a PostScript document", "%!PS"),
        Signature("an RTF document", "{\\rtf"), Signature("a calendar", "BEGIN:VCALENDAR"),
        Signature("an address card", "BEGIN:VCARD"), Signature("a key or certificate", "-----BEGIN "),
        Signature("a Debian package or ar archive", "!<arch>\n"), Signature("a Radiance picture", "#?R"),
        Signature("a FITS picture", "SIMPLE  ="), Signature("AMR sound", "#!AMR"), Signature("a script", "#!"),
    ]

    /// Of all others: a text may begin with their letters.
    private static let binaries: [Signature] = [
        // Documents.
        Signature("a DjVu document", "AT&TFORM"),
        Signature("a Microsoft Office document", [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1]),
        Signature("an EPUB book", "mimetypeapplication/epub+zip", at: 30),
        Signature("an OpenDocument document", "mimetypeapplication/vnd.oasis.opendocument", at: 30),
        // Archives.
        Signature("a gzip archive", [0x1F, 0x8B]), Signature("a bzip2 archive", "BZh"),
        Signature("an xz archive", [0xFD, 0x37, 0x7A, 0x58, 0x5A]),
        Signature("a Zstandard archive", [0x28, 0xB5, 0x2F, 0xFD]),
        Signature("a 7-Zip archive", [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C]),
        Signature("a RAR archive", "Rar!\u{1A}\u{7}"),
        Signature("a cabinet archive", "MSCF"),
        Signature("an RPM package", [0xED, 0xAB, 0xEE, 0xDB]),
        // Programs.
        Signature("an ELF executable", [0x7F, 0x45, 0x4C, 0x46]), Signature("a Windows executable", "MZ"),
        Signature("a macOS executable", [0xCF, 0xFA, 0xED, 0xFE]),
        Signature("a macOS executable or Java class", [0xCA, 0xFE, 0xBA, 0xBE]),
        // Disk images and databases.
        Signature("a QEMU disk image", "QFI\u{FB}".unicodeScalars.map { UInt8($0.value) }),
        Signature("a VMware disk image", "KDMV"), Signature("a SQLite database", "SQLite format 3\0"),
        // Sound.
        Signature("MP3 sound", "ID3"), Signature("MP3 sound", [0xFF, 0xFB]),
        Signature("FLAC sound", "fLaC"), Signature("Ogg sound or film", "OggS"), Signature("WAV sound", "WAVE", at: 8),
        Signature("AIFF sound", "AIFF", at: 8), Signature("a MIDI file", "MThd"),
        // Pictures and films.
        Signature("an OpenEXR picture", [0x76, 0x2F, 0x31, 0x01]),
        Signature("a JPEG XR picture", [0x49, 0x49, 0xBC, 0x01]), Signature("a GIMP picture", "gimp xcf"),
        Signature("an icon", [0, 0, 1, 0]), Signature("an icon", "icns"), Signature("a QOI picture", "qoif"),
        Signature("a BMP picture", [0, 0, 0, 0], at: 6),
        Signature(
            "a Windows Media file", [0x30, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11]),
        Signature("a Flash film", "FLV\u{1}"), Signature("an MPEG programme stream", [0, 0, 1, 0xBA]),
        Signature("a RealMedia film", ".RMF"),
    ]

    /// The kind of a file with this header, as words behind "it is"; nil if it is not known. A ZIP and text need more:
    /// see ``zip(holding:)`` and ``text(_:)``.
    static func name(of header: [UInt8], isText: Bool) -> String? {
        (isText ? texts : texts + binaries).first { signature in
            // A bitmap's name is two letters, so its reserved field must be empty, too.
            if signature.name == "a BMP picture", !header.begins(with: "BM") { return false }
            return header.dropFirst(signature.offset).starts(with: signature.bytes)
        }?.name
    }

    /// The kind of a ZIP by `names`, its beginning and its end, where the names of its members are.
    static func zip(holding names: [UInt8]) -> String {
        let kinds: [(StaticString, String)] = [
            ("word/", "a Word document"), ("xl/", "an Excel document"), ("ppt/", "a PowerPoint document"),
            ("[Content_Types].xml", "a Microsoft Office document"), ("AndroidManifest.xml", "an Android app"),
            ("META-INF/MANIFEST.MF", "a Java archive"),
        ]
        return kinds.first { names.contains($0.0) }?.1 ?? "a ZIP archive"
    }

    /// The kind of text that begins with `start`.
    static func text(_ start: [UInt8]) -> String {
        let lower = start.drop { $0 <= 0x20 || $0 >= 0x80 }.map(\.asciiLowercased)
        if lower.begins(with: "<!doctype html") || lower.begins(with: "<html") { return "an HTML page" }
        if lower.begins(with: "<"), lower.contains("<svg") { return "an SVG drawing" }
        if lower.begins(with: "<?xml") { return "XML" }
        return "text"
    }
}

extension Collection<UInt8> {
    /// Whether the ASCII bytes of `text` are among these.
    fileprivate func contains(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { pattern in
            indices.contains { self[$0] == pattern[0] && self[$0...].starts(with: pattern) }
        }
    }
}
