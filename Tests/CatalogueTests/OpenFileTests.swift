import Catalogue
import FileValues
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("An open catalogue whose file is removed or replaced")
struct OpenFileTests {
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
        "A catalogue whose file is lost refuses records until it is restored, with all earlier ones",
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
        // A file of another program is kept.
        #expect((aside != nil) == (how != .removed))
        if how == .replaced {
            #expect(try Data(contentsOf: URL(filePath: try #require(aside))) == Data("somebody's".utf8))
        }
        var status = stat()
        #expect(stat(place.path, &status) == 0 && status.st_mode & 0o777 == 0o640)
    }

    @Test("A complete copy that a crash left unnamed becomes the catalogue")
    func crashed() throws {
        let place = try Place()
        let catalogue = try place.open()
        try catalogue.file(1)
        try catalogue.closeWhole()
        #expect(rename(place.path, "\(place.path).restored") == 0)
        let again = try CatalogueFile.openForWriting(place.path, now: noon, isLost: true)
        #expect(try again.totals().photos == 1)
        #expect(try !again.isRebuilding())
        // Where there is one, a copy that was left is older, and is not used later.
        again.close()
        #expect(link(place.path, "\(place.path).restored") == 0)
        _ = try CatalogueFile.openForWriting(place.path, now: noon, isLost: true)
        #expect(access("\(place.path).restored", F_OK) != 0)
    }

    @Test(
        "A complete copy that a crash left beside a damaged catalogue is used instead of it", arguments: [true, false])
    func damagedBesideCopy(isComplete: Bool) throws {
        let place = try Place()
        let copy = try CatalogueFile.openForWriting("\(place.path).restored", now: noon, isLost: !isComplete)
        try copy.file(1)
        try copy.closeWhole()
        try Data(repeating: 7, count: 10_000).write(to: URL(filePath: place.path))
        let again = try CatalogueFile.openForWriting(place.path, now: noon, isLost: true)
        let aside = try #require(again.setAside?.path)
        #expect(try Data(contentsOf: URL(filePath: aside)).count == 10_000)
        // One that was only begun knows nothing, and another name of what it is made anew from.
        #expect(try again.totals().photos == (isComplete ? 1 : 0))
        #expect(try again.isRebuilding() == !isComplete)
        #expect(try again.setAsidePath() == (isComplete ? nil : aside))
    }

    @Test("A missing catalogue is rebuilt only if there was one before", arguments: [false, true])
    func missing(wasThere: Bool) throws {
        let place = try Place()
        let catalogue = try CatalogueFile.openForWriting(place.path, now: noon, isLost: wasThere)
        #expect(try catalogue.isRebuilding() == wasThere)
    }
}
