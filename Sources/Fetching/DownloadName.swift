package import FileValues
package import HTTPValues
import PhotoFormats
import PhotoModel

/// The name of a downloaded file, from the response, else from its address. Always a single safe name that the daemon
/// treats as what the file is. Pure.
package enum DownloadName {
    /// `place` is the final address after redirects.
    package static func choose(head: ResponseHead, place: WebAddress?, address: WebAddress) -> BytePath {
        let names = [head.bytes("content-disposition").flatMap(fileName), address.lastName, place?.lastName]
        let ending = head.contentType.flatMap { endings[$0] }
        // A name with an extension is better than one without.
        let candidates = names.compactMap { $0 }.map { SafeName(BytePath($0)).candidate() }.filter { $0 != "_" }
        let chosen =
            candidates.first { !$0.lowercasedExtension.isEmpty } ?? candidates.first.map {
                $0.addingSuffix(ending ?? "")
            }
            ?? BytePath("download" + (ending ?? ""))
        // The daemon would process a link file: a server must not make this machine download more.
        if LinkFile(name: chosen) != nil { return chosen.addingSuffix(".txt") }
        switch NameRules.decide(chosen) {
        case .take, .sidecar: return chosen
        // The daemon would ignore it.
        case .unfinished, .ignored: return BytePath("download" + (ending ?? ""))
        }
    }

    private static let endings = [
        "image/jpeg": ".jpg", "image/png": ".png", "image/heic": ".heic", "image/heif": ".heif",
        "image/webp": ".webp", "image/gif": ".gif", "image/tiff": ".tif", "image/avif": ".avif",
        "video/mp4": ".mp4", "video/quicktime": ".mov", "image/x-adobe-dng": ".dng",
    ]

    /// The name in `attachment; filename="a.jpg"`, or in `filename*=UTF-8''a.jpg`, which has priority; see RFC 6266.
    private static func fileName(_ field: [UInt8]) -> [UInt8]? {
        var plain: [UInt8]?
        for part in parameters(field) {
            guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let key = String(decoding: trimmedBlanks(Array(part[..<equals])), as: UTF8.self).lowercased()
            let value = unquoted(trimmedBlanks(Array(part[(equals + 1)...])))
            if key == "filename*" {
                let pieces = value.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
                if pieces.count == 3, !pieces[2].isEmpty { return unescapedPercents(Array(pieces[2])) }
            } else if key == "filename", !value.isEmpty {
                plain = plain ?? value
            }
        }
        return plain
    }

    /// At semicolons outside of quotes.
    private static func parameters(_ field: [UInt8]) -> [[UInt8]] {
        var parts: [[UInt8]] = [[]]
        var (isQuoted, isEscaped) = (false, false)
        for byte in field {
            if byte == UInt8(ascii: ";"), !isQuoted {
                parts.append([])
                continue
            }
            if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
            isEscaped = isQuoted && byte == UInt8(ascii: "\\") && !isEscaped
            parts[parts.count - 1].append(byte)
        }
        return parts
    }

    private static func unquoted(_ value: [UInt8]) -> [UInt8] {
        guard value.count >= 2, value.first == UInt8(ascii: "\""), value.last == UInt8(ascii: "\"") else {
            return value
        }
        var out: [UInt8] = []
        var isEscaped = false
        for byte in value.dropFirst().dropLast() {
            if byte == UInt8(ascii: "\\"), !isEscaped {
                isEscaped = true
            } else {
                out.append(byte)
                isEscaped = false
            }
        }
        return out
    }
}
