import DropStore
import FileValues
import Filing
import HTTPValues
import PhotoFormats
import PhotoModel

/// Why a request by WebDAV is not done.
struct DavRefusal: Error, Sendable {
    let status: HTTPStatus
    let message: String
    /// The condition of RFC 4918 that is not met, as the body.
    var condition: String?

    init(_ status: HTTPStatus, _ message: String, condition: String? = nil) {
        (self.status, self.message, self.condition) = (status, message, condition)
    }
}

/// What the head of a request by WebDAV says; see RFC 4918. Addresses are below `dav`, which is the root of a device's listing.
struct DavHead {
    /// The most bytes of a path and of a name, and the most names.
    private static let limit = (bytes: DropName.limit, name: 255, depth: 32)

    let head: RequestHead
    /// Empty for the root.
    let path: BytePath

    init(_ head: RequestHead) throws(DavRefusal) {
        self.head = head
        path = try Self.path(head.target.segments.dropFirst())
    }

    private static func path(_ segments: ArraySlice<String>) throws(DavRefusal) -> BytePath {
        let path = BytePath(segments.joined(separator: "/"))
        guard path.bytes.count <= limit.bytes, segments.count <= limit.depth,
            segments.allSatisfy({ $0.utf8.count <= limit.name })
        else {
            throw DavRefusal(
                .targetTooLong,
                "a path has at most \(limit.bytes) bytes and \(limit.depth) names, each of \(limit.name) bytes")
        }
        return path
    }

    // MARK: - Fields

    enum Depth: Hashable, Sendable {
        case zero, one, infinity
    }

    /// RFC 4918 9.1 takes infinity where nothing is said.
    func depth() throws(DavRefusal) -> Depth {
        switch head.fields.values(of: "depth").map({ $0.lowercased() }) {
        case [], ["infinity"]: return .infinity
        case ["0"]: return .zero
        // Microsoft's programs ask so, and leave the folder itself out of the answer.
        case ["1"], ["1,noroot"]: return .one
        default: throw DavRefusal(.badRequest, "Depth is none of 0, 1 and infinity")
        }
    }

    func overwrites() throws(DavRefusal) -> Bool {
        switch head.fields.values(of: "overwrite").map({ $0.uppercased() }) {
        case [], ["T"]: return true
        case ["F"]: return false
        default: throw DavRefusal(.badRequest, "Overwrite is neither T nor F")
        }
    }

    /// Where a file is moved to. Of an address the path alone counts: a proxy changes scheme and host of addresses, but not those
    /// in this field, and may have taken a prefix off the request's own path.
    func destination() throws(DavRefusal) -> BytePath {
        guard let field = head.fields["destination"] else {
            throw DavRefusal(.badRequest, "there must be one Destination")
        }
        var text = field[...]
        if let scheme = text.firstIndex(of: ":"), text[scheme...].hasPrefix("://") {
            let host = text[scheme...].dropFirst(3)
            text = host.firstIndex(of: "/").map { host[$0...] } ?? "/"
        }
        guard let target = RequestTarget(String(text)) else {
            throw DavRefusal(.badRequest, "the Destination is no address")
        }
        let own = head.target.segments
        if let prefix, target.segments.starts(with: prefix.segments + [own[0]]) {
            return try Self.path(target.segments[(prefix.segments.count + 1)...])
        }
        // A prefix that is not said, and a folder, may have the same name as the root: the place that is most like the request's own.
        let places = target.segments.indices.filter { target.segments[$0] == own[0] }
        func likeness(_ place: Int) -> Int {
            place == 0 ? .max : zip(target.segments[place...], own).prefix { $0 == $1 }.count
        }
        guard let most = places.map(likeness).max(), let place = places.first(where: { likeness($0) == most }) else {
            throw DavRefusal(.forbidden, "the Destination is elsewhere")
        }
        return try Self.path(target.segments[(place + 1)...])
    }

    /// What a proxy says it has taken off addresses.
    private var prefix: RequestTarget? {
        head.fields["x-forwarded-prefix"].flatMap { field in
            field.utf8.count <= 256 && !field.contains("?") ? RequestTarget(field) : nil
        }
    }

    /// The client's time of the file, as ownCloud's clients say it: then the answer says that it counts.
    var modified: Int64? { UploadHead.modified(head) }

    /// The token of a lock that is to be held on to.
    var lock: String? {
        let tokens = head.fields.values(of: "if").flatMap { $0.split { "<>".contains($0) } }
        return tokens.map(String.init).first { token in
            token.hasPrefix("urn:uuid:") && token.utf8.count == 45
                && token.utf8.dropFirst(9).allSatisfy { "0123456789abcdef-".utf8.contains($0) }
        }
    }

    /// Throws unless the conditions of a request fit what is there.
    func checkConditions(_ row: ListingRow?) throws(DavRefusal) {
        let failed = DavRefusal(.preconditionFailed, "it has changed, or is there already")
        if let row {
            if Precondition(head, row.tag) == .failed { throw failed }
        } else if !head.fields.values(of: "if-match").isEmpty {
            throw failed
        }
    }

    /// An address below the root, as the client sees it: with the prefix that a proxy says it has taken off.
    func address(of path: BytePath, isFolder: Bool) -> String {
        let components =
            (prefix?.segments ?? []).map { BytePath($0) } + [BytePath(head.target.segments[0])] + path.components
        return components.reduce("") { $0 + "/" + percentEncoded($1.bytes) } + (isFolder ? "/" : "")
    }
}

/// What becomes of a file by its name.
enum DavFile {
    /// A photo, which gets this name.
    case photo(DropName)
    /// It is kept without a name in the inbox until it has another.
    case held(DropName)
    /// What Finder and Explorer put beside every file. They fail where it is refused.
    case litter

    init(_ path: BytePath, of owner: DropOwner) throws(DavRefusal) {
        let name = path.name.bytes.map(\.asciiLowercased)
        if name.starts(with: "._".utf8) || Self.litterNames.contains(name) {
            self = .litter
            return
        }
        do throws(DropName.Refusal) {
            let name = try DropName(path.bytes, of: owner, isHeld: true)
            self = name.isHeld ? .held(name) : .photo(name)
        } catch { throw DavRefusal(.forbidden, error.message) }
    }

    private static let litterNames = [".ds_store", "thumbs.db", "ehthumbs.db", "desktop.ini"].map { Array($0.utf8) }

    /// Throws for a folder whose files the daemon would ignore.
    static func checkFolder(_ path: BytePath) throws(DavRefusal) {
        if let rule = NameRules.ruleIgnoring(directory: path.name) {
            throw DavRefusal(.forbidden, DropName.Refusal.ignored(rule: rule).message)
        }
    }
}

extension ListingRow {
    var tag: EntityTag { EntityTag("\(String(number, radix: 16))-\(size)") }
    var isFolder: Bool { kind == .folder }
}
