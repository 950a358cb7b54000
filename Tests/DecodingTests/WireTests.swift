import TestSupport
import Testing

@testable import Decoding

@Suite("Messages between daemon and decoder")
struct WireTests {
    private static let request = DecoderRequest(id: 7, kind: .raw, quality: 75, sizes: [2_048, 512])
    private static let answer = DecoderAnswer(
        id: 7, width: 4_000, height: 3_000, orientation: 6, memory: 1 << 26, ignoresProfile: true,
        likeness: 0x0123_4567_89AB_CDEF,
        parts: [
            DecodedPart(size: 2_048, width: 2_048, height: 1_536, offset: 0, length: 900),
            DecodedPart(size: 512, width: 512, height: 384, offset: 900, length: 100),
        ])
    private static let messages: [DecoderMessage] = [
        .hello(DecoderHello(gaps: "")), .hello(DecoderHello(gaps: "landlock: none")), .answer(answer),
        .refusal(DecoderRefusal(id: 9, code: .tooLarge, reason: "too large, \u{FC}")),
    ]

    @Test func messageIsReadAsItWasWritten() throws {
        #expect(try DecoderRequest(encoded: Self.request.encoded) == Self.request)
        for message in Self.messages { #expect(try DecoderMessage(encoded: message.encoded) == message) }
    }

    @Test func messageCutShortIsAnError() {
        for bytes in [Self.request.encoded] + Self.messages.map(\.encoded) {
            for length in 0..<bytes.count {
                let cut = Array(bytes.prefix(length))
                #expect(throws: WireError.self) { try DecoderMessage(encoded: cut) }
                #expect(throws: WireError.self) { try DecoderRequest(encoded: cut) }
            }
            #expect(throws: WireError.length) { try DecoderMessage(encoded: bytes + [0]) }
        }
    }

    @Test func otherVersionIsAnErrorOfItsOwn() {
        var bytes = Self.request.encoded
        bytes[4] = 9
        #expect(throws: WireError.version(9)) { try DecoderRequest(encoded: bytes) }
    }

    @Test func longTextIsCut() throws {
        let long = DecoderMessage.refusal(
            DecoderRefusal(id: 1, code: .unreadable, reason: String(repeating: "x", count: 9_000)))
        guard case .refusal(let read) = try DecoderMessage(encoded: long.encoded) else {
            Issue.record("no refusal")
            return
        }
        #expect(read.reason.utf8.count == DecoderWire.longestText)
    }

    /// A message read from mutated bytes must be read as the same after it is written.
    @Test func mutantsAreMessagesOrErrors() throws {
        var random = SeededGenerator(seed: 2_026)
        let seeds = [Self.request.encoded] + Self.messages.map(\.encoded)
        var (read, refused) = (0, 0)
        for _ in 0..<40_000 {
            var bytes = seeds[Int(random.next() % UInt64(seeds.count))]
            for _ in 0..<(1 + random.next() % 4) { random.mutate(&bytes) }
            if random.next() % 2 == 0 { Self.correctLength(&bytes) }
            if let request = try? DecoderRequest(encoded: bytes) {
                #expect(try DecoderRequest(encoded: request.encoded) == request)
                #expect((1...DecoderRequest.mostSizes).contains(request.sizes.count))
                read += 1
            } else if let message = try? DecoderMessage(encoded: bytes) {
                if case .answer(let answer) = message {
                    #expect(try DecoderMessage(encoded: message.encoded) == message)
                    if (try? answer.check(against: Self.request, fileSize: 1_000)) != nil {
                        #expect(answer.parts.allSatisfy { $0.offset + $0.length <= 1_000 })
                    }
                }
                read += 1
            } else {
                refused += 1
            }
        }
        #expect(read > 1_000 && refused > 1_000)
    }

    @Test func answerThatDoesNotFitItsRequestIsAnError() throws {
        try Self.answer.check(against: Self.request, fileSize: 1_000)
        let lies: [(inout DecoderAnswer) -> Void] = [
            { $0.id = 8 }, { $0.orientation = 9 }, { $0.parts.removeLast() }, { $0.parts.swapAt(0, 1) },
            { $0.parts[1].length = 101 }, { $0.parts[1].length = 0 }, { $0.parts[1].offset = .max },
            { $0.parts[0].width = 0 }, { $0.parts[0].height = 2_049 }, { $0.parts[0].size = 1 },
        ]
        for lie in lies {
            var answer = Self.answer
            lie(&answer)
            #expect(throws: WireError.self) { try answer.check(against: Self.request, fileSize: 1_000) }
        }
    }

    private static func correctLength(_ bytes: inout [UInt8]) {
        guard bytes.count >= 4 else { return }
        let length = UInt32(bytes.count - 4)
        for index in 0..<4 { bytes[index] = UInt8(truncatingIfNeeded: length >> UInt32(8 * index)) }
    }
}

extension SeededGenerator {
    /// Changes, removes or inserts a byte, or truncates.
    mutating func mutate(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else {
            bytes.append(UInt8(truncatingIfNeeded: next()))
            return
        }
        let place = Int(next() % UInt64(bytes.count))
        switch next() % 5 {
        case 0: bytes[place] = UInt8(truncatingIfNeeded: next())
        case 1: bytes[place] ^= 1 << UInt8(next() % 8)
        case 2: bytes.remove(at: place)
        case 3: bytes.insert(UInt8(truncatingIfNeeded: next()), at: place)
        default: bytes.removeSubrange(place...)
        }
    }
}
