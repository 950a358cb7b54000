import Filing
import PhotoFormats
package import PhotoModel

/// What a worker is given at a time: one arrival that waited for its turn, or a set that is ready.
package struct Assignment: Sendable {
    package let arrivals: [Arrival]
    /// Whether they have waited for each other; one that has not may have to.
    package let isGathered: Bool
    /// Others are in hand that seem to be of the same set.
    package let hasCompany: Bool
    /// What is to be expected with such a file although it is not in sight.
    package let expected: SetRoles

    init(_ arrival: Arrival, hasCompany: Bool, expected: SetRoles) {
        arrivals = [arrival]
        isGathered = false
        self.hasCompany = hasCompany
        self.expected = expected
    }

    init(set arrivals: [Arrival]) {
        self.arrivals = arrivals
        isGathered = true
        hasCompany = false
        expected = []
    }
}

/// A file that is proven, open, and on its way into the library.
struct ReadyMember: Sendable {
    let arrival: Arrival
    let source: SourceFile
    let report: PhotoReport
    let date: CaptureDateDecision
    let proof: String
    let quiet: QuietCheck
    /// Of its bytes, where proving it has read them.
    let hash: ContentHash?
    let name: SetName
    let role: SetRole

    init(
        _ arrival: Arrival, _ source: SourceFile, _ report: PhotoReport, _ sidecar: SidecarKind?,
        date: CaptureDateDecision, proof: String, quiet: QuietCheck, hash: ContentHash?
    ) {
        self.arrival = arrival
        self.source = source
        self.report = report
        self.date = date
        self.proof = proof
        self.quiet = quiet
        self.hash = hash
        name = SetName(arrival.key.path)
        role = sidecar.map { .sidecar($0) } ?? report.format.map { SetRole($0) } ?? name.role ?? .picture
    }

    var key: ArrivalKey { arrival.key }

    var traits: SetTraits {
        SetTraits(
            role: role, keys: name.keys, contentIdentifier: report.contentIdentifier,
            comesInPairs: report.format?.comesInPairs ?? true)
    }
}
