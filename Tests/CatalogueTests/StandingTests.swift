import Catalogue
import FileValues
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("The file that is open must be the one at its path")
struct StandingTests {
    /// What somebody does to the open file.
    enum Loss: String, CaseIterable {
        case removed, replaced, logRemoved
    }

    private func lose(_ how: Loss, _ path: String) throws {
        switch how {
        case .removed: for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
        case .replaced:
            unlink(path)
            try Data("somebody's".utf8).write(to: URL(filePath: path))
        case .logRemoved: unlink(path + "-wal")
        }
    }

    @Test(
        "What was recorded is refused while it would be lost, then is written to the path again",
        arguments: Loss.allCases)
    func lost(how: Loss) throws {
        let place = try Place()
        let catalogue = try place.open()
        try catalogue.file(1)
        #expect(catalogue.loss() == nil)
        try lose(how, place.path)
        #expect(catalogue.loss()?.code == .replaced)
        #expect(try failure { try catalogue.file(2) }.code == .replaced)
        let aside = try catalogue.restore(at: noon)
        #expect(catalogue.loss() == nil)
        try catalogue.file(3)
        catalogue.close()
        let again = try place.open()
        #expect(again.setAside == nil)
        #expect(try again.totals().photos == 2)
        // Nothing of somebody else's is lost.
        #expect((aside != nil) == (how != .removed))
        if how == .replaced {
            #expect(try Data(contentsOf: URL(filePath: try #require(aside))) == Data("somebody's".utf8))
        }
        var status = stat()
        #expect(stat(place.path, &status) == 0 && status.st_mode & 0o777 == 0o640)
    }

    @Test("A copy that a crash left whole, but not named, is the catalogue")
    func crashed() throws {
        let place = try Place()
        let catalogue = try place.open()
        try catalogue.file(1)
        try catalogue.closeWhole()
        #expect(rename(place.path, "\(place.path).restored") == 0)
        let again = try CatalogueFile.openForWriting(place.path, now: noon, isLost: true)
        #expect(try again.totals().photos == 1)
        #expect(try !again.isRebuilding())
    }

    @Test("A missing one is made whole from the library if there was one, and not otherwise", arguments: [false, true])
    func missing(wasThere: Bool) throws {
        let place = try Place()
        let catalogue = try CatalogueFile.openForWriting(place.path, now: noon, isLost: wasThere)
        #expect(try catalogue.isRebuilding() == wasThere)
    }
}
