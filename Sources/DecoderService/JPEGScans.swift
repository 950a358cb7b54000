import Glibc
import LinuxKernel

/// Counts the scans of a progressive JPEG: each costs as much as a whole baseline picture, so
/// a small file of many scans could keep a decoder busy for hours.
enum JPEGScans {
    /// The number of scans, at most `most`; 1 for other JPEGs, 0 for other files.
    static func count(in descriptor: Int32, upTo most: UInt32) throws(SystemCallError) -> UInt32 {
        var bytes = Bytes(descriptor: descriptor)
        guard try bytes.next() == 0xFF, try bytes.next() == 0xD8 else { return 0 }
        var scans: UInt32 = 0
        while scans < most, let marker = try bytes.nextMarker() {
            switch marker {
            case 0xD9: return scans
            case 0xDA:
                scans += 1
                try bytes.skipSegment()
            // Baseline and extended sequential frames have at most one scan per component.
            case 0xC0, 0xC1: return 1
            case 0x01, 0xD0...0xD8: break
            default: try bytes.skipSegment()
            }
        }
        return scans
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

        mutating func skipSegment() throws(SystemCallError) {
            guard let high = try next(), let low = try next() else { return }
            var left = max(0, Int(high) << 8 + Int(low) - 2)
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
