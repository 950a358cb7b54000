/// Runs the readers of blocks of metadata on any `bytes`, as parts of one photo: for fuzzers and mutation tests.
package func exerciseBlocks(_ bytes: [UInt8]) -> PhotoReport {
    var report = PhotoReport(format: nil, completeness: .empty)
    var xmp = XMPProperties()
    xmp.add(bytes)
    report.record(xmp)
    report.record(bytes, digest: nil)
    report.record(ImageResources(bytes))
    let reader = SourceReader<MemoryByteSource>(MemoryByteSource(bytes))
    reader.readExif(in: bytes, into: &report)
    let limit = 100_000
    precondition(inflated(bytes, limit: limit).map { $0.count <= limit } ?? true)
    return report
}
