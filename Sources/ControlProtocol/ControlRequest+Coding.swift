import FileValues
import Foundation

// Requests as JSON: {"version":1,"id":7,"do":"release","operation":8839,"as_is":true}

/// Its JSON fields.
private struct Fields: JSONMessage {
    var version: Int?
    var id: Int64?
    var `do`: String?
    var inbox: String?
    var file: String?
    var fileBase64: String?
    var all: Bool?
    var photos: [Int64]?
    var complete: Bool?
    var operation: Int64?
    var asIs: Bool?
    var alone: Bool?
    var dryRun: Bool?
    var `for`: String?
    var sha256: [String]?
    var files: [ControlPath]?
    var after: Int64?
    var expected: [String]?
    var bucket: String?

    enum CodingKeys: String, CodingKey {
        case version, id, `do`, inbox, file, all, photos, complete, operation, alone, `for`, sha256, files, after,
            expected, bucket
        case fileBase64 = "file_base64"
        case asIs = "as_is"
        case dryRun = "dry_run"
    }
}

extension ControlRequest {
    package init(json bytes: [UInt8]) throws(RequestMistake) {
        let fields: Fields
        do { fields = try JSONCoding.read(bytes) } catch {
            throw RequestMistake(message: "this is not a request: \(Self.message(of: error))", id: 0)
        }
        let id = fields.id ?? 0
        guard let version = fields.version else { throw RequestMistake(message: "\"version\" is missing", id: id) }
        guard version == Self.version else {
            throw RequestMistake(
                message: "version \(version) is not supported; this is version \(Self.version)", id: id)
        }
        if let person = fields.for {
            guard (1...64).contains(person.utf8.count), person.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
                throw RequestMistake(message: "\"for\" is not a person's name", id: id)
            }
        }
        guard fields.expected?.count ?? 0 <= Self.expectedLimit else {
            throw RequestMistake(message: "\"expected\" has more than \(Self.expectedLimit) elements", id: id)
        }
        self.init(
            id: id, try fields.command(id), isDryRun: fields.dryRun ?? false, person: fields.for,
            expected: fields.expected)
    }

    package func json() -> [UInt8] {
        var fields = Fields(version: Self.version, id: id, do: command.verb)
        if isDryRun { fields.dryRun = true }
        (fields.for, fields.expected) = (person, expected)
        switch command {
        case .hello, .state, .metrics, .reload: break
        case .pause(let inbox), .resume(let inbox): fields.inbox = inbox
        case .rescan(let subject), .retry(let subject): fields.set(subject)
        case .verify(let photos, let isComplete):
            fields.photos = photos
            if isComplete { fields.complete = true }
        case .release(let operation, let asIs):
            fields.operation = operation
            if asIs { fields.asIs = true }
        case .discard(let operation): fields.operation = operation
        case .undo(let operation, let alone):
            fields.operation = operation
            if alone { fields.alone = true }
        case .store(let photo, let path, let bucket, let hash):
            (fields.photos, fields.sha256) = ([photo], [hexadecimal(hash)])
            fields.files = [ControlPath(path)]
            fields.bucket = String(decoding: bucket.bytes, as: UTF8.self)
        case .known(let hashes): fields.sha256 = hashes.map { hexadecimal($0) }
        case .outcomes(let inbox, let files, let after):
            (fields.inbox, fields.after) = (inbox, after)
            fields.files = files.map { ControlPath($0) }
        }
        return fields.json
    }

    private static func message(of error: any Error) -> String {
        switch error as? DecodingError {
        case .typeMismatch(_, let context) where !context.codingPath.isEmpty,
            .valueNotFound(_, let context) where !context.codingPath.isEmpty:
            "\"\(context.codingPath.last?.stringValue ?? "")\" is of the wrong kind"
        case .keyNotFound(let key, _): "\"\(key.stringValue)\" is missing"
        default: "it is not the JSON of an object"
        }
    }
}

extension Fields {
    fileprivate func command(_ id: Int64) throws(RequestMistake) -> ControlCommand {
        switch self.do {
        case "hello": return .hello
        case "state": return .state
        case "metrics": return .metrics
        case "reload": return .reload
        case "pause": return .pause(inbox: try need(inbox, "inbox", id))
        case "resume": return .resume(inbox: try need(inbox, "inbox", id))
        case "rescan": return .rescan(try subject(id))
        case "retry": return .retry(try subject(id))
        case "verify":
            let photos = try need(photos, "photos", id)
            guard photos.count <= ControlCommand.verifyLimit else {
                throw RequestMistake(message: "\"photos\" has more than \(ControlCommand.verifyLimit) elements", id: id)
            }
            return .verify(photos: photos, isComplete: complete ?? false)
        case "release": return .release(operation: try need(operation, "operation", id), asIs: asIs ?? false)
        case "discard": return .discard(operation: try need(operation, "operation", id))
        case "undo": return .undo(operation: try need(operation, "operation", id), alone: alone ?? false)
        case "store":
            let (photos, paths) = (photos ?? [], files ?? [])
            guard let hash = try hashes(id).first, sha256?.count == 1, photos.count == 1, paths.count == 1 else {
                throw RequestMistake(
                    message: "\"photos\", \"files\" and \"sha256\" must have one element each", id: id)
            }
            let bucket = try need(bucket, "bucket", id)
            guard ["http://", "https://"].contains(where: bucket.hasPrefix), bucket.utf8.count <= 2_048,
                bucket.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else { throw RequestMistake(message: "\"bucket\" is no address", id: id) }
            return .store(photo: photos[0], path: try paths[0].path(id), bucket: BytePath(bucket), sha256: hash)
        case "known": return .known(try hashes(id))
        case "outcomes":
            let files = try (files ?? []).map { file throws(RequestMistake) in try file.path(id) }
            guard files.count <= ControlCommand.outcomesLimit else {
                throw RequestMistake(
                    message: "\"files\" has more than \(ControlCommand.outcomesLimit) elements", id: id)
            }
            return .outcomes(inbox: try need(inbox, "inbox", id), of: files, after: after)
        case nil: throw RequestMistake(message: "\"do\" is missing", id: id)
        case let verb?:
            throw RequestMistake(message: "there is no command \"\(escapeForDisplay(verb.utf8.prefix(64)))\"", id: id)
        }
    }

    private func need<Value>(_ value: Value?, _ name: String, _ id: Int64) throws(RequestMistake) -> Value {
        guard let value else { throw RequestMistake(message: "\"\(name)\" is missing", id: id) }
        return value
    }

    private func hashes(_ id: Int64) throws(RequestMistake) -> [[UInt8]] {
        let texts = try need(sha256, "sha256", id)
        guard texts.count <= ControlCommand.knownLimit else {
            throw RequestMistake(message: "\"sha256\" has more than \(ControlCommand.knownLimit) elements", id: id)
        }
        let hashes = texts.compactMap { bytes(ofHexadecimal: $0.utf8) }
        guard hashes.count == texts.count, hashes.allSatisfy({ $0.count == 32 }) else {
            throw RequestMistake(message: "\"sha256\" has something else than 64 hexadecimal digits", id: id)
        }
        return hashes
    }

    private func subject(_ id: Int64) throws(RequestMistake) -> ControlSubject {
        guard let inbox else {
            guard all == true else {
                throw RequestMistake(message: "\"inbox\" or \"all\" is missing", id: id)
            }
            return .everything
        }
        guard let path = try PathText.path(file, fileBase64, id) else { return .inbox(inbox) }
        guard path.isSafeBeneath else {
            throw RequestMistake(message: "\"file\" is not a path within an inbox", id: id)
        }
        return .file(inbox: inbox, path)
    }

    fileprivate mutating func set(_ subject: ControlSubject) {
        switch subject {
        case .everything: all = true
        case .inbox(let name): inbox = name
        case .file(let name, let path):
            inbox = name
            (file, fileBase64) = PathText.fields(path)
        }
    }
}

/// A path in a list.
private struct ControlPath: Codable {
    var file: String?
    var fileBase64: String?

    enum CodingKeys: String, CodingKey {
        case file
        case fileBase64 = "file_base64"
    }

    init(_ path: BytePath) { (file, fileBase64) = PathText.fields(path) }

    func path(_ id: Int64) throws(RequestMistake) -> BytePath {
        guard let path = try PathText.path(file, fileBase64, id), path.isSafeBeneath else {
            throw RequestMistake(message: "\"files\" has something else than paths within an inbox", id: id)
        }
        return path
    }
}

/// Paths in JSON: text, and also the bytes if they are not valid UTF-8.
enum PathText {
    static func fields(_ path: BytePath) -> (text: String, base64: String?) {
        if let text = String(validating: path.bytes, as: UTF8.self) { return (text, nil) }
        return (String(decoding: path.bytes, as: UTF8.self), Data(path.bytes).base64EncodedString())
    }

    static func path(_ text: String?, _ base64: String?, _ id: Int64) throws(RequestMistake) -> BytePath? {
        guard let base64 else { return text.map { BytePath($0) } }
        guard let data = Data(base64Encoded: base64) else {
            throw RequestMistake(message: "\"file_base64\" is not base64", id: id)
        }
        return BytePath(Array(data))
    }
}
