import FileValues
import Foundation
import TestSupport
import Testing

@testable import ControlProtocol

@Suite("Frames")
struct FrameTests {
    @Test("Frames do not depend on the pieces that arrive", arguments: [1, 2, 3, 7, 1_000])
    func pieces(size: Int) throws {
        let contents: [[UInt8]] = [
            [1], Array(repeating: 2, count: 300), Array("{}".utf8), Array(repeating: 9, count: 64),
        ]
        let stream = contents.flatMap { framed($0) }
        var reader = FrameReader(limit: 300)
        var found: [[UInt8]] = []
        for start in stride(from: 0, to: stream.count, by: size) {
            reader.add(Array(stream[start..<min(start + size, stream.count)]))
            while let frame = try reader.next() { found.append(frame) }
        }
        #expect(found == contents && !reader.isInside)
    }

    @Test("A frame that is too long is refused by its length")
    func huge() {
        for length: [UInt8] in [[0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 1, 45], [0x80, 0, 0, 0]] {
            var reader = FrameReader(limit: 300)
            reader.add(length)
            #expect(throws: FrameRefusal.self) { try reader.next() }
        }
        var empty = FrameReader(limit: 300)
        empty.add([0, 0, 0, 0])
        #expect(throws: FrameRefusal(length: 0, limit: 300)) { try empty.next() }
    }

    @Test func aHalfFrameIsInside() throws {
        var reader = FrameReader(limit: 300)
        reader.add([0, 0])
        var frame = try reader.next()
        #expect(frame == nil && reader.isInside)
        reader.add([0, 2, 7])
        frame = try reader.next()
        #expect(frame == nil && reader.isInside)
        reader.add([8, 0])
        frame = try reader.next()
        #expect(frame == [7, 8] && reader.isInside)
    }
}

@Suite("Requests and answers")
struct MessageTests {
    static let commands: [ControlCommand] = [
        .hello, .state, .metrics, .reload, .pause(inbox: "card"), .resume(inbox: "card"), .rescan(.everything),
        .rescan(.inbox("card")),
        .rescan(.file(inbox: "card", "a/b.jpg")), .retry(.everything), .retry(.inbox("c")),
        .retry(.file(inbox: "card", BytePath([0x61, 0xFF, 0x0A, 0x62]))), .release(operation: 8839, asIs: true),
        .release(operation: 1, asIs: false), .discard(operation: .max), .undo(operation: 8841),
        .undo(operation: 8841, alone: true), .verify(photos: [1, .max], isComplete: false),
        .verify(photos: [], isComplete: true), .known([Array(0..<32), Array(repeating: 255, count: 32)]),
        .outcomes(inbox: "web", of: []),
        .outcomes(inbox: "web", of: ["ana/a.jpg", BytePath([0x61, 0xFF, 0x0A])], after: .max),
    ]

    @Test("Every command is decoded as it was encoded", arguments: commands, [false, true])
    func roundTrip(command: ControlCommand, isDryRun: Bool) throws {
        for (person, expected) in [(nil, nil), ("ana", ["1-2-3.4", ""]), (nil, [])] {
            let request = ControlRequest(id: 42, command, isDryRun: isDryRun, person: person, expected: expected)
            #expect(try ControlRequest(json: request.json()) == request)
        }
    }

    @Test(
        "What is no request is told what is wrong with it",
        arguments: [
            ("", "this is not a request: it is not the JSON of an object", 0),
            ("[1]", "this is not a request: it is not the JSON of an object", 0),
            ("{\"id\":3,\"do\":\"hello\"}", "\"version\" is missing", 3),
            ("{\"version\":2,\"id\":3,\"do\":\"hello\"}", "version 2 is not supported; this is version 1", 3),
            ("{\"version\":1,\"id\":3}", "\"do\" is missing", 3),
            ("{\"version\":1,\"do\":\"format\"}", "there is no command \"format\"", 0),
            ("{\"version\":1,\"do\":\"undo\"}", "\"operation\" is missing", 0),
            (
                "{\"version\":1,\"do\":\"undo\",\"operation\":\"x\"}",
                "this is not a request: \"operation\" is of the wrong kind", 0
            ),
            ("{\"version\":1,\"do\":\"retry\"}", "\"inbox\" or \"all\" is missing", 0),
            (
                "{\"version\":1,\"do\":\"retry\",\"inbox\":\"c\",\"file\":\"../x\"}",
                "\"file\" is not a path within an inbox", 0
            ),
            (
                "{\"version\":1,\"do\":\"retry\",\"inbox\":\"c\",\"file\":\"/x\"}",
                "\"file\" is not a path within an inbox", 0
            ),
            ("{\"version\":1,\"do\":\"known\"}", "\"sha256\" is missing", 0),
            (
                "{\"version\":1,\"do\":\"known\",\"sha256\":[\"00\"]}",
                "\"sha256\" has something else than 64 hexadecimal digits", 0
            ),
            ("{\"version\":1,\"do\":\"outcomes\",\"files\":[]}", "\"inbox\" is missing", 0),
            (
                "{\"version\":1,\"do\":\"outcomes\",\"inbox\":\"c\",\"files\":[{\"file\":\"/x\"}]}",
                "\"files\" has something else than paths within an inbox", 0
            ),
            (
                "{\"version\":1,\"do\":\"outcomes\",\"inbox\":\"c\",\"files\":[{}]}",
                "\"files\" has something else than paths within an inbox", 0
            ),
            ("{\"version\":1,\"do\":\"hello\",\"for\":\"\"}", "\"for\" is not a person's name", 0),
            ("{\"version\":1,\"do\":\"hello\",\"for\":\"a\\nb\"}", "\"for\" is not a person's name", 0),
            (
                "{\"version\":1,\"do\":\"retry\",\"inbox\":\"c\",\"file_base64\":\"??\"}",
                "\"file_base64\" is not base64", 0
            ),
        ] as [(String, String, Int64)])
    func mistakes(text: String, message: String, id: Int64) {
        let mistake = #expect(throws: RequestMistake.self) { try ControlRequest(json: Array(text.utf8)) }
        #expect(mistake?.message == message && mistake?.id == id)
    }

    @Test("Fields of later versions are ignored")
    func unknownFields() throws {
        let text = "{\"version\":1,\"id\":9,\"do\":\"undo\",\"operation\":4,\"why\":{\"because\":[1,2]}}"
        #expect(try ControlRequest(json: Array(text.utf8)) == ControlRequest(id: 9, .undo(operation: 4)))
    }

    @Test func answersComeBackAsTheyWent() throws {
        var item = ControlAnswer.Item("undone", inbox: "card", file: BytePath([0x61, 0xFF]))
        item.operation = 8841
        item.request = 3
        item.from = "/srv/library/2026/a.jpg"
        item.to = "/srv/returned/card/a.jpg"
        var answer = ControlAnswer("taken back", items: [item])
        answer.id = 7
        #expect(ControlAnswer(json: answer.json()) == answer)
        var refusal = ControlAnswer(status: 4, "there is no operation 5", action: "photoinbox list")
        refusal.id = 8
        #expect(ControlAnswer(json: refusal.json()) == refusal)
    }

    @Test func whatIsKnownAndWhatBecameOfFilesComesBackAsItWent() throws {
        var answer = ControlAnswer("x")
        answer.known = [true, false]
        var report = FileReports.Report(BytePath([0x61, 0xFF]), .filed)
        (report.operation, report.durable, report.place, report.reason) = (4, "ab", "2026/a.jpg", "why")
        var reports = FileReports(through: 9)
        (reports.files, reports.paused) = ([report, FileReports.Report("b", .inHand)], "paused by ana")
        answer.arrivals = reports
        let read = try #require(ControlAnswer(json: answer.json()))
        #expect(read == answer && read.arrivals?.files.map(\.path) == [BytePath([0x61, 0xFF]), "b"])
        let most = ControlRequest(
            .known(Array(repeating: Array(repeating: 7, count: 32), count: ControlCommand.knownLimit)))
        #expect(most.json().count <= ControlRequest.limit)
    }

    @Test func aStateIsCarriedAsItIs() throws {
        var answer = ControlAnswer("the state")
        answer.state = Array("{\"format\":1}".utf8)
        struct Read: Decodable { let state: [String: Int] }
        let read = try JSONDecoder().decode(Read.self, from: Data(answer.json()))
        #expect(read.state == ["format": 1])
        #expect(ControlAnswer(json: answer.json())?.message == "the state")
    }

    /// Damaged requests, and bytes at random: a value or a mistake, and nothing else, every time.
    @Test func fuzzed() throws {
        var generator = SeededGenerator(seed: 2_026)
        let samples = Self.commands.map { ControlRequest(id: 1, $0).json() }
        var understood = 0
        for round in 0..<40_000 {
            var bytes = samples[round % samples.count]
            switch generator.next() % 4 {
            case 0: bytes = (0..<Int(generator.next() % 64)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
            case 1: bytes = Array(bytes.prefix(Int(generator.next() % UInt64(bytes.count + 1))))
            case 2:
                for _ in 0...(generator.next() % 4) {
                    bytes[Int(generator.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: generator.next())
                }
            default:
                let place = Int(generator.next() % UInt64(bytes.count))
                bytes.insert(contentsOf: samples[Int(generator.next() % UInt64(samples.count))], at: place)
            }
            do throws(RequestMistake) {
                let request = try ControlRequest(json: bytes)
                understood += 1
                // What was understood can be said again.
                #expect(try ControlRequest(json: request.json()) == request)
            } catch {
                #expect(!error.message.isEmpty)
            }
            _ = ControlAnswer(json: bytes)
            var reader = FrameReader(limit: 1_000)
            reader.add(bytes)
            while let frame = try? reader.next() { #expect(frame.count <= 1_000) }
        }
        #expect(understood > 0)
        // As deep as a frame allows.
        for pair in [("[", "]"), ("{\"a\":", "}")] {
            let deep = String(repeating: pair.0, count: 10_000) + String(repeating: pair.1, count: 10_000)
            #expect(throws: RequestMistake.self) { try ControlRequest(json: Array(deep.utf8)) }
        }
    }
}
