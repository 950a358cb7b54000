import FileValues
import Foundation
import Testing

@testable import PhotoFormats
@testable import PhotoModel

@Suite("XML of photos is read without growing, nesting or reading outside of it")
struct XMLReaderTests {
    private func texts(_ xml: String) throws -> [String] {
        var reader = XMLReader(Array(xml.utf8))
        var texts: [String] = []
        while let event = try reader.next() {
            switch event {
            case .start(let name, let attributes):
                texts.append("<\(name.namespace) \(name.local)")
                texts += attributes.map { "@\($0.name.namespace) \($0.name.local)=\($0.value)" }
            case .text(let text): texts.append(text)
            case .end: texts.append(">")
            }
        }
        return texts
    }

    @Test func referencesCommentsAndSectionsAreResolved() throws {
        #expect(
            try texts(
                "<?xml version='1.0'?><!--no--><a b=\"1 &lt; &#x32;\">&amp;<![CDATA[<x>&amp;]]>&#233;&unknown;</a>")
                == ["< a", "@ b=1 < 2", "&", "<x>&amp;", "é&unknown;", ">"])
    }

    @Test func namespacesEndWithTheirElement() throws {
        #expect(
            try texts("<r xmlns:p='one'><p:a p:b='c'/><s xmlns:p='two'><p:a/></s><p:a/></r>") == [
                "< r", "<one a", "@one b=c", ">", "< s", "<two a", ">", ">", "<one a", ">", ">",
            ])
    }

    @Test func entitiesOfADocumentTypeAreNotExpanded() throws {
        let xml = "<!DOCTYPE a [<!ENTITY x SYSTEM \"/etc/passwd\"><!ENTITY y \"&x;&x;\">]><a>&y;</a>"
        #expect(try texts(xml) == ["< a", "&y;", ">"])
    }

    @Test(arguments: [
        "<a>", "<a></b>", "<a b></a>", "<a b=c></a>", "<a", "<!--", "<a>" + String(repeating: "<b>", count: 60),
    ])
    func malformedTextIsRefused(xml: String) { #expect(throws: XMLReader.Failure.self) { try texts(xml) } }

    @Test func utf16IsReadWithAndWithoutAByteOrderMark() throws {
        for (encoding, mark) in [(String.Encoding.utf16BigEndian, [0xFE, 0xFF]), (.utf16LittleEndian, [0xFF, 0xFE])] {
            let bytes = try #require("<a>é</a>".data(using: encoding))
            for start in [[], mark.map { UInt8($0) }] {
                var reader = XMLReader(start + bytes)
                _ = try reader.next()
                guard case .text(let text)? = try reader.next() else { Issue.record("no text"); return }
                #expect(text == "é")
            }
        }
    }
}

@Suite("XMP is read by namespace, in every form of RDF that programs write")
struct XMPTests {
    private func packet(_ body: String, attributes: String = "") -> PhotoMetadata {
        var xmp = XMPProperties()
        xmp.add(
            Array(
                """
                <?xpacket begin='' id='W5M0MpCehiHzreSzNTczkc9d'?><x:xmpmeta xmlns:x='adobe:ns:meta/'>
                <rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>
                <rdf:Description rdf:about='' xmlns:d='http://purl.org/dc/elements/1.1/'
                 xmlns:q='http://ns.adobe.com/xap/1.0/' xmlns:exif='http://ns.adobe.com/exif/1.0/'
                 xmlns:lr='http://ns.adobe.com/lightroom/1.0/' xmlns:m='http://ns.microsoft.com/photo/1.0/'
                 xmlns:mwg='http://www.metadataworkinggroup.com/schemas/regions/'
                 xmlns:MP='http://ns.microsoft.com/photo/1.2/' xmlns:MPRI='http://ns.microsoft.com/photo/1.2/t/RegionInfo#'
                 xmlns:MPReg='http://ns.microsoft.com/photo/1.2/t/Region#' \(attributes)>
                \(body)</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end='w'?>
                """.utf8))
        return xmp.metadata
    }

    @Test("The place where the photo was taken is read from IPTC Extension where the older properties are missing")
    func locationCreated() {
        let created = """
            <e:LocationCreated><rdf:Bag><rdf:li rdf:parseType='Resource'><e:Sublocation>Harbour</e:Sublocation>
            <e:City>Kiel</e:City><e:ProvinceState>Schleswig-Holstein</e:ProvinceState>
            <e:CountryName>Germany</e:CountryName><e:CountryCode>DE</e:CountryCode></rdf:li></rdf:Bag></e:LocationCreated>
            <e:LocationShown><rdf:Bag><rdf:li rdf:parseType='Resource'><e:City>Laboe</e:City></rdf:li></rdf:Bag>
            </e:LocationShown>
            """
        let names =
            "xmlns:e='http://iptc.org/std/Iptc4xmpExt/2008-02-29/' xmlns:ps='http://ns.adobe.com/photoshop/1.0/'"
        let place = packet(created, attributes: names).place
        #expect(place.names == ["Harbour", "Kiel", "Schleswig-Holstein", "Germany"])
        #expect(place.countryCode == "DE")
        let both = packet(created + "<ps:City>Kiel Hafen</ps:City>", attributes: names).place
        #expect(both.names == ["Harbour", "Kiel Hafen", "Schleswig-Holstein", "Germany"])
    }

    @Test func prefixesAreFree() {
        let metadata = packet(
            "<d:subject><rdf:Bag><rdf:li>sea</rdf:li><rdf:li> sun </rdf:li><rdf:li>sea</rdf:li></rdf:Bag></d:subject>")
        #expect(metadata.keywords == ["sea", "sun"])
    }

    @Test func ofAlternativesTheDefaultIsChosen() {
        let metadata = packet(
            "<d:title><rdf:Alt><rdf:li xml:lang='de'>Meer</rdf:li><rdf:li xml:lang='x-default'>Sea</rdf:li></rdf:Alt></d:title>"
        )
        #expect(metadata.title == "Sea")
    }

    @Test func attributesAndResourcesAndQualifiersAreValues() {
        let metadata = packet(
            "<d:rights rdf:parseType='Resource'><rdf:value>(c) me</rdf:value><q:note>x</q:note></d:rights>",
            attributes: "q:Rating='4' q:Label='Red'")
        #expect(metadata.rating == 4)
        #expect(metadata.label == "Red")
        #expect(metadata.copyright == "(c) me")
    }

    @Test func ratingsOfMicrosoftArePercent() {
        for (percent, stars) in [(1, 1), (25, 2), (50, 3), (75, 4), (99, 5)] {
            #expect(packet("<m:Rating>\(percent)</m:Rating>").rating == stars)
        }
        #expect(packet("<m:Rating>0</m:Rating>").rating == nil)
        #expect(packet("<q:Rating>-1</q:Rating>").rating == -1)
        #expect(packet("<q:Rating>77</q:Rating>").rating == nil)
    }

    @Test func hierarchiesOfLightroomAndWindowsAreUnited() {
        let metadata = packet(
            """
            <lr:hierarchicalSubject><rdf:Bag><rdf:li>Place|Kiel</rdf:li><rdf:li>flat</rdf:li></rdf:Bag></lr:hierarchicalSubject>
            <m:LastKeywordXMP><rdf:Bag><rdf:li>Place/Kiel</rdf:li><rdf:li>A/B/C</rdf:li></rdf:Bag></m:LastKeywordXMP>
            """)
        #expect(metadata.hierarchies == [["Place", "Kiel"], ["A", "B", "C"]])
    }

    @Test func facesAreNamedByBothKindsOfRegions() {
        let metadata = packet(
            """
            <mwg:Regions rdf:parseType='Resource'><mwg:RegionList><rdf:Bag>
            <rdf:li><rdf:Description mwg:Name='Ada' mwg:Type='Face'><mwg:Area q:x='1'/></rdf:Description></rdf:li>
            <rdf:li rdf:parseType='Resource'><mwg:Name>Rex</mwg:Name><mwg:Type>Pet</mwg:Type></rdf:li>
            </rdf:Bag></mwg:RegionList></mwg:Regions>
            <MP:RegionInfo rdf:parseType='Resource'><MPRI:Regions><rdf:Bag>
            <rdf:li MPReg:Rectangle='0' MPReg:PersonDisplayName='Bob'/></rdf:Bag></MPRI:Regions></MP:RegionInfo>
            """)
        #expect(metadata.people == ["Ada", "Bob"])
    }

    @Test(arguments: [
        ("54,19.2N", "10,8.4E", 54.32, 10.14), ("33,52,10S", "151,12,30W", -33.869444, -151.208333),
        ("0,0.6N", "0,0E", 0.01, 0),
    ])
    func positionsAreDegreesAndMinutes(latitude: String, longitude: String, north: Double, east: Double) throws {
        let metadata = packet(
            """
            <exif:GPSLatitude>\(latitude)</exif:GPSLatitude><exif:GPSLongitude>\(longitude)</exif:GPSLongitude>
            <exif:GPSAltitude>250/10</exif:GPSAltitude><exif:GPSAltitudeRef>1</exif:GPSAltitudeRef>
            """)
        let position = try #require(metadata.position)
        #expect(abs(position.latitude - north) < 1e-5)
        #expect(abs(position.longitude - east) < 1e-5)
        #expect(position.altitude == -25)
    }

    @Test func positionsThatAreNoneAreIgnored() {
        for (latitude, longitude) in [("0,0N", "0,0E"), ("95,0N", "10,0E"), ("x", "10,0E"), ("1,2,3,4N", "1,0E")] {
            let text =
                "<exif:GPSLatitude>\(latitude)</exif:GPSLatitude><exif:GPSLongitude>\(longitude)</exif:GPSLongitude>"
            #expect(packet(text).position == nil, "\(latitude)")
        }
    }

    @Test func whatStandsBeforeTheDamageIsKept() {
        var xmp = XMPProperties()
        xmp.add(
            Array(
                """
                <rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>
                <rdf:Description xmlns:q='http://ns.adobe.com/xap/1.0/' q:Rating='3'/><rdf:Description><broken
                """.utf8))
        #expect(xmp.metadata.rating == 3)
    }
}

@Suite("IPTC is read in its character sets, and its digest says whether it is newer than XMP")
struct IPTCTests {
    private func dataset(_ record: UInt8, _ number: UInt8, _ value: [UInt8]) -> [UInt8] {
        [0x1C, record, number, UInt8(value.count >> 8), UInt8(value.count & 0xFF)] + value
    }

    private func resource(_ identifier: UInt16, _ content: [UInt8]) -> [UInt8] {
        Array("8BIM".utf8) + [UInt8(identifier >> 8), UInt8(identifier & 0xFF), 0, 0, 0, 0, 0, UInt8(content.count)]
            + content
            + (content.count % 2 == 1 ? [0] : [])
    }

    @Test func textsAreUTF8IfDeclaredOrValidAndElseLatin1() {
        let declared = dataset(1, 90, [0x1B, 0x25, 0x47])
        for (bytes, text) in [
            (declared + dataset(2, 5, Array("Zürich".utf8)), "Zürich"), (dataset(2, 5, Array("Zürich".utf8)), "Zürich"),
            (dataset(2, 5, [0x5A, 0xFC, 0x72, 0x69, 0x63, 0x68]), "Zürich"),
        ] {
            #expect(IPTCFields(bytes).metadata.title == text)
        }
    }

    @Test func anExtendedDatasetHasItsLengthBehindItsHeader() {
        let bytes: [UInt8] = [0x1C, 2, 120, 0x80, 2, 0, 3] + Array("sea".utf8) + dataset(2, 25, Array("a".utf8))
        #expect(IPTCFields(bytes).metadata.caption == "sea")
        #expect(IPTCFields(bytes).metadata.keywords == ["a"])
    }

    @Test func ofCutDatasetsThoseBeforeTheCutAreRead() {
        let bytes = dataset(2, 25, Array("a".utf8)) + dataset(2, 25, Array("bcd".utf8))
        for length in bytes.indices { _ = IPTCFields(Array(bytes.prefix(length))).metadata }
        #expect(IPTCFields(Array(bytes.dropLast())).metadata.keywords == ["a"])
    }

    @Test func theDigestDecidesBetweenIPTCAndXMP() throws {
        let iptc = dataset(2, 5, Array("IPTC".utf8))
        let digest: [UInt8] = [
            0xE0, 0xC0, 0x03, 0x9F, 0x5D, 0x20, 0x7C, 0x05, 0xE0, 0xAE, 0x3A, 0xE5, 0x4B, 0xB2, 0x4C, 0x64,
        ]
        var xmp = PhotoMetadata()
        xmp.title = "XMP"
        for (digest, title, rule) in [
            (digest, "XMP", "has seen"), (Array(digest.reversed()), "IPTC", "was changed after"),
            (nil, "XMP", "no digest"),
        ] as [([UInt8]?, String, String)] {
            var report = PhotoReport(format: .jpeg, completeness: .empty)
            report.metadata[.xmp] = xmp
            report.record(ImageResources(resource(0x0404, iptc) + (digest.map { resource(0x0425, $0) } ?? [])))
            let decision = MetadataDecision(report.metadata, iptcIsNewer: report.iptcIsNewer)
            #expect(decision.chosen.title == title)
            #expect(try #require(decision.contradictions.first).contains(rule))
        }
    }

    @Test func theDateHasItsTimeOfDay() {
        var report = PhotoReport(format: .jpeg, completeness: .empty)
        report.record(dataset(2, 55, Array("20240131".utf8)) + dataset(2, 60, Array("123456+0100".utf8)), digest: nil)
        #expect(report.dates.map(\.text) == ["2024:01:31 12:34:56+0100"])
        guard case .local(let local, let offset, true)? = report.dates.first?.reading else {
            Issue.record("no date")
            return
        }
        #expect("\(local.date) \(local.clock)" == "2024-01-31 12:34:56")
        #expect(offset == 3_600)
    }
}

@Suite("Metadata of other containers")
struct ContainerMetadataTests {
    @Test func storedFixedAndDynamicBlocksAreInflated() throws {
        let short = Array("photo inbox photo inbox photo inbox ".utf8)
        let long =
            Array(
                "The photo is filed once it has arrived whole, and no photo is ever lost; why it was filed so is said by explain. "
                    .utf8) + Array(32...126)
            + Array(
                "quick brown foxes jump over the lazy dogs while seventeen zebras gaze at quiet yaks in Vienna".utf8)
        let streams: [(String, [UInt8])] = [
            ("eAEBJADb/3Bob3RvIGluYm94IHBob3RvIGluYm94IHBob3RvIGluYm94IACMDZ8=", short),
            ("eNoryMgvyVfIzEvKr1AowMEGAACMDZ8=", short),
            (
                "eNpFj9dSwzAURH9l6S2EXkPvvYbQCbJ9bSt2JEdS3CjfjsIMw+vO7pmz9ZCQhNJIcA2fx+RBCpfADUKmwZTiqc2yUMZUARMehPwf"
                    + "UEoKsdSmZhtFb5SxP4z+bWjGPTgFKE9ixkUV6OsfGBwaHhkdG5+oTFanpmdm5+YXFpeWV1Zra+sbm1vbO7t7+weHR8cnp2fnF5dX"
                    + "1ze39bvG/cPj0/PL61vznTmuR34Q8lYUt4VMOkqbbprlRfnx+fXd6XI3gqNkJuDLnDRa3XYC2RM19mvMygKeDLQVtprQ9oIwRAIl"
                    + "OcrKB6wkMAMLIoOCRRpcoMFJCPYDmANnpg==", long
            ),
        ]
        for (stream, text) in streams {
            let bytes = Array(try #require(Data(base64Encoded: stream)))
            #expect(inflated(bytes, limit: 10_000) == text)
            #expect(inflated(bytes, limit: 20) == Array(text.prefix(20)))
            for length in bytes.indices { _ = inflated(Array(bytes.prefix(length)), limit: 1_000) }
        }
    }

    @Test(
        arguments: [
            ("+54.3200+010.1340+010.000/", 54.32, 10.134, 10.0), ("-3352.5+15112.25/", -33.875, 151.204166, nil),
            ("+403412-0735811+0030/", 40.57, -73.969722, 30.0),
        ] as [(String, Double, Double, Double?)])
    func positionsOfFilmsAreISO6709(text: String, north: Double, east: Double, altitude: Double?) throws {
        let position = try #require(PhotoReport.position(iso6709: text))
        #expect(abs(position.latitude - north) < 1e-5)
        #expect(abs(position.longitude - east) < 1e-5)
        #expect(position.altitude == altitude)
    }

    @Test(arguments: ["", "+", "+1+2", "54.3,10.1", "+54.3", "+99.0+010.0/", "+00.0+000.0/"])
    func otherTextsAreNoPosition(text: String) { #expect(PhotoReport.position(iso6709: text) == nil) }

    @Test func takeoutHasCaptionPeopleAndPosition() throws {
        let json = """
            {"title": "IMG.jpg", "description": "at \\"sea\\" \\u00e9\\ud83d\\ude00", "people": [{"name": "Ada"}],
             "photoTakenTime": {"timestamp": "1706704496", "formatted": "x"},
             "geoData": {"latitude": 0.0, "longitude": 0.0, "altitude": 0.0},
             "geoDataExif": {"latitude": 54.32, "longitude": -10.5, "altitude": 12.5}}
            """
        let sidecar = try #require(SidecarMetadata(Array(json.utf8), kind: .takeout))
        #expect(sidecar.metadata.caption == "at \"sea\" é😀")
        #expect(sidecar.metadata.people == ["Ada"])
        #expect(sidecar.metadata.position?.latitude == 54.32)
        #expect(sidecar.metadata.position?.altitude == 12.5)
    }

    @Test(arguments: ["", "[", "{\"a\"", "{\"a\":}", "nul", "[1,]", String(repeating: "[", count: 100), "{\"a\":1"])
    func damagedJSONIsRefused(text: String) { #expect(JSONNode(Array(text.utf8)) == nil) }

    @Test func ratingOfASidecarGoesBeforeThatOfThePhoto() {
        var (photo, sidecar) = (PhotoMetadata(), PhotoMetadata())
        (photo.rating, sidecar.rating) = (1, 5)
        let decision = MetadataDecision([.xmp: photo, .sidecar: sidecar])
        #expect(decision.chosen.rating == 5)
        #expect(decision.sources["rating"] == .sidecar)
        #expect(
            decision.contradictions == ["rating: XMP sidecar was chosen over XMP, since XMP sidecar goes before XMP"])
    }
}

@Suite("Dates that programs write otherwise than EXIF")
struct UnusualDateTests {
    @Test(
        arguments: [
            ("Sun, 07 Jan 2024 10:11:12 +0100", "2024-01-07 10:11:12", 3_600),
            ("7 jan 2024 10:11:12 GMT", "2024-01-07 10:11:12", 0),
            ("Wed, 31 Jan 2024 10:11:12", "2024-01-31 10:11:12", nil),
        ] as [(String, String, Int32?)])
    func rfc1123IsRead(text: String, shown: String, offset: Int32?) throws {
        let date = try DateText.parse(Array(text.utf8))
        #expect("\(date.local.date) \(date.local.clock)" == shown)
        #expect(date.offset == offset)
    }

    @Test(arguments: ["Sun, 07 Foo 2024", "hello", "31 Feb 2024 10:00:00", "7 jan 2024 99:00:00"])
    func otherTextsAreRefused(text: String) {
        #expect(throws: DateText.Refusal.self) { try DateText.parse(Array(text.utf8)) }
    }

    @Test func anImpossibleSecondCostsNothingButTheSecond() throws {
        let date = try DateText.parse(Array("2024:01:31 12:34:70".utf8))
        #expect("\(date.local.date) \(date.local.clock)" == "2024-01-31 12:34:00")
        #expect(date.remark == "its second 70 does not exist")
        let recorded = RecordedDate(provenance: .exifOriginal, bytes: Array("2024:01:31 12:34:70".utf8))
        let decision = CaptureDateDecision(
            recorded: [recorded], name: "a.jpg", modified: FileTime(seconds: 0, nanoseconds: 0),
            now: FileTime(seconds: 4_000_000_000, nanoseconds: 0), zone: { _ in 0 })
        #expect(
            decision.words.hasPrefix(
                "date from EXIF DateTimeOriginal, 2024-01-31T12:34:00; its second 70 does not exist"))
    }

    private func box(_ type: String, _ body: [UInt8]) -> [UInt8] { Sample.box(type, body) }

    /// The date and its source: `2024-01-31 12:34:56 camera`.
    private func chosen(_ report: PhotoReport) -> String? {
        CaptureDateDecision(
            recorded: report.dates, name: "a.jpg", modified: FileTime(seconds: 0, nanoseconds: 0),
            now: FileTime(seconds: 4_000_000_000, nanoseconds: 0), zone: { _ in 0 }
        ).chosen.map { "\($0.local.date) \($0.local.clock) \($0.provenance.rawValue)" }
    }

    @Test(arguments: ["avis", "msf1"])
    func aSequenceOfImagesHasTheDateOfItsMovieHeader(brand: String) throws {
        let film = try Fixtures.bytes("faststart.mp4")
        let old = Int(film[3])
        let places = box("iloc", [0, 0, 0, 0, 0x44, 0, 0, 0])
        let file =
            box("ftyp", Array(brand.utf8) + [0, 0, 0, 0] + Array("iso8".utf8)) + box("meta", [0, 0, 0, 0] + places)
            + film[old...]
        let own = try #require(chosen(try report(film)))
        #expect(try chosen(report(file)) == own && own.hasSuffix("video-header"))
    }

    @Test(arguments: [Sample.big(0), Sample.big(6) + Array("Exif\0\0".utf8), Array("Exif\0\0".utf8), []])
    func anExifItemIsReadWhateverPrecedesIt(prefix: [UInt8]) throws {
        let exif = prefix + Sample.exif
        let places = box(
            "iloc", [0, 0, 0, 0, 0x44, 0, 0, 1, 0, 1, 0, 0, 0, 1] + Sample.big(24) + Sample.big(exif.count))
        let entry = box("infe", [2, 0, 0, 0, 0, 1, 0, 0] + Array("Exif".utf8) + [0])
        let meta = box("meta", [0, 0, 0, 0] + box("iinf", [0, 0, 0, 0, 0, 1] + entry) + places)
        let file = box("ftyp", Array("heic\0\0\0\0".utf8)) + box("mdat", exif) + meta
        #expect(try chosen(report(file)) == "2024-01-31 12:34:56 exif-original")
    }

    /// A TIFF block whose main directory has one entry with these bytes, behind it.
    private func block(_ tag: Int, _ type: Int, _ value: [UInt8], count: Int? = nil) -> [UInt8] {
        let entry = Sample.big(tag, 2) + Sample.big(type, 2) + Sample.big(count ?? value.count) + Sample.big(26)
        return Array("MM\0*".utf8) + Sample.big(8) + Sample.big(1, 2) + entry + Sample.big(0) + value
    }

    private func jpeg(_ code: UInt8, _ content: [UInt8]) throws -> [UInt8] {
        let plain = try Fixtures.bytes("plain.jpg")
        return plain[..<2] + [0xFF, code] + Sample.big(content.count + 2, 2) + content + plain[2...]
    }

    @Test func theMainDirectoryMayHaveTheDateOfTaking() throws {
        let exif = block(0x9003, 2, Array("2024:01:31 12:34:56\0".utf8))
        let read = try report(jpeg(0xE1, Array("Exif\0\0".utf8) + exif))
        #expect(chosen(read) == "2024-01-31 12:34:56 exif-original")
    }

    @Test(arguments: ["Creation Time", "CreationTime"])
    func aTextOfAPNGHasTheDateOfItsCreation(keyword: String) throws {
        let plain = try Fixtures.bytes("plain.png")
        let text = Array("tEXt\(keyword)\01999:01:01 00:08:50".utf8)
        let read = try report(plain[..<33] + Sample.big(text.count - 4) + text + Sample.big(0) + plain[33...])
        #expect(chosen(read) == "1999-01-01 00:08:50 png-text")
    }

    @Test func theNoteOfATrailCameraHasItsDate() throws {
        let numbers = [31, 8, 8, 5, 7, 2015].flatMap { Sample.little($0, 2) }
        let note: [UInt8] = [0x01, 0xF1, 3, 0] + [UInt8](repeating: 0, count: 18) + numbers
        // A main directory with the pointer to EXIF's, which has the note.
        var exif = block(0x8769, 4, Sample.big(1, 2), count: 1)
        exif += Sample.big(0x927C, 2) + Sample.big(7, 2) + Sample.big(note.count) + Sample.big(44) + Sample.big(0)
        let read = try report(jpeg(0xE1, Array("Exif\0\0".utf8) + exif + note))
        #expect(chosen(read) == "2015-05-07 08:08:31 camera")
        let other = try report(jpeg(0xE1, Array("Exif\0\0".utf8) + exif + [2, 0xF1] + note.dropFirst(2)))
        #expect(chosen(other) == nil)
    }

    @Test func aHeapInAJPEGHasTheDateOfAnEarlyPowerShot() throws {
        var heap = Sample.crw
        heap.replaceSubrange(6..<14, with: Array("HEAPJPGM".utf8))
        let read = try report(jpeg(0xE0, heap))
        #expect(chosen(read) == "2024-01-31 12:34:56 camera")
        #expect(read.camera == "Canon EOS D60")
    }

    @Test func thePreviewOfAPanasonicHasFieldsOfItsOwn() throws {
        let preview = try jpeg(0xE1, Array("Exif\0\0".utf8) + Sample.exif)
        let file =
            Array("IIU\0".utf8) + Sample.little(8) + Sample.little(1, 2) + Sample.little(0x002E, 2)
            + Sample.little(7, 2) + Sample.little(preview.count) + Sample.little(26) + Sample.little(0) + preview
        #expect(try report(file, name: "a.rw2").dates.first?.text == "2024:01:31 12:34:56")
    }

    @Test func aFurtherBlockHasWhatTheFirstLacks() throws {
        func exif(_ entry: [UInt8]) -> [UInt8] {
            Array("Exif\0\0".utf8) + block(0x8769, 4, Sample.big(1, 2), count: 1) + entry
        }
        let number = Sample.big(0x829D, 2) + Sample.big(5, 2) + Sample.big(1) + Sample.big(44) + Sample.big(0)
        let first = exif(number + Sample.big(28) + Sample.big(10))
        let second = exif(
            Sample.big(0x8827, 2) + Sample.big(3, 2) + Sample.big(1) + Sample.big(80, 2) + [0, 0] + Sample.big(0))
        let plain = try jpeg(0xE1, second)
        let file = plain[..<2] + [0xFF, 0xE1] + Sample.big(first.count + 2, 2) + first + plain[2...]
        let exposure = try #require(try report(Array(file)).metadata[.exif]?.exposure)
        #expect(exposure.fNumber == 2.8 && exposure.iso == 80)
    }

    @Test(arguments: [Array("Sea é\0".utf8), [0xFE, 0xFF, 0, 0x53, 0, 0x65, 0, 0x61, 0, 0x20, 0, 0xE9]])
    func userDataOf3GPPIsRead(text: [UInt8]) throws {
        let user = box("udta", box("titl", [0, 0, 0, 0, 0x55, 0xC4] + text))
        let file = box("ftyp", Array("3gp4\0\0\0\0".utf8)) + box("moov", user) + box("mdat", [1])
        #expect(try report(file).metadata[.film]?.title == "Sea é")
    }

    @Test func zerosBehindIPTCDoNotChangeItsDigest() throws {
        let iptc: [UInt8] = [0x1C, 2, 5, 0, 3, 0x53, 0x65, 0x61]
        let digest: [UInt8] = [228, 138, 40, 231, 154, 183, 143, 210, 29, 225, 204, 224, 79, 28, 138, 229]
        for (content, isNewer) in [(iptc, false), (iptc + [0, 0, 0], false), (iptc + iptc, true)] {
            var report = PhotoReport(format: .tiff, completeness: .empty)
            report.record(content, digest: digest)
            #expect(report.iptcIsNewer == isNewer)
        }
    }
}

@Suite("Names of places are the photo's, and those of the place nearby where it has none")
struct PlaceNameTests {
    private func nearby(_ change: (inout PhotoMetadata.PlaceName) -> Void) -> NearbyPlace {
        var name = PhotoMetadata.PlaceName()
        change(&name)
        return NearbyPlace(name, distance: 100)
    }

    @Test func aNameThatIsTwiceInARowIsOnce() {
        let berlin = nearby { ($0.location, $0.city, $0.region, $0.country) = ("Mitte", "Berlin", "Berlin", "Germany") }
        #expect(berlin.text == "Mitte, Berlin, Germany")
    }

    @Test func thePhotosOwnTownAndCountryGoFirst() {
        var metadata = PhotoMetadata()
        metadata.place.countryCode = "DE"
        var decision = MetadataDecision([.iptc: metadata])
        #expect(decision.placeText == nil)
        decision.nearby = nearby {
            ($0.city, $0.region, $0.country, $0.countryCode) = ("Strasbourg", "Grand Est", "France", "FR")
        }
        #expect(decision.placeText == "Strasbourg, Grand Est, France")
        #expect(decision.searchedPlace.names == ["Strasbourg"], "another country than that of the photo")
        metadata.place.city = "Kehl"
        decision = MetadataDecision([.iptc: metadata])
        decision.nearby = nearby {
            ($0.location, $0.city, $0.country, $0.countryCode) = ("Dorf", "Kehl", "Germany", "DE")
        }
        #expect(decision.placeText == "Kehl")
        #expect(decision.searchedPlace.names == ["Kehl", "Germany"])
        #expect(decision.chosen.place.country == nil, "both are kept apart")
    }
}
