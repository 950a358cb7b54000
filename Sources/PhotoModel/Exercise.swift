import FileValues
import PhotoFormats

/// Runs every parser of formats and every decision on any `bytes`: the entry point for fuzzers and mutation tests. Always
/// terminates; traps only if an invariant is broken.
package func exerciseReader(_ bytes: [UInt8]) {
    var source = MemoryByteSource(bytes)
    let name = BytePath(bytes.prefix(300))
    guard let report = try? PhotoReader.read(&source, name: name) else {
        preconditionFailure("reading from memory cannot fail")
    }
    let pixels = (try? PhotoReader.pixelRanges(of: &source, name: name)) ?? []
    precondition(pixels.allSatisfy { $0.bytes.upperBound <= source.size && !$0.bytes.isEmpty })
    if let checked = pixels.first(where: { $0.rule == .checked }) {
        _ = try? PhotoReader.isSound(checked, of: &source)
    }
    _ = MetadataDecision(report.metadata, iptcIsNewer: report.iptcIsNewer)
    exerciseMetadata(bytes)
    let decision = CaptureDateDecision(
        recorded: report.dates, name: name, modified: FileTime(seconds: Int64(bytes.count) - 500, nanoseconds: 0),
        now: FileTime(seconds: 4_000_000_000, nanoseconds: 0), zone: { _ in 3_600 })
    let place = LibraryLayout.standard.path(
        for: name, date: decision.chosen?.local.date, camera: report.cameraModel, candidate: UInt64(bytes.count))
    precondition(place.isSafeBeneath && place.components.allSatisfy { $0.bytes.count <= SafeName.longest })
    _ = NameRules.decide(name)
    _ = try? LibraryLayout(template: String(decoding: bytes.prefix(300), as: UTF8.self))
    _ = decision.words
}

/// The same for the readers of blocks of metadata alone.
package func exerciseMetadata(_ bytes: [UInt8]) {
    let report = exerciseBlocks(bytes)
    let decision = MetadataDecision(report.metadata, iptcIsNewer: report.iptcIsNewer)
    precondition(decision.chosen.keywords.count <= 1_000 && decision.chosen.people.count <= 1_000)
    for kind in SidecarKind.allCases { _ = SidecarMetadata(bytes, kind: kind) }
}
