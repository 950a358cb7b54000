import Catalogue
import FileValues
import Foundation
import Glibc
import PhotoModel
import TestSupport
import Testing

extension EndToEnd {
    @Suite("What photos say of themselves is found")
    struct Metadata {
        static let exiftool = "/usr/bin/exiftool"
        static let hasExiftool = access(exiftool, X_OK) == 0

        /// A photo with metadata that exiftool has written.
        static func photo(_ number: Int, in house: House, _ arguments: [String]) throws -> Data {
            let path = "\(house.outside)/\(UUID()).jpg"
            try write(try Photos.unique(number), to: path)
            try runProgram([exiftool, "-q", "-overwrite_original"] + arguments + [path])
            return try Data(contentsOf: URL(filePath: path))
        }

        /// Polls, since metadata is read shortly after a photo is filed.
        private func search(_ house: House, _ words: String..., expecting names: [String]) async throws {
            try await poll(
                { try await house.ask(["search"] + words) },
                until: { found in
                    found.status == (names.isEmpty ? 4 : 0)
                        && found.lines.count { $0.contains(".jpg") } == names.count
                        && names.allSatisfy { found.text.contains($0) }
                })
        }

        @Test(
            "By words, people, places and stars, of the photo and of a sidecar that comes later, also after a rebuild",
            .enabled(if: hasExiftool, "skipped: needs exiftool"))
        func found() async throws {
            let house = try House()
            var daemon = try await house.start(configuration: House.oneCard)
            let harbour = try Self.photo(
                1, in: house,
                [
                    "-XMP-dc:Title=Möwen am Hafen", "-IPTC:ObjectName=Other title", "-XMP-dc:Subject=gull",
                    "-XMP-xmp:Rating=4", "-XMP-mwg-rs:RegionInfo={RegionList=[{Name=Ada Lovelace,Type=Face}]}",
                    "-EXIF:GPSLatitude=54.3233", "-EXIF:GPSLatitudeRef=N", "-EXIF:GPSLongitude=10.1228",
                    "-EXIF:GPSLongitudeRef=E", "-ExifIFD:LensModel=EF24-70mm f/2.8L",
                ])
            try house.drop(harbour, as: "harbour.jpg")
            try await daemon.line(holding: "filed card/harbour.jpg")
            try house.drop(try Photos.unique(2), as: "plain.jpg")
            try await daemon.line(holding: "filed card/plain.jpg")
            try await search(house, "mow", "haf", expecting: ["harbour.jpg"])
            try await search(house, "--near", "54.32,10.12,1km", expecting: ["harbour.jpg"])
            try await search(house, "--near", "54.32,10.12,100m", expecting: [])
            try await search(house, "--bbox", "10,54,11,55", "--lens", "24-70", expecting: ["harbour.jpg"])
            try await search(house, "--person", "lovelace", "--rating", "4", expecting: ["harbour.jpg"])
            try await search(house, "--keyword", "gull", "--rating", "5", expecting: [])

            let shown = try await house.ask("show", "\(house.library)/\(Photos.day)/harbour.jpg")
            #expect(shown.text.contains("54.32330, 10.12280") && shown.text.contains("Ada Lovelace"), "\(shown.text)")
            #expect(shown.text.contains("title: XMP was chosen over IPTC"), "\(shown.text)")
            let explained = try await house.ask("explain", "\(house.library)/\(Photos.day)/harbour.jpg")
            #expect(explained.text.contains("title: XMP was chosen over IPTC"), "\(explained.text)")
            let table = try await house.ask("export-csv")
            #expect(table.text.contains("54.3233000,10.1228000,EF24-70mm f/2.8L"), "\(table.text)")

            // A sidecar that comes later, as from a raw converter.
            try house.drop(
                Data(
                    """
                    <x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>
                    <rdf:Description xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:subject><rdf:Bag>
                    <rdf:li>lighthouse</rdf:li></rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta>
                    """.utf8), as: "plain.jpg.xmp")
            try await daemon.line(holding: "filed card/plain.jpg.xmp")
            try await search(house, "lightho", expecting: ["plain.jpg"])
            try await daemon.stop()

            let rebuilt = try await house.ask("rebuild", "--library", house.library, "--yes")
            #expect(rebuilt.status == 0, "\(rebuilt.text)")
            try await search(house, "mow", "haf", expecting: ["harbour.jpg"])
            try await search(house, "lightho", expecting: ["plain.jpg"])
            daemon = try await house.start(configuration: House.oneCard)
            try await search(house, "--person", "ada", expecting: ["harbour.jpg"])
            try await daemon.stop()
        }

        @Test(
            "Positions get names when a table of place names comes, also after a rebuild; a broken one costs a warning",
            .enabled(if: hasExiftool, "skipped: needs exiftool"))
        func placeNames() async throws {
            let data = try ScratchDirectory()
            let environment = ["/usr/bin/env", "XDG_DATA_HOME=\(data.path)"]
            let house = try House(running: environment)
            let table = data.appending("photoinbox/place-names.sqlite")
            try makeDirectory(data.appending("photoinbox"))
            var daemon = try await house.start(configuration: House.oneCard)
            func position(_ latitude: String, _ longitude: String) -> [String] {
                [
                    "-EXIF:GPSLatitude=\(latitude)", "-EXIF:GPSLatitudeRef=N", "-EXIF:GPSLongitude=\(longitude)",
                    "-EXIF:GPSLongitudeRef=E",
                ]
            }
            try house.drop(try Self.photo(1, in: house, position("52.5137", "13.3926")), as: "berlin.jpg")
            let own = ["-XMP-iptcExt:LocationCreatedCity=Kehl am Rhein"]
            try house.drop(try Self.photo(2, in: house, position("48.5819", "7.751") + own), as: "rhine.jpg")
            try await daemon.lines(holding: ["filed card/berlin.jpg", "filed card/rhine.jpg"])
            try await search(house, "kehl", expecting: ["rhine.jpg"])

            try PlaceTable.make(at: table)
            #expect(try await house.ask("reload").status == 0)
            let berlin = "Mitte, Berlin, State of Berlin, Germany"
            try await search(house, "mitte", "GERM", expecting: ["berlin.jpg"])
            try await search(house, "--place", "berlin", expecting: ["berlin.jpg"])
            try await search(house, "kehl", "france", expecting: ["rhine.jpg"])
            try await search(house, "strasbourg", expecting: [])
            let account = "(1.1 km from the position, by GeoNames)"
            for command in ["show", "explain"] {
                let answer = try await house.ask(command, "\(house.library)/\(Photos.day)/berlin.jpg")
                #expect(answer.text.contains("near") && answer.text.contains("\(berlin) \(account)"), "\(answer.text)")
            }
            let shown = try await house.ask("show", "\(house.library)/\(Photos.day)/rhine.jpg")
            #expect(shown.text.contains("Kehl am Rhein\n") && shown.text.contains("Strasbourg, Grand Est, France ("))
            let json = try await house.ask("export-json")
            #expect(
                json.text.contains(#""nearby_place":{"location":"Mitte","city":"Berlin","region":"State of Berlin""#))
            #expect(json.text.contains(#""source":"GeoNames""#), "\(json.text)")
            #expect(try await house.ask("export-csv").text.contains(",\"\(berlin)\""))
            try await daemon.stop()

            let rebuilt = try await house.ask("rebuild", "--library", house.library, "--yes", tracing: environment)
            #expect(rebuilt.status == 0, "\(rebuilt.text)")
            try await search(house, "mitte", "GERM", expecting: ["berlin.jpg"])
            try await search(house, "kehl", "france", expecting: ["rhine.jpg"])

            try overwrite(table, with: Data("SQLite format 3\0 and nothing else".utf8))
            daemon = try await house.start(
                configuration: House.oneCard,
                reporting: ["place-names.sqlite is not used, so photos get no names of places"])
            try house.drop(try Self.photo(3, in: house, position("52.5137", "13.3926")), as: "later.jpg")
            try await daemon.line(holding: "filed card/later.jpg")
            try await search(house, "--near", "52.5137,13.3926,1m", expecting: ["berlin.jpg", "later.jpg"])
            try await search(house, "mitte", expecting: ["berlin.jpg"])
            #expect(daemon.count(of: "place-names.sqlite is not used") == 1)
            try PlaceTable.make(at: table)
            #expect(try await house.ask("reload").status == 0)
            try await search(house, "mitte", expecting: ["berlin.jpg", "later.jpg"])
            try await daemon.stop()
        }

        @Test("verify names photos of which the catalogue has other metadata; they are read again")
        func outdated() async throws {
            let house = try House()
            var daemon = try await house.start(configuration: House.oneCard)
            try house.drop(
                Data(
                    """
                    <x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>
                    <rdf:Description xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:subject><rdf:Bag>
                    <rdf:li>lighthouse</rdf:li></rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta>
                    """.utf8), as: "a.jpg.xmp")
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.lines(holding: ["filed card/a.jpg", "filed card/a.jpg.xmp"])
            try await poll({ try await house.ask("search", "lighthouse").status }) { $0 == 0 }
            try await daemon.stop()
            #expect(try await house.ask("verify").status == 0)
            do {
                // Metadata of another photo, as if a reader had been wrong.
                let catalogue = try CatalogueFile.openForRepair(house.path("st/catalogue.sqlite"))
                try catalogue.renewMetadata(of: try catalogue.photos(after: 0, limit: 9).map(\.id))
                var batch = MetadataBatch()
                for due in try catalogue.photosToRead(in: BytePath(house.library), after: 0, limit: 9) {
                    batch.add(MetadataDecision([:]), of: due)
                }
                try catalogue.record(batch)
                catalogue.close()
            }
            #expect(try await house.ask("search", "lighthouse").status == 4)
            let found = try await house.ask("verify", "--json")
            #expect(found.status == 3 && found.text.contains("\"outdated\":1"), "\(found.text)")
            #expect(found.text.contains("\"type\":\"metadata\"") && found.text.contains("\"damaged\":0"))
            #expect(try await house.ask("verify").status == 0, "it is to be read again")
            daemon = try await house.start(configuration: House.oneCard)
            try await poll({ try await house.ask("search", "lighthouse").status }) { $0 == 0 }
            #expect(try await house.ask("verify").status == 0)
            try await daemon.stop()
        }
    }
}
