import TestSupport
import Testing

@testable import PhotoFormats
@testable import PhotoModel

@Suite("The search for JPEG markers")
struct MarkerSearchTests {
    private func plainSearch(_ bytes: [UInt8], from start: Int) -> Int? {
        guard start < bytes.count - 1 else { return nil }
        return (start..<(bytes.count - 1)).first { index in
            let next = bytes[index + 1]
            return bytes[index] == 0xFF && next != 0 && next != 0xFF && !(0xD0...0xD7).contains(next)
        }
    }

    @Test("The search agrees with one byte by byte, from every start")
    func agrees() {
        for seed in 0..<UInt64(400) {
            var generator = SeededGenerator(seed: seed)
            // Few values, so that stuffed bytes, fill, restarts and markers are all frequent; more 0x55 as seeds grow.
            let values: [UInt8] =
                [0xFF, 0, 0xD0, 0xD7, 0xD8, 0xD9, 1, 0xFE] + Array(repeating: 0x55, count: Int(seed / 2))
            let bytes = (0..<Int.random(in: 0...300, using: &generator)).map { _ in
                values.randomElement(using: &generator) ?? 0
            }
            for start in stride(from: 0, through: bytes.count, by: 7) {
                #expect(
                    firstMarker(in: bytes, from: start) == plainSearch(bytes, from: start), "seed \(seed), \(start)")
            }
        }
    }

    @Test("A marker is found at every place of a long run")
    func everyPlace() {
        for place in 0..<200 {
            var bytes = [UInt8](repeating: 0x20, count: 202)
            bytes[place] = 0xFF
            bytes[place + 1] = 0xD9
            #expect(firstMarker(in: bytes, from: 0) == place)
            bytes[place + 1] = 0
            #expect(firstMarker(in: bytes, from: 0) == nil)
        }
    }

    @Test("The last byte is never returned")
    func lastByte() {
        #expect(firstMarker(in: [0x20, 0xFF], from: 0) == nil)
        #expect(firstMarker(in: [], from: 0) == nil)
        #expect(firstMarker(in: [0xFF, 0xD9], from: 5) == nil)
    }

    @Test("The CRC-32 of PNG")
    func checksumOfPNG() {
        var check = CRC32()
        check.update(Array("IE".utf8))
        check.update(Array("ND".utf8))
        #expect(check.value == 0xAE42_6082)
    }
}
