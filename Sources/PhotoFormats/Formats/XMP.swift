import Crypto

extension PhotoReport {
    /// Adds the metadata and dates of an XMP packet.
    mutating func record(_ xmp: XMPProperties) {
        for date in xmp.dates { record(RecordedDate(provenance: .xmp, bytes: date.utf8)) }
        let metadata = xmp.metadata
        if !metadata.isEmpty { self.metadata[.xmp] = metadata }
    }

    /// Adds the metadata and date of IPTC; `digest` is that of the IPTC that the last writer of XMP has seen.
    mutating func record(_ iptc: [UInt8], digest: [UInt8]?) {
        let fields = IPTCFields(iptc)
        guard !fields.isEmpty else { return }
        if metadata[.iptc] == nil, let created = fields.created {
            record(RecordedDate(provenance: .iptc, iptc: created.date, time: created.time))
        }
        metadata[.iptc] = fields.metadata
        // TIFF often has it as numbers of four bytes: the zeros behind it do not count.
        iptcIsNewer = digest.map { digest in
            ![iptc[...], iptc.prefix(fields.length)].contains { digest == Array(Insecure.MD5.hash(data: $0)) }
        }
    }

    /// Adds the IPTC in Photoshop's image resources.
    mutating func record(_ resources: ImageResources) {
        if let iptc = resources.iptc { record(iptc, digest: resources.digest) }
    }
}

extension SourceReader where Source: ~Copyable {
    /// Reads an XMP packet, at most ``XMPProperties/longest`` bytes of it.
    mutating func xmpPacket(at offset: UInt64, length: UInt64) throws(WalkStop) -> XMPProperties {
        var xmp = XMPProperties()
        xmp.add(try metadataBytes(at: offset, count: length))
        return xmp
    }

    /// Adds the metadata of an EXIF block in memory, which was compressed in the file.
    func readExif(in bytes: [UInt8], into report: inout PhotoReport) {
        var reader = SourceReader<MemoryByteSource>(MemoryByteSource(bytes))
        let skip: UInt64 = bytes.begins(with: "Exif\0\0") ? 6 : 0
        try? reader.readExif(at: skip, length: UInt64(bytes.count) - skip, into: &report)
    }
}

/// The box type `uuid` of XMP. XMP Specification, part 3, 1.2.7.
let xmpIdentifier: [UInt8] = [
    0xBE, 0x7A, 0xCF, 0xCB, 0x97, 0xA9, 0x42, 0xE8, 0x9C, 0x71, 0x99, 0x94, 0x91, 0xE3, 0xAF, 0xAC,
]
