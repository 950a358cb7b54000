package import FileValues
import PhotoFormats

/// The decision about a file in an inbox by its name.
package enum NameDecision: Equatable, Sendable {
    /// None: its content decides.
    case take
    /// It belongs to a photo.
    case sidecar(SidecarKind)
    /// A program is still writing it. The rule's name is for `explain`.
    case unfinished(rule: String)
    /// It is not a photo, by the rule of that name.
    case ignored(rule: String)
}

/// One rule about names.
package struct NameRule: Sendable {
    /// The effect of the rule.
    package enum Effect: Sendable { case unfinished, ignored }

    /// Its name in `explain`: the pattern and the program.
    package let name: String
    /// Its effect on a matching name.
    package let effect: Effect
    private let matches: @Sendable ([UInt8]) -> Bool
    /// The first byte of every matching name, or the last.
    fileprivate let first: UInt8?
    fileprivate let last: UInt8?
    /// How many bytes a suffix has.
    fileprivate let suffix: Int?

    /// Whether the rule matches `name`, in ASCII lower case.
    fileprivate func applies(to name: [UInt8]) -> Bool { matches(name) }

    private init(
        _ effect: Effect, _ name: String, first: UInt8? = nil, last: UInt8? = nil, suffix: Int? = nil,
        _ matches: @escaping @Sendable ([UInt8]) -> Bool
    ) {
        self.name = name
        self.effect = effect
        self.first = first
        self.last = last
        self.suffix = suffix
        self.matches = matches
    }

    /// Names that begin with `prefix`.
    fileprivate static func prefix(_ effect: Effect, _ prefix: StaticString, _ whose: String) -> NameRule {
        NameRule(effect, "\(prefix)* (\(whose))", first: prefix.withUTF8Buffer(\.first)) { $0.begins(with: prefix) }
    }

    /// Names that end with `suffix` and have something before it.
    fileprivate static func suffix(_ effect: Effect, _ suffix: StaticString, _ whose: String) -> NameRule {
        NameRule(
            effect, "*\(suffix) (\(whose))", last: suffix.withUTF8Buffer(\.last), suffix: suffix.utf8CodeUnitCount
        ) { name in
            suffix.withUTF8Buffer { name.count > $0.count && name.suffix($0.count).elementsEqual($0) }
        }
    }

    /// Only the name `exact`.
    fileprivate static func exact(_ effect: Effect, _ exact: StaticString, _ whose: String) -> NameRule {
        NameRule(effect, "\(exact) (\(whose))", first: exact.withUTF8Buffer(\.first)) { $0.equals(exact) }
    }

    /// rsync writes `.NAME.XXXXXX`, with six letters or digits of mkstemp(3), and renames at the end.
    fileprivate static let rsync = NameRule(.unfinished, ".NAME.XXXXXX (rsync)", first: UInt8(ascii: ".")) { name in
        guard name.count >= 9, name[0] == UInt8(ascii: "."), name[name.count - 7] == UInt8(ascii: ".") else {
            return false
        }
        return name.suffix(6).allSatisfy { $0.isASCIIDigit || (0x61...0x7A).contains($0) }
    }
}

/// The rules about names, in the order of their use. ASCII letters match in either case.
package enum NameRules {
    /// Decides about the file at `path`, relative to the inbox's root, also by its directories.
    package static func decide(_ path: BytePath) -> NameDecision {
        let components = path.components
        for directory in components.dropLast() {
            if let rule = ruleIgnoring(directory: directory) { return .ignored(rule: rule) }
        }
        guard let name = components.last?.bytes else { return .take }
        let lower = name.map(\.asciiLowercased)
        if let rule = files.first(where: { $0.applies(to: lower) }) {
            return rule.effect == .ignored ? .ignored(rule: rule.name) : .unfinished(rule: rule.name)
        }
        if lower[0] == UInt8(ascii: ".") { return .ignored(rule: "hidden file") }
        return SidecarKind(name: lower).map(NameDecision.sidecar) ?? .take
    }

    /// Whether ``decide(_:)`` returns `unfinished`. For most names the first and last bytes exclude that quickly.
    package static func isUnfinished(_ path: BytePath) -> Bool {
        let bytes = path.bytes
        guard let last = bytes.last else { return false }
        let first = bytes[(bytes.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0)...].first ?? last
        guard unfinishedFirst[Int(first.asciiLowercased)] || unfinishedLast[Int(last.asciiLowercased)] else {
            return false
        }
        if case .unfinished = decide(path) { return true }
        return false
    }

    /// The path of an unfinished file without the suffix that says so; nil where that is no suffix.
    package static func finished(_ path: BytePath) -> BytePath? {
        let lower = path.name.bytes.map(\.asciiLowercased)
        guard let rule = files.first(where: { $0.applies(to: lower) }), rule.effect == .unfinished,
            let count = rule.suffix
        else { return nil }
        return BytePath(Array(path.bytes.dropLast(count)))
    }

    private static let unfinishedFirst = marks(\.first)
    private static let unfinishedLast = marks(\.last)

    private static func marks(_ byte: (NameRule) -> UInt8?) -> [Bool] {
        var marks = Array(repeating: false, count: 256)
        for rule in files where rule.effect == .unfinished { if let byte = byte(rule) { marks[Int(byte)] = true } }
        return marks
    }

    /// The rule that ignores a directory named `name`, which then needs no watch; nil if none does.
    package static func ruleIgnoring(directory name: BytePath) -> String? {
        let lower = name.bytes.map(\.asciiLowercased)
        if let rule = directories.first(where: { $0.applies(to: lower) }) { return rule.name }
        return lower.first == UInt8(ascii: ".") ? "hidden directory" : nil
    }

    private static let directories: [NameRule] = [
        .exact(.ignored, "@eadir", "Synology"),
        .exact(.ignored, "#recycle", "Synology"),
        .exact(.ignored, "#snapshot", "Synology"),
        .exact(.ignored, "@recycle", "QNAP"),
        .exact(.ignored, ".@__thumb", "QNAP"),
        .exact(.ignored, "@recently-snapshot", "QNAP"),
        .exact(.ignored, ".stfolder", "Syncthing"),
        .exact(.ignored, ".stversions", "Syncthing"),
        .prefix(.ignored, ".trash", "trash"),
        .exact(.ignored, "$recycle.bin", "Windows"),
        .exact(.ignored, "system volume information", "Windows"),
        .exact(.ignored, "lost+found", "ext4"),
        .exact(.ignored, "__macosx", "macOS"),
        .suffix(.ignored, ".download", "Safari"),
    ]

    private static let files: [NameRule] = [
        // Files that programs leave beside photos; before the rules for unfinished ones, which some resemble.
        .exact(.ignored, ".ds_store", "macOS"),
        .prefix(.ignored, "._", "macOS"),
        .exact(.ignored, "thumbs.db", "Windows"),
        .exact(.ignored, "ehthumbs.db", "Windows"),
        .exact(.ignored, "desktop.ini", "Windows"),
        .exact(.ignored, ".nomedia", "Android"),
        .prefix(.ignored, ".trashed-", "Android"),
        .exact(.ignored, ".stfolder", "Syncthing"),
        .exact(.ignored, ".stignore", "Syncthing"),
        .prefix(.ignored, ".sync_", "Nextcloud"),
        .prefix(.ignored, ".smbdelete", "macOS"),
        // Written by the daemon for links that it could not fetch.
        .suffix(.ignored, ".links.failed", "photo-inbox"),
        .suffix(.ignored, ".url.failed", "photo-inbox"),
        .suffix(.ignored, ".webloc.failed", "photo-inbox"),
        // Names of files that programs have not finished.
        .prefix(.unfinished, ".syncthing.", "Syncthing"),
        .prefix(.unfinished, "~syncthing~", "Syncthing"),
        .prefix(.unfinished, ".pending-", "Android"),
        .prefix(.unfinished, ".nfs", "NFS, removed while open"),
        .prefix(.unfinished, ".fuse_hidden", "FUSE, removed while open"),
        .prefix(.unfinished, ".goutputstream-", "GLib"),
        .prefix(.unfinished, ".pureftpd-upload.", "Pure-FTPd"),
        .prefix(.unfinished, ".in.", "ProFTPD"),
        .prefix(.unfinished, "~$", "Microsoft Office"),
        .prefix(.unfinished, ".~lock.", "LibreOffice"),
        .suffix(.unfinished, ".part", "Firefox, KDE, Nextcloud and others"),
        .suffix(.unfinished, ".partial", "browsers"),
        .suffix(.unfinished, ".crdownload", "Chrome"),
        .suffix(.unfinished, ".download", "Safari"),
        .suffix(.unfinished, ".opdownload", "Opera"),
        .suffix(.unfinished, ".filepart", "WinSCP"),
        .suffix(.unfinished, ".tacitpart", "FolderSync"),
        .suffix(.unfinished, ".tmp", "many programs"),
        .suffix(.unfinished, ".temp", "many programs"),
        .suffix(.unfinished, ".aria2", "aria2"),
        .suffix(.unfinished, ".!qb", "qBittorrent"),
        .suffix(.unfinished, ".!ut", "uTorrent"),
        .suffix(.unfinished, ".!sync", "Resilio Sync"),
        .suffix(.unfinished, ".swp", "Vim"),
        .rsync,
    ]
}
