import FileValues
package import PhotoFormats

/// Checks whether a sidecar is complete, by its beginning and its end. Its content is not interpreted.
package enum SidecarReader {
    /// Reads `source`, a sidecar of this kind: only its two ends, except for a THM, which is a JPEG.
    ///
    /// Throws only if the source could not be read.
    package static func read<Source: ByteSource & ~Copyable>(
        _ source: inout Source, kind: SidecarKind
    ) throws(ByteSourceError) -> PhotoReport {
        if kind == .thm {
            let report = try PhotoReader.read(&source, name: "a.jpg")
            switch report.completeness {
            // Other content is filed unchanged.
            case .malformed(let reason), .notAPhoto(let reason):
                return PhotoReport(format: nil, completeness: .weak(reason: reason))
            case .whole, .weak, .lacking, .cutShort, .empty: return report
            }
        }
        let size = source.size
        guard size > 0 else { return PhotoReport(format: nil, completeness: .empty) }
        let head = try source.read(at: 0, count: 64)
        let tail = try source.read(at: size - min(size, 4_096), count: 4_096)
        return PhotoReport(format: nil, completeness: judge(kind, head, tail))
    }

    private static func judge(_ kind: SidecarKind, _ head: [UInt8], _ tail: [UInt8]) -> Completeness {
        if head.allSatisfy({ $0 == 0 }) {
            return .cutShort(reason: "it begins with zero bytes: nothing was written there yet")
        }
        if kind == .aae, head.begins(with: "bplist00") { return .weak(reason: "a binary property list") }
        let first: UInt8 = kind == .takeout ? UInt8(ascii: "{") : UInt8(ascii: "<")
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let start = head.drop { isSpace($0) || mark.contains($0) }
        guard start.first == first else { return .weak(reason: "it does not begin as such a sidecar does") }
        guard let end = tail.lastIndex(where: { !isSpace($0) && $0 != 0 }) else {
            return .cutShort(reason: "it ends with nothing but spaces")
        }
        let text = tail[...end]
        switch kind {
        case .takeout where text.last == UInt8(ascii: "}"): return .whole(evidence: "ends with its brace")
        case .aae where text.ends(with: "</plist>"): return .whole(evidence: "ends with </plist>")
        case .xmp where text.ends(with: "</x:xmpmeta>") || text.ends(with: "</rdf:RDF>"):
            return .whole(evidence: "ends with its last element")
        case .xmp where text.ends(with: "?>") && tail.holds("<?xpacket end="):
            return .whole(evidence: "ends with its packet")
        default: return .weak(reason: "it does not end as such a sidecar does")
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}

extension Collection<UInt8> {
    fileprivate func ends(with text: StaticString) -> Bool {
        text.withUTF8Buffer { suffix(upTo: $0.count).elementsEqual($0) }
    }

    private func suffix(upTo count: Int) -> SubSequence { dropFirst(Swift.max(0, self.count - count)) }

    fileprivate func holds(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { pattern in
            var rest = self[...]
            while rest.count >= pattern.count {
                if rest.starts(with: pattern) { return true }
                rest = rest.dropFirst()
            }
            return false
        }
    }
}
