import CPictures
package import Decoding
import FileValues
import Glibc
import LinuxKernel

/// Makes renditions with libvips, with LibRaw for the preview of a raw file, and with libav for films.
package struct ThumbnailMaker: PictureMaker {
    /// Opened before confinement.
    private var status: HeldDescriptor?

    package init() {}

    /// Whether googly eyes can be drawn.
    package static var findsFaces: Bool { cpictures_finds_faces() != 0 }

    /// A text that identifies what decodes; throws if that does not start.
    package static func identity(films: Bool) throws -> String {
        var maker = ThumbnailMaker()
        try maker.prepare(films: films)
        return String(cpictures_digest(), radix: 16)
    }

    package mutating func prepare(films: Bool) throws {
        status = try? HeldDescriptor(openDirectory("/proc/self").openBeneath("statm", .read))
        guard cpictures_start() == 0 else { throw LibraryFailure(reason: Self.message) }
        if films { cpictures_start_films() }
    }

    package func make(_ request: DecoderRequest, picture: Int32, answer: Int32) -> DecoderMessage {
        func refusal(_ code: DecoderRefusal.Code, _ reason: String) -> DecoderMessage {
            .refusal(DecoderRefusal(id: request.id, code: code, reason: reason))
        }
        let isFile = request.kind == .picture || request.kind == .film
        let jpeg = isFile ? try? JPEGOutline(of: picture, scansUpTo: request.limits.scans + 1) : nil
        if let jpeg {
            if jpeg.scans > request.limits.scans {
                return refusal(.tooLarge, "a progressive JPEG of more than \(request.limits.scans) passes")
            }
            if jpeg.needsLibav {
                let (longer, pixels) = (max(jpeg.width, jpeg.height), UInt64(jpeg.width) * UInt64(jpeg.height))
                if longer > request.limits.side || pixels > request.limits.pixels {
                    return refusal(.tooLarge, "\(jpeg.width) x \(jpeg.height) pixels")
                }
                // CMYK, which libav would show as a negative.
                if jpeg.components > 3 {
                    return refusal(
                        .unreadable, "a JPEG of \(jpeg.components) colours that is lossless or of more than 8 bits")
                }
                if request.kind == .picture { return refusal(.film, "libav reads a JPEG of this kind") }
            }
        }
        var limits = cpictures_limits(
            pixels: request.limits.pixels, side: request.limits.side,
            processor_seconds: request.limits.processorSeconds, seconds: request.limits.seconds)
        var facts = cpictures_facts()
        var parts = request.sizes.map { cpictures_part(size: $0, width: 0, height: 0, bytes: nil, length: 0) }
        defer { cpictures_release(&parts, UInt32(parts.count)) }
        let quality = Int32(request.quality)
        func make(_ kind: Int) -> Int32 {
            cpictures_make(picture, Int32(kind), &limits, quality, &parts, UInt32(parts.count), &facts)
        }
        let result: Int32
        switch request.kind {
        case .picture: result = make(CPICTURES_OF_PICTURE)
        case .raw: result = make(CPICTURES_OF_RAW)
        case .film: result = make(jpeg?.needsLibav == true ? CPICTURES_OF_JPEG : CPICTURES_OF_FILM)
        case .tiltShift: result = cpictures_tilt_shift(picture, &limits, quality, &parts[0], &facts)
        case .googly: result = cpictures_googly(picture, &limits, quality, &parts[0], &facts)
        case .sheet:
            do throws(WireError) {
                result = try SheetMaker.make(
                    picture, quality: request.quality, limits: &limits, part: &parts[0], facts: &facts)
            } catch { return refusal(.badRequest, error.description) }
        }
        let message = Self.message
        switch Int(result) {
        case Int(CPICTURES_DONE): break
        case Int(CPICTURES_TOO_LARGE): return refusal(.tooLarge, "\(facts.width) x \(facts.height) pixels")
        case Int(CPICTURES_NO_PREVIEW): return refusal(.noPreview, message)
        case Int(CPICTURES_NOTHING_FOUND): return refusal(.nothingFound, "it shows no pair of eyes")
        case Int(CPICTURES_UNSUPPORTED):
            let isFilm = request.kind == .film
            return refusal(.unsupported, isFilm ? message : "this photoinbox-decoder was built without faces")
        case Int(CPICTURES_FILM): return refusal(.film, "it holds a film and no picture")
        default: return refusal(.unreadable, message.isEmpty ? "it contains no picture" : message)
        }
        do throws(SystemCallError) {
            return .answer(
                DecoderAnswer(
                    id: request.id, width: facts.width, height: facts.height,
                    orientation: UInt8(truncatingIfNeeded: facts.orientation), memory: residentMemory,
                    ignoresProfile: facts.is_profile_ignored != 0,
                    likeness: facts.is_described != 0 ? facts.description : nil,
                    parts: try Self.write(parts, to: answer)))
        } catch {
            return refusal(.noRoom, error.description)
        }
    }

    /// Writes the parts one after the other.
    private static func write(_ parts: [cpictures_part], to answer: Int32) throws(SystemCallError) -> [DecodedPart] {
        var offset: UInt64 = 0
        var placed: [DecodedPart] = []
        for part in parts {
            var written = 0
            while written < part.length {
                let at = off_t(offset) + off_t(written)
                written += try systemCall("pwrite") {
                    pwrite(answer, part.bytes?.advanced(by: written), part.length - written, at)
                }
            }
            placed.append(
                DecodedPart(
                    size: part.size, width: part.width, height: part.height, offset: offset,
                    length: UInt64(part.length)))
            offset += UInt64(part.length)
        }
        return placed
    }

    /// The messages of the libraries, in one line, each once.
    private static var message: String {
        var buffer = [CChar](repeating: 0, count: 16_384)
        cpictures_take_message(&buffer, buffer.count)
        let text = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        var lines: [Substring] = []
        for line in text.split(separator: "\n") where !lines.contains(line) { lines.append(line) }
        return lines.joined(separator: "; ")
    }

    /// Resident memory in bytes; see statm in proc(5). 0 if it cannot be read.
    private var residentMemory: UInt64 {
        guard let status else { return 0 }
        var text = [UInt8](repeating: 0, count: 128)
        let count = pread(status.descriptor.raw, &text, text.count, 0)
        let fields = text.prefix(max(0, count)).split(separator: UInt8(ascii: " "))
        guard fields.count > 1 else { return 0 }
        return (UInt64(String(decoding: fields[1], as: UTF8.self)) ?? 0) * UInt64(max(0, sysconf(Int32(_SC_PAGESIZE))))
    }
}

/// Why the libraries did not start.
private struct LibraryFailure: Error, CustomStringConvertible {
    let reason: String
    var description: String { "libvips does not start: \(reason)" }
}
