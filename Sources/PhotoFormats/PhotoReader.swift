package import FileValues

/// Reads structure end, dates, dimensions, orientation and content identifier of photos, in memory-safe code.
///
/// It reads little (a RAW file or a film by its offsets; only JPEG and GIF completely), in time bounded by the file's
/// size, and no content makes it trap.
package enum PhotoReader {
    /// Reads `source`. The extension of `name` decides if the first bytes are ambiguous (a maker's RAW or TIFF).
    ///
    /// Throws only if the source could not be read.
    package static func read<Source: ByteSource & ~Copyable>(
        _ source: inout Source, name: BytePath = BytePath("")
    ) throws(ByteSourceError) -> PhotoReport {
        var reader = SourceReader(consume source)
        let result = reader.report(ending: name.lowercasedExtension)
        source = reader.release()
        return try result.get()
    }

    /// Reads `source` for its metadata alone: a JPEG up to its pixels, so that its completeness says nothing.
    ///
    /// Throws only if the source could not be read.
    package static func readMetadata<Source: ByteSource & ~Copyable>(
        _ source: inout Source, name: BytePath
    ) throws(ByteSourceError) -> PhotoReport {
        var reader = SourceReader(consume source, stopsAtPixels: true)
        let result = reader.report(ending: name.lowercasedExtension)
        source = reader.release()
        return try result.get()
    }

    /// The ranges of compressed pixels in `source` in which zeros are distinguishable from unwritten data, in reading
    /// order and limited in number; of a damaged file those before the damage. For use only if there are zeros, since
    /// it reads tables that nothing else needs.
    ///
    /// Throws only if the source could not be read.
    package static func pixelRanges<Source: ByteSource & ~Copyable>(
        of source: inout Source, name: BytePath = BytePath("")
    ) throws(ByteSourceError) -> [PixelRange] {
        var reader = SourceReader(consume source, locatingPixels: true)
        let result = reader.report(ending: name.lowercasedExtension)
        let ranges = reader.pixels?.ranges ?? []
        source = reader.release()
        _ = try result.get()
        return ranges
    }

    /// Whether the CRC-32 after `range`, with the rule ``PixelRange/Rule/checked``, is correct. Reads all its bytes.
    package static func isSound<Source: ByteSource & ~Copyable>(
        _ range: PixelRange, of source: inout Source
    ) throws(ByteSourceError) -> Bool {
        var check = CRC32()
        var position = range.bytes.lowerBound
        while position < range.bytes.upperBound {
            let part = try source.read(at: position, count: Int(min(range.bytes.upperBound - position, 1 << 18)))
            guard !part.isEmpty else { return false }
            check.update(part)
            position += UInt64(part.count)
        }
        let stored = try source.read(at: position, count: 4)
        return stored.count == 4 && stored.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } == check.value
    }
}

extension SourceReader where Source: ~Copyable {
    /// The report about the file; only a failed read is a failure.
    fileprivate mutating func report(ending: [UInt8]) -> Result<PhotoReport, ByteSourceError> {
        var report = PhotoReport(format: nil, completeness: .empty)
        do throws(WalkStop) {
            report.completeness = try examine(ending: ending, into: &report)
        } catch {
            switch error {
            case .found(let completeness): report.completeness = completeness
            case .failed(let error): return .failure(error)
            }
        }
        report.bytesRead = bytesRead
        return .success(report)
    }

    private mutating func examine(ending: [UInt8], into report: inout PhotoReport) throws(WalkStop) -> Completeness {
        guard size > 0 else { return .empty }
        let header = try bytes(at: 0, count: Container.headerSize)
        guard let container = Container.detect(header) else { return try judgeUnknown(header) }
        switch container {
        case .jpeg:
            report.format = .jpeg
            return try readJPEG(into: &report)
        case .png:
            report.format = .png
            return try readPNG(into: &report)
        case .gif:
            report.format = .gif
            return try readGIF(into: &report)
        case .webp:
            report.format = .webp
            return try readWebP(into: &report)
        case .raf:
            report.format = .raf
            return try readRAF(into: &report)
        case .psd:
            report.format = .psd
            return try readPSD(into: &report)
        case .crw:
            report.format = .crw
            return try readCRW(into: &report)
        case .x3f:
            report.format = .x3f
            return try readX3F(into: &report)
        case .mrw:
            report.format = .mrw
            return try readMRW(into: &report)
        case .jp2(let isBare):
            report.format = .jp2
            return try readJP2(isBare: isBare, into: &report)
        case .jxl(let isBare):
            // Two bytes are no evidence by themselves.
            if isBare, !PhotoFormat.jxl.agrees(withExtension: ending) { return try judgeUnknown(header) }
            report.format = .jxl
            return try readJXL(isBare: isBare, into: &report)
        case .avi:
            report.format = .avi
            return try readAVI(into: &report)
        case .matroska:
            report.format = .mkv
            return try readMatroska(into: &report)
        case .transportStream(let step):
            if !PhotoFormat.mts.agrees(withExtension: ending) { return try judgeUnknown(header) }
            report.format = .mts
            return try readTransportStream(step: step, into: &report)
        case .tiff, .cr2, .rw2, .orf: return try readTIFF(container, ending: ending, into: &report)
        case .boxes(let brands): return try readBoxFile(brands: brands, into: &report)
        }
    }

    /// The completeness of a file of unknown format: just begun, or not a photo.
    private mutating func judgeUnknown(_ header: [UInt8]) throws(WalkStop) -> Completeness {
        if UInt64(header.count) == size, Container.couldBegin(with: header) {
            return .cutShort(reason: "\(byteCount(size)), less than a header")
        }
        // Programs that preallocate space leave zeros.
        if header.count >= 8, header.allSatisfy({ $0 == 0 }) {
            return .cutShort(reason: "it begins with zero bytes: nothing was written there yet")
        }
        return .notAPhoto(
            reason: try otherKind(header).map { "it is \($0)" }
                ?? "its first bytes, \(hex(header.prefix(4))), are of no format that is filed")
    }

    /// The kind of a file that is not filed, for people; nil if it is not known.
    private mutating func otherKind(_ header: [UInt8]) throws(WalkStop) -> String? {
        let isText = header.allSatisfy { (0x20...0x7E).contains($0) || (0x09...0x0D).contains($0) || $0 >= 0x80 }
        if let name = OtherKind.name(of: header, isText: isText) { return name }
        if isText { return OtherKind.text(header) }
        if header.begins(with: "PK\u{3}\u{4}") {
            let end = size - min(size, 4_096)
            return OtherKind.zip(holding: try bytes(at: 0, count: 4_096) + bytes(at: end, count: 4_096))
        }
        if try bytes(at: 257, count: 5).begins(with: "ustar") { return "a tar archive" }
        if try bytes(at: 32_769, count: 5).begins(with: "CD001") { return "an ISO 9660 disk image" }
        if size > 512, try bytes(at: size - 512, count: 4).begins(with: "koly") { return "a macOS disk image" }
        if try bytes(at: 510, count: 2) == [0x55, 0xAA] { return "a disk image" }
        return nil
    }

    private func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 0x10 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: " ")
    }
}
