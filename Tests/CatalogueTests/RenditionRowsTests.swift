import Catalogue
import FileValues
import Testing

@Suite("Rows of renditions", .withEachEngine)
struct RenditionRowsTests {
    private let catalogue: CatalogueFile
    private let place: Place

    init() throws {
        place = try Place()
        catalogue = try place.open()
    }

    private func hash(_ id: Int64, _ likeness: UInt64) -> RenditionRecord {
        RenditionRecord(photoID: id, kind: "hash", at: noon, likeness: likeness)
    }

    @Test func renditionIsReadAsItWasRecorded() throws {
        let one = try catalogue.file(1).photo
        let failed = RenditionRecord(photoID: one, kind: "googly", at: noon, reason: "no face")
        try catalogue.record([hash(one, .max), failed])
        #expect(Set(try catalogue.renditions(ofPhoto: one)) == [hash(one, .max), failed])
        try catalogue.record([hash(one, 1 << 63)])
        #expect(try catalogue.likenesses() == [PhotoLikeness(photoID: one, likeness: 1 << 63)])
        #expect(try catalogue.renditions(ofPhoto: one).count == 2)
        let again = try place.openForReading()
        #expect(try again.likenesses(inbox: "card").count == 1)
        #expect(try again.likenesses(inbox: "phones").isEmpty)
    }

    @Test func photosThatAreMissingOrSupersededAreSkipped() throws {
        let one = try catalogue.file(1).photo
        try catalogue.record([hash(one + 1_000, 5), hash(one, 7)])
        #expect(try catalogue.renditions(ofPhoto: one + 1_000).isEmpty)
        #expect(try catalogue.likenesses() == [PhotoLikeness(photoID: one, likeness: 7)])
        // Another copy supersedes it.
        let two = try catalogue.file(1, supersedes: one).photo
        #expect(try catalogue.likenesses().isEmpty)
        try catalogue.record([hash(two, 9)])
        #expect(try catalogue.likenesses() == [PhotoLikeness(photoID: two, likeness: 9)])
    }
}
