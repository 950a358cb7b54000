import FileValues
import Testing

@testable import Catalogue
@testable import Ingest
@testable import PhotoFormats
@testable import PhotoModel

@Suite("FilingDecision: with whom proven files are filed, and beside what")
struct FilingDecisionTests {
    private static let now: Int64 = 1_800_000_000
    private static let start = FileTime(seconds: 0, nanoseconds: 0)

    private func date(_ text: String?, _ provenance: DateProvenance) throws -> CaptureDate? {
        guard let text else { return nil }
        return CaptureDate(
            local: try DateText.parse(Array(text.utf8)).local, offset: nil, hasTime: true, provenance: provenance)
    }

    private func candidate(
        _ name: String, at time: String? = nil, by provenance: DateProvenance = .exifOriginal, content: String? = nil
    ) throws -> FilingDecision.Candidate {
        let parsed = SetName(BytePath(name))
        let format = PhotoFormat.formats(withExtension: BytePath(name).lowercasedExtension).first
        return FilingDecision.Candidate(
            traits: SetTraits(role: parsed.role ?? .picture, keys: parsed.keys, contentIdentifier: content),
            date: try date(time, provenance), format: parsed.role?.isSidecar == true ? nil : format)
    }

    private func filed(
        _ name: String, _ role: String, format: String, at time: String? = nil, secondsAgo: Int64 = 100,
        content: String? = nil
    ) -> StoredPhoto {
        StoredPhoto(
            id: 1, setID: nil, filedAt: FileTime(seconds: Self.now - secondsAgo, nanoseconds: 0), sourceKept: false,
            supersededAt: nil,
            photo: PhotoRecord(
                sha256: [], size: 1, library: "/library", libraryPath: BytePath(name), inbox: "card",
                sourcePath: BytePath(name), originalName: BytePath(name), format: format,
                captured: time.map {
                    RecordedCaptureDate(local: $0, provenance: DateProvenance.exifOriginal.rawValue)
                }, proof: "",
                sourceIdentity: FileIdentity(inode: 1, size: 1, modified: Self.start, changed: Self.start),
                part: SetPart(role: role, contentIdentifier: content)))
    }

    @Test func photosOfOneMomentAreOneShotAndThePictureComesFirst() throws {
        let decision = FilingDecision(
            [
                try candidate("IMG_1.CR2", at: "2026-11-21T14:07:31"), try candidate("IMG_1.xmp"),
                try candidate("IMG_1.JPG", at: "2026-11-21T14:07:31"),
            ], set: [], now: Self.now)
        #expect(decision.shots == [FilingDecision.Shot(members: [2, 0, 1], joins: false)])
        #expect(decision.left == [])
    }

    @Test(
        "The most reliable date of a set decides, whichever of its photos has it",
        arguments: [
            (DateProvenance.fileModified, DateProvenance.exifModified, 1), (.exifModified, .fileModified, 0),
            (.exifModified, .exifModified, 0), (.fileName, .exifOriginal, 1), (.fileModified, .fileModified, 0),
        ])
    func reliability(picture: DateProvenance, raw: DateProvenance, first: Int) throws {
        let decision = FilingDecision(
            [
                try candidate("DSC_1.JPG", at: "2026-11-29T10:00:00", by: picture),
                try candidate("DSC_1.NEF", at: "2024-01-31T12:34:56", by: raw),
            ], set: [], now: Self.now)
        #expect(decision.shots == [FilingDecision.Shot(members: [first, 1 - first], joins: false)])
    }

    @Test func aPhotoWithoutADateFollowsOneWithOne() throws {
        let decision = FilingDecision(
            [try candidate("DSC_1.JPG"), try candidate("DSC_1.NEF", at: "2024-01-31T12:34:56", by: .fileModified)],
            set: [], now: Self.now)
        #expect(decision.shots == [FilingDecision.Shot(members: [1, 0], joins: false)])
    }

    @Test func photosOfTwoMomentsAreTwoShotsAndSidecarsGoWithTheFirst() throws {
        let decision = FilingDecision(
            [
                try candidate("IMG_1.JPG", at: "2026-11-21T14:07:31"),
                try candidate("IMG_1.CR2", at: "2026-11-22T09:00:00"),
                try candidate("IMG_1.CR2.xmp"), try candidate("IMG_1.JPG.xmp"),
            ], set: [], now: Self.now)
        #expect(decision.shots.map { Set($0.members) } == [[0, 2, 3], [1]])
    }

    @Test func sidecarsAloneStayUnlessTheirPhotoIsFiled() throws {
        let sidecars = [try candidate("IMG_1.xmp")]
        let alone = FilingDecision(sidecars, set: [], now: Self.now)
        #expect(alone.left == [0] && alone.shots.isEmpty)
        let late = FilingDecision(
            sidecars, set: [filed("IMG_1.JPG", "picture", format: "jpeg")], now: Self.now)
        #expect(late.left.isEmpty && late.shots == [FilingDecision.Shot(members: [0], joins: true)])
    }

    @Test(
        arguments: [
            ("2026-11-21T14:07:31", "2026-11-21T14:07:31", 100_000, true),
            ("2026-11-21T14:07:31", "2026-11-22T09:00:00", 100, false),
            (nil, "2026-11-22T09:00:00", 100, true),
            (nil, "2026-11-22T09:00:00", 4_000, false),
        ] as [(String?, String, Int64, Bool)])
    func aLatePhotoJoinsByItsTimeOrSoonAfterTheFiling(
        time: String?, filedTime: String, secondsAgo: Int64, joins: Bool
    ) throws {
        let set = [filed("IMG_1.CR2", "raw", format: "cr2", at: filedTime, secondsAgo: secondsAgo)]
        let decision = FilingDecision([try candidate("IMG_1.JPG", at: time)], set: set, now: Self.now)
        #expect(decision.shots == [FilingDecision.Shot(members: [0], joins: joins)])
    }

    @Test func aSecondPhotoOfOneRoleAndFormatDoesNotJoin() throws {
        let set = [filed("IMG_1.JPG", "picture", format: "jpeg", at: "2026-11-21T14:07:31")]
        let decision = FilingDecision(
            [try candidate("IMG_1.JPG", at: "2026-11-21T14:07:31")], set: set, now: Self.now)
        #expect(decision.shots.map(\.joins) == [false])
    }

    @Test(arguments: [("A", true), ("B", false)]) func contentIdentifiersDecide(content: String, joins: Bool) throws {
        let set = [filed("IMG_1.HEIC", "picture", format: "heic", secondsAgo: 1_000_000, content: "A")]
        let decision = FilingDecision([try candidate("IMG_1.MOV", content: content)], set: set, now: Self.now)
        #expect(decision.shots.map(\.joins) == [joins])
    }
}
