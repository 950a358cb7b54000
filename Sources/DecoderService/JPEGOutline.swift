import Glibc
import LinuxKernel

/// What the markers of a JPEG say before anything is decoded.
struct JPEGOutline {
    /// The number of scans of a progressive JPEG, at most as many as are asked for; 1 for other JPEGs, 0 for other files.
    /// Each costs as much as a whole baseline picture, so a small file of many could keep a decoder busy for hours.
    private(set) var scans: UInt32 = 0
    /// Whether it is lossless, or has more than 8 bits a sample: libjpeg-turbo 2.1 reads neither.
    private(set) var needsLibav = false
    private(set) var width: UInt32 = 0
    private(set) var height: UInt32 = 0
    private(set) var components: UInt8 = 0

    init(of descriptor: Int32, scansUpTo most: UInt32) throws(SystemCallError) {
        var bytes = Bytes(descriptor: descriptor)
        guard try bytes.next() == 0xFF, try bytes.next() == 0xD8 else { return }
        while scans < most, let marker = try bytes.nextMarker() {
            switch marker {
            case 0xD9: return
            case 0xDA:
                scans += 1
                try bytes.skip(try bytes.number() - 2)
            // Baseline, extended sequential, progressive and lossless frames.
            case 0xC0...0xC3:
                let length = try bytes.number()
                needsLibav = try bytes.next() ?? 8 > 8 || marker == 0xC3
                (height, width) = (UInt32(try bytes.number()), UInt32(try bytes.number()))
                components = try bytes.next() ?? 0
                // All others have at most one scan per component.
                if marker != 0xC2 {
                    scans = 1
                    return
                }
                try bytes.skip(length - 8)
            case 0x01, 0xD0...0xD8: break
            default: try bytes.skip(try bytes.number() - 2)
            }
        }
    }

    /// A file from its start, read in blocks.
    private struct Bytes {
        let descriptor: Int32
        private var block: [UInt8] = []
        private var position = 0
        private var offset: off_t = 0

        init(descriptor: Int32) { self.descriptor = descriptor }

        mutating func next() throws(SystemCallError) -> UInt8? {
            if position == block.count, try !fill() { return nil }
            defer { position += 1 }
            return block[position]
        }

        /// Skips coded data and padding to the next marker.
        mutating func nextMarker() throws(SystemCallError) -> UInt8? {
            while let byte = try next() {
                guard byte == 0xFF else { continue }
                var marker = try next()
                while marker == 0xFF { marker = try next() }
                guard let marker else { return nil }
                if marker != 0 { return marker }
            }
            return nil
        }

        /// A number of two bytes; 0 at the end.
        mutating func number() throws(SystemCallError) -> Int {
            guard let high = try next(), let low = try next() else { return 0 }
            return Int(high) << 8 + Int(low)
        }

        mutating func skip(_ count: Int) throws(SystemCallError) {
            var left = count
            while left > 0 {
                if position == block.count, try !fill() { return }
                let step = min(left, block.count - position)
                position += step
                left -= step
            }
        }

        private mutating func fill() throws(SystemCallError) -> Bool {
            var fresh = [UInt8](repeating: 0, count: 65_536)
            let (from, at) = (descriptor, offset)
            let count = try systemCall("pread") { pread(from, &fresh, fresh.count, at) }
            offset += off_t(count)
            fresh.removeSubrange(count...)
            block = fresh
            position = 0
            return count > 0
        }
    }
}
