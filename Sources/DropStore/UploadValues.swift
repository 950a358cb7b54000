package import FileValues
package import Filing
import PhotoModel

/// The number of an upload: 128 random bits. Whoever knows it may continue the upload.
package struct UploadID: Hashable, Sendable, CustomStringConvertible {
    /// 32 hexadecimal digits.
    package let description: String

    /// A new one, from the kernel.
    init() { description = FileNames.makeToken() }

    /// One that was received or read; nil if it is malformed.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count == 32,
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        description = String(text)
    }

    var part: BytePath { BytePath("\(description).part") }
    /// Of what is left of an upload that cannot go on.
    var kept: BytePath { BytePath("\(description).kept") }

    /// The upload whose part has this name.
    init?(part: BytePath) {
        guard part.bytes.count == 37, part.bytes.suffix(5).elementsEqual(".part".utf8) else { return nil }
        self.init(String(decoding: part.bytes.prefix(32), as: UTF8.self))
    }
}

/// Who sends.
package enum DropOwner: Hashable, Sendable, CustomStringConvertible {
    /// A person of the pages.
    case person(String)
    /// A device of a person's, with a password of its own.
    case device(String, of: String)
    /// Whoever has the link with this label.
    case guest(String)

    /// `ana`, `ana/phone` or `guests/oma`: also the directory in the inbox. No device is named as a date is.
    package var description: String {
        switch self {
        case .person(let name): name
        case .device(let name, let person): "\(person)/\(name)"
        case .guest(let label): "\(Self.guests)/\(label)"
        }
    }

    package init(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        switch parts.count {
        case 2 where parts[0] == Self.guests: self = .guest(parts[1])
        case 2: self = .device(parts[1], of: parts[0])
        default: self = .person(text)
        }
    }

    /// The directory of all guests, so no person's name.
    package static let guests = "guests"
}

/// Where an upload goes below its owner's directory of the day: its folders and its name.
///
/// Names are bytes, and stay as they are: there is no normalisation, as on Linux. Changed is only what no library can have:
/// control characters, bytes that are no UTF-8, more than 255 bytes.
package struct DropName: Hashable, Sendable {
    /// Why a name is refused.
    package enum Refusal: Error, Hashable, Sendable {
        /// Nothing, NUL, `.`, `..`, or too long.
        case malformed
        /// The daemon would ignore it, or wait for it for ever, by this rule.
        case ignored(rule: String)
        /// A file of links starts downloads, which a photo's sender must not.
        case links
    }

    /// The most bytes of a path as it comes: it is kept in the ledger.
    package static let limit = 1_024
    /// The most folders that are kept; those below them are left out.
    package static let depth = 8

    /// As it came.
    package let original: BytePath
    package let path: BytePath

    /// `path` has folders before its last slash. With `isHeld` it is the name of an unfinished file.
    package init(_ path: [UInt8], of owner: DropOwner, isHeld: Bool = false) throws(Refusal) {
        guard path.count <= Self.limit, !path.contains(0), path.last != UInt8(ascii: "/") else { throw .malformed }
        original = BytePath(path)
        let components = original.components
        let directory = BytePath(owner.description)
        guard let name = components.last, components.allSatisfy(\.isSafeBeneath), directory.isSafeBeneath else {
            throw .malformed
        }
        let kept = components.dropLast().prefix(Self.depth) + [name]
        self.path = kept.reduce("") { $0.appending(SafeName($1).candidate()) }
        // Both: what is changed may begin to match a rule, or cease to.
        try Self.check(kept.reduce("") { $0.appending($1) }, isHeld)
        try Self.check(directory.appending(self.path), isHeld)
    }

    /// One that the ledger has.
    init(original: BytePath, path: BytePath) { (self.original, self.path) = (original, path) }

    /// Whether a file of this name is unfinished: it is kept without a name in the inbox until it has another.
    package var isHeld: Bool { NameRules.isUnfinished(original) || NameRules.isUnfinished(path) }

    private static func check(_ path: BytePath, _ isHeld: Bool) throws(Refusal) {
        switch NameRules.decide(path) {
        case .take, .sidecar: break
        case .unfinished where isHeld:
            // A name that it could not get is refused before its bytes are sent.
            if let finished = NameRules.finished(path) { try check(finished, isHeld) }
        case .unfinished(let rule), .ignored(let rule): throw .ignored(rule: rule)
        }
        if links.contains(path.lowercasedExtension) { throw .links }
    }

    private static let links = ["links", "url", "webloc"].map { Array($0.utf8) }
}

/// What who sends says about files of one shot: how many have the same token.
package struct DropSet: Hashable, Sendable {
    package let token: BytePath
    package let count: Int

    /// The most files of a shot.
    package static let limit = 16

    package init?(token: [UInt8], count: Int) {
        guard (1...64).contains(token.count), (2...Self.limit).contains(count) else { return nil }
        (self.token, self.count) = (BytePath(token), count)
    }
}

/// What a sender wants to upload.
package struct NewUpload: Hashable, Sendable {
    package var owner: DropOwner
    package var name: DropName
    /// Nil while it is unknown.
    package var length: UInt64?
    package var modified: FileTime?
    /// The SHA-256 of all bytes, where the sender has it.
    package var digest: ContentHash?
    package var set: DropSet?

    package init(_ owner: DropOwner, _ name: DropName, length: UInt64?) {
        (self.owner, self.name, self.length) = (owner, name, length)
    }
}

/// What one sender may do; the store has these for all.
package struct DropLimits: Hashable, Sendable {
    /// Of one file.
    package var largest: UInt64 = 64 << 30
    /// Of everything that the sender has sent or begun; nil for no limit.
    package var total: UInt64?
    /// Uploads at a time.
    package var open = 64

    package init() {}
}
