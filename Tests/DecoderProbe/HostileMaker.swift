import DecoderService
import Decoding
import Glibc
import LinuxKernel

/// Performs the operation that the picture's text names.
struct HostileMaker: PictureMaker {
    let startsThread: Bool

    func prepare(films: Bool) throws {
        if startsThread { try startThread(named: "early") { while true { pause() } } }
    }

    func make(_ request: DecoderRequest, picture: Int32, answer: Int32) -> DecoderMessage {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = pread(picture, &bytes, bytes.count, 0)
        let word = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        var part = DecodedPart(size: request.sizes[0], width: 1, height: 1, offset: 0, length: 4)
        var id = request.id
        switch word {
        case "hang": while true { pause() }
        case "spin": while true {}
        case "crash": abort()
        case "exit": exit(3)
        case "closed": close(STDIN_FILENO)
        case "flood": while pwrite(answer, bytes, bytes.count, off_t(DecoderWire.longestPart) * 9) > 0 {}
        case "noise": try? MessageSocket.send([1, 2, 3], to: STDIN_FILENO)
        case "long":
            let long = [UInt8](repeating: 1, count: 60_000)
            try? MessageSocket.send(long, to: STDIN_FILENO)
        case "twice":
            _ = try? MessageSocket.send(DecoderMessage.hello(DecoderHello(gaps: "")).encoded, to: STDIN_FILENO)
        case "other-question": id += 1
        case "other-size": part.size += 1
        case "beyond": part.offset = 1
        case "far-beyond": part.offset = UInt64.max
        case "endless": part.length = UInt64.max
        case "wide": part.width = 60_000
        case "text": break
        default:
            return .refusal(
                DecoderRefusal(id: id, code: .unreadable, reason: Attempt.result(of: word, picture: picture)))
        }
        _ = pwrite(answer, word == "text" ? "text" : "\u{0}\u{0}\u{0}\u{0}", 4, 0)
        return .answer(
            DecoderAnswer(id: id, width: 1, height: 1, orientation: 1, memory: 0, parts: [part]))
    }
}
