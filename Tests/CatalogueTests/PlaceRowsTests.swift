import Catalogue
import FileValues
import TestSupport
import Testing

@Suite("Rows of places", .withEachEngine)
struct PlaceRowsTests {
    private let library = KnownLibrary(path: "/srv/library", fileSystemType: 0xEF53, fileSystem: .max, inode: 2)
    private let quarantine = KnownLibrary(path: "/srv/q", fileSystemType: 0x0102_1994, fileSystem: 0, inode: 1)

    @Test("A rebuilt catalogue gets the old one's places, and keeps its own", .tags(.file))
    func copied() throws {
        let (old, new) = (try Place(), try Place())
        let before = try old.open()
        for place in [library, quarantine] { try before.remember(place, at: noon) }
        before.close()
        let catalogue = try new.open()
        let own = KnownLibrary(path: library.path, fileSystemType: 1, fileSystem: 3, inode: 4)
        try catalogue.remember(own, at: noon)
        _ = try catalogue.copyDescriptions(from: BytePath(old.path))
        #expect(try catalogue.library(at: library.path) == own)
        #expect(try catalogue.library(at: quarantine.path) == quarantine)
        #expect(Set(try catalogue.knownPlaces()) == [library.path, quarantine.path])
        catalogue.close()
    }
}
