import DropStore
import FileValues
import HTTPValues

/// What a request asks of properties.
struct DavQuestion: Hashable, Sendable {
    private enum Kind { case all, names, some }

    private let kind: Kind
    private let names: [XMLName]

    /// The most bytes of a body, properties in it, and bytes of their names, as each answer has them.
    static let limit = (bytes: 64 << 10, properties: 128, names: 8 << 10)

    /// All properties, without a body.
    init(_ body: [UInt8]) throws(DavRefusal) {
        guard !body.isEmpty else {
            (kind, names) = (.all, DavProperty.allCases.map(\.name))
            return
        }
        guard let root = XMLElement(body), root.name == XMLName("propfind") else {
            throw DavRefusal(.badRequest, "the body is no propfind")
        }
        if let some = root["prop"], root["allprop"] == nil, root["propname"] == nil {
            try Self.check(some.children.map(\.name))
            var seen = Set<XMLName>()
            (kind, names) = (.some, some.children.map(\.name).filter { seen.insert($0).inserted })
        } else if root["prop"] == nil, (root["allprop"] == nil) != (root["propname"] == nil) {
            (kind, names) = (root["allprop"] == nil ? .names : .all, DavProperty.allCases.map(\.name))
        } else {
            throw DavRefusal(.badRequest, "the body asks for none or several of prop, allprop and propname")
        }
    }

    /// Throws for names that make answers long.
    static func check(_ names: [XMLName]) throws(DavRefusal) {
        var bytes = 0
        for name in names.prefix(limit.properties) where bytes <= limit.names { bytes += name.text.utf8.count }
        guard names.count <= limit.properties, bytes <= limit.names else {
            throw DavRefusal(
                .contentTooLarge,
                "name at most \(limit.properties) properties at a time, and \(limit.names) bytes of their names")
        }
    }

    /// The element `response` of one file or folder, which is nil for the root. `room` is what can still be sent.
    func answer(_ row: ListingRow?, at address: String, name: BytePath, room: UInt64?) -> String {
        var (found, missing) = ("", "")
        for asked in names {
            if let value = DavProperty(asked)?.value(row, name, room) {
                found += kind == .names ? asked.text : asked.text(around: value)
            } else if kind == .some {
                missing += asked.text
            }
        }
        var text = "<D:response><D:href>\(address)</D:href>"
        if !found.isEmpty || missing.isEmpty { text += Self.propstat(found, "200 OK") }
        if !missing.isEmpty { text += Self.propstat(missing, "404 Not Found") }
        return text + "</D:response>\n"
    }

    static func propstat(_ properties: String, _ status: String) -> String {
        "<D:propstat><D:prop>\(properties)</D:prop><D:status>HTTP/1.1 \(status)</D:status></D:propstat>"
    }

    static let begin = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<D:multistatus xmlns:D=\"DAV:\">\n"
    static let end = "</D:multistatus>\n"
}

/// The properties that there are.
enum DavProperty: String, CaseIterable {
    case resourcetype
    case displayname
    case getcontentlength
    case getcontenttype
    case getetag
    case getlastmodified
    case supportedlock
    case lockdiscovery
    case quotaAvailable = "quota-available-bytes"

    var name: XMLName { XMLName(rawValue) }

    init?(_ name: XMLName) {
        guard name.namespace == XMLName.dav, let property = Self(rawValue: name.local) else { return nil }
        self = property
    }

    /// As XML; nil for what has no such property.
    func value(_ row: ListingRow?, _ name: BytePath, _ room: UInt64?) -> String? {
        let isFolder = row?.isFolder ?? true
        switch self {
        case .resourcetype: return isFolder ? XMLName("collection").text : ""
        case .displayname: return xmlEscaped(String(decoding: name.bytes, as: UTF8.self))
        case .getcontentlength: return isFolder ? nil : "\(row?.size ?? 0)"
        case .getcontenttype:
            let text = String(decoding: name.bytes, as: UTF8.self)
            return isFolder ? nil : MediaType.ofPhoto(named: text).rawValue
        case .getetag: return isFolder ? nil : row.map { xmlEscaped($0.tag.description) }
        case .getlastmodified: return row.flatMap { httpDate($0.modified) }
        case .supportedlock:
            return ["exclusive", "shared"].map {
                "<D:lockentry><D:lockscope><D:\($0)/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>"
            }.joined()
        // Locks are accepted, and mean nothing.
        case .lockdiscovery: return ""
        case .quotaAvailable: return isFolder ? room.map { "\($0)" } : nil
        }
    }
}

/// The answer to a PROPPATCH: times as Windows sets them are accepted, and mean nothing; there is no place for others.
struct DavPatch {
    private let names: [XMLName]

    init(_ body: [UInt8]) throws(DavRefusal) {
        guard let root = XMLElement(body), root.name == XMLName("propertyupdate") else {
            throw DavRefusal(.badRequest, "the body is no propertyupdate")
        }
        names = root.children.filter { [XMLName("set"), XMLName("remove")].contains($0.name) }
            .flatMap { $0["prop"]?.children.map(\.name) ?? [] }
        try DavQuestion.check(names)
    }

    func answer(at address: String) -> String {
        let (known, others) = (names.filter(Self.isAccepted), names.filter { !Self.isAccepted($0) })
        var text = DavQuestion.begin + "<D:response><D:href>\(address)</D:href>"
        // All or none of them, RFC 4918 9.2 says.
        if !known.isEmpty || others.isEmpty {
            let status = others.isEmpty ? "200 OK" : "424 Failed Dependency"
            text += DavQuestion.propstat(known.map(\.text).joined(), status)
        }
        if !others.isEmpty { text += DavQuestion.propstat(others.map(\.text).joined(), "403 Forbidden") }
        return text + "</D:response>\n" + DavQuestion.end
    }

    private static func isAccepted(_ name: XMLName) -> Bool {
        name.namespace == "urn:schemas-microsoft-com:" && name.local.hasPrefix("Win32")
    }
}
