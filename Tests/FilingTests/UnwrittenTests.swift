import FileValues
import Filing
import Glibc
import LinuxKernel
import PhotoModel
import SystemPackage
import Testing

@Suite("Unwritten parts of photos are distinguished from zeros")
struct UnwrittenTests {
    private let stage: Stage
    private let start = ContinuousClock.now
    init() throws { stage = try Stage() }

    private func proof(_ name: BytePath, after quiet: Duration) throws -> Proof {
        let source = try stage.source(name)
        var examination = try Examination(of: source, probe: stage.probe)
        try examination.note(source.read().emptyBlocks, of: source)
        // Without the writer's verdict, since leases may not work here.
        let judged = Examination(
            identity: examination.identity, writer: .noWriter, report: examination.report,
            hasHoles: examination.hasHoles, hasEmptyBlocks: examination.hasEmptyBlocks,
            unwritten: examination.unwritten)
        return judged.decide(QuietCheck(source.identity, at: start), windows: QuietWindows(), at: start + quiet)
    }

    /// Writes `bytes` with a hole or zeros in `gap`.
    private func drop(_ name: BytePath, _ bytes: [UInt8], _ gap: Range<Int>, _ zeros: Zeros) throws {
        let file = try stage.inbox.openBeneath(name, [.write, .createNew], mode: 0o640)
        try file.write(Array(bytes[..<gap.lowerBound]), at: 0)
        if zeros == .written { try file.write([UInt8](repeating: 0, count: gap.count), at: UInt64(gap.lowerBound)) }
        try file.write(Array(bytes[gap.upperBound...]), at: UInt64(gap.upperBound))
    }

    @Test("A JPEG with zeros in its scan is incomplete", arguments: Zeros.allCases)
    func jpeg(zeros: Zeros) throws {
        try drop("a.jpg", wholeJPEG(tables: .standard), 20_480..<69_632, zeros)
        #expect(
            try proof("a.jpg", after: .seconds(100_000))
                == .incomplete(reason: "nothing was written to its bytes 20,480 to 69,631, where pixels should be"))
    }

    @Test("A JPEG whose tables encode an even picture as zeros is filed", arguments: Zeros.allCases)
    func evenJPEG(zeros: Zeros) throws {
        try drop("a.jpg", wholeJPEG(tables: .even), 20_480..<69_632, zeros)
        guard case .complete = try proof("a.jpg", after: .seconds(600)) else {
            Issue.record("not complete: \(try proof("a.jpg", after: .seconds(600)))")
            return
        }
        // A hole is read as zeros, too.
        guard case .wait = try proof("a.jpg", after: .seconds(29)) else {
            Issue.record("\(try proof("a.jpg", after: .seconds(29)))")
            return
        }
        guard zeros == .hole else { return }
        guard case .lacking = try proof("a.jpg", after: .seconds(599)) else {
            Issue.record("\(try proof("a.jpg", after: .seconds(599)))")
            return
        }
    }

    @Test("A JPEG with zeros after the last block of its scan is filed")
    func paddedJPEG() throws {
        let whole = wholeJPEG(tables: .standard)
        try stage.drop("a.jpg", Array(whole.dropLast(2)) + [UInt8](repeating: 0, count: 8_192) + [0xFF, 0xD9])
        guard case .complete = try proof("a.jpg", after: .seconds(30)) else {
            Issue.record("not complete")
            return
        }
    }

    @Test("A PNG with zeros is filed only if its checksum confirms them", arguments: Zeros.allCases)
    func png(zeros: Zeros) throws {
        let gap = 20_480..<40_960
        var pixels = someBytes(100_000)
        let whole = makePNG(pixels)
        try drop("a.png", whole, gap, zeros)
        guard case .incomplete(let reason) = try proof("a.png", after: .seconds(100_000)) else {
            Issue.record("filed")
            return
        }
        #expect(reason.hasSuffix("where pixels should be"))
        // The same zeros as compressed data.
        let start = 41
        pixels.replaceSubrange(
            (gap.lowerBound - start)..<(gap.upperBound - start), with: [UInt8](repeating: 0, count: gap.count))
        try drop("b.png", makePNG(pixels), gap, zeros)
        guard case .complete(let evidence) = try proof("b.png", after: .zero) else {
            Issue.record("not complete")
            return
        }
        #expect(evidence.hasSuffix("PNG ends with its IEND chunk"))
    }

    @Test("A black TIFF with holes is filed after patience")
    func blackTIFF() throws {
        let whole = makeTIFF(compression: 1, [UInt8](repeating: 0, count: 100_000))
        try drop("a.tif", whole, 20_480..<61_440, .hole)
        guard case .lacking = try proof("a.tif", after: .seconds(599)) else {
            Issue.record("\(try proof("a.tif", after: .seconds(599)))")
            return
        }
        guard case .complete = try proof("a.tif", after: .seconds(600)) else {
            Issue.record("\(try proof("a.tif", after: .seconds(600)))")
            return
        }
        // Without holes it is filed sooner.
        try stage.drop("b.tif", whole)
        guard case .complete = try proof("b.tif", after: .seconds(30)) else {
            Issue.record("\(try proof("b.tif", after: .seconds(30)))")
            return
        }
    }

    @Test("A TIFF with zeros in a strip compressed by LZW is incomplete", arguments: Zeros.allCases)
    func compressedTIFF(zeros: Zeros) throws {
        try drop("a.tif", makeTIFF(compression: 5, someBytes(100_000)), 20_480..<61_440, zeros)
        guard case .incomplete = try proof("a.tif", after: .seconds(100_000)) else {
            Issue.record("\(try proof("a.tif", after: .seconds(100_000)))")
            return
        }
    }

    private enum Tables { case standard, even }

    /// A JPEG of 100,000 bytes, with tables in which zero bits mean either an unchanged block or noise.
    private func wholeJPEG(tables: Tables) -> [UInt8] {
        let symbols: (dc: UInt8, ac: UInt8) = tables == .even ? (0, 0) : (0, 1)
        func table(_ kind: UInt8, _ symbol: UInt8) -> [UInt8] {
            [0xFF, 0xC4, 0, 21, kind, 2] + [UInt8](repeating: 0, count: 15) + [symbol, symbol + 5]
        }
        let head: [UInt8] =
            [0xFF, 0xD8] + table(0, symbols.dc) + table(0x10, symbols.ac)
            + [0xFF, 0xC0, 0, 11, 8, 0, 16, 0, 16, 1, 1, 0x11, 0]
            + [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0]
        return head + someBytes(100_000).map { $0 == 0xFF ? 0xFE : $0 } + [0xFF, 0xD9]
    }

    private func makePNG(_ pixels: [UInt8]) -> [UInt8] {
        func chunk(_ type: String, _ body: [UInt8]) -> [UInt8] {
            let content = Array(type.utf8) + body
            var check: UInt32 = 0xFFFF_FFFF
            for byte in content {
                check ^= UInt32(byte)
                for _ in 0..<8 { check = check & 1 == 1 ? check >> 1 ^ 0xEDB8_8320 : check >> 1 }
            }
            return big(UInt32(body.count)) + content + big(~check)
        }
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            + chunk("IHDR", [0, 0, 0, 16, 0, 0, 0, 16, 8, 2, 0, 0, 0])
            + chunk("IDAT", pixels) + chunk("IEND", [])
    }

    private func makeTIFF(compression: UInt16, _ strip: [UInt8]) -> [UInt8] {
        let entries: [(UInt16, UInt32)] = [
            (0x100, 16), (0x101, 16), (0x103, UInt32(compression)), (0x111, 74), (0x117, UInt32(strip.count)),
        ]
        let fields = entries.flatMap { tag, value -> [UInt8] in
            [UInt8(truncatingIfNeeded: tag), UInt8(tag >> 8), 4, 0, 1, 0, 0, 0] + big(value).reversed()
        }
        return [0x49, 0x49, 0x2A, 0, 8, 0, 0, 0, 5, 0] + fields + [0, 0, 0, 0] + strip
    }

    private func big(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } }
}
