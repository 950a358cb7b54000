extension SourceReader where Source: ~Copyable {
    /// Reads Fujifilm's RAF: a big-endian header with the places and lengths of a JPEG, which has the EXIF, of the tags
    /// and of the sensor data.
    mutating func readRAF(into report: inout PhotoReport) throws(WalkStop) -> Completeness {
        var farthest: UInt64 = 108
        var what = "header"
        for (place, name) in [(84, "preview"), (92, "tags"), (100, "sensor data")] as [(UInt64, String)] {
            guard let offset = try unsigned(at: place, width: 4), let length = try unsigned(at: place + 4, width: 4)
            else { return .cutShort(reason: "RAF is cut short in its header: \(byteCount(size))") }
            if name == "sensor data", length == 0 {
                return .cutShort(reason: "RAF has no sensor data yet")
            }
            if offset + length > farthest { (farthest, what) = (offset + length, name) }
            if name == "preview", length > 0, offset + length <= size {
                // A damaged preview does not make the file damaged; its fields are the photo's.
                var walk = JPEGWalk()
                do { try walkJPEG(from: offset, &walk, fields: &report) } catch {
                    if case .failed = error { throw error }
                }
            } else if name == "tags" {
                try readRAFSize(at: offset, length: length, into: &report)
            }
        }
        guard farthest <= size else {
            return .cutShort(
                reason: "RAF is cut short: its \(what) ends at byte \(grouped(farthest)), the file at \(grouped(size))")
        }
        if farthest < size / 2 {
            return .lacking(
                reason:
                    "RAF has no end marker, and its \(what) ends at byte \(grouped(farthest)) of \(grouped(size)), far "
                    + "before its end")
        }
        return .weak(reason: "RAF has no end marker; its \(what) ends at byte \(grouped(farthest)) of \(grouped(size))")
    }

    /// Reads the picture's size from the tags: number, length, then height and width of two bytes each.
    private mutating func readRAFSize(
        at place: UInt64, length: UInt64, into report: inout PhotoReport
    ) throws(WalkStop) {
        guard let count = try unsigned(at: place, width: 4) else { return }
        var position = place + 4
        for _ in 0..<min(count, 256) where position + 4 <= place + length {
            guard let tag = try unsigned(at: position, width: 2), let size = try unsigned(at: position + 2, width: 2)
            else { return }
            if tag == 0x0111 || (tag == 0x0100 && report.width == nil), size == 4 {
                report.height = try unsigned(at: position + 4, width: 2).map { UInt32($0) }
                report.width = try unsigned(at: position + 6, width: 2).map { UInt32($0) }
            }
            position += 4 + size
        }
    }
}
