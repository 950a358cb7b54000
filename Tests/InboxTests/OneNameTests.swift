import FileValues
import Foundation
import TestSupport
import Testing

@testable import Ingest

@Suite("More than a thousand photos of one name a day")
struct OneNameTests {
    private static let day = "2024/01/2024-01-31"

    @Test("A photo and a duplicate get numbers beyond a thousand")
    func manyOfOneName() async throws {
        let scratch = try ScratchDirectory(below: ScratchDirectory.quiet)
        let house = try WorkerHouse(scratch.path)
        for place in ["library/\(Self.day)", "duplicates/card"] {
            let directory = "\(scratch.path)/\(place)"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            for number in 1...1_100 {
                let name = number == 1 ? "snapshot.jpg" : "snapshot-\(number).jpg"
                try Data("\(number)".utf8).write(to: URL(filePath: "\(directory)/\(name)"))
            }
        }
        for (outcome, path) in [(Outcome.filed, "library/\(Self.day)"), (.duplicate, "duplicates/card")] {
            try house.drop(["snapshot.jpg": "exif.jpg"])
            let conclusions = await house.file(["snapshot.jpg"])
            #expect(conclusions.map(\.verdict) == [.ended(outcome)], "\(conclusions)")
            let name = try #require(conclusions.first?.record?.destination?.name)
            #expect(name == "snapshot-1101.jpg")
            #expect(house.files(path)["\(name)"] == (try WorkerHouse.content("exif.jpg")))
        }
        #expect(house.files("inbox").isEmpty)
        withExtendedLifetime(scratch) {}
    }
}
