package import Decoding
import Glibc
import LinuxKernel

/// What a decoder does with one picture. The program itself has one; the test of its confinement has another.
package protocol PictureMaker {
    /// Whatever has to be opened, before anything is given up; throws what people should read.
    mutating func prepare() throws
    /// Reads the picture on one descriptor and writes the small ones to the other.
    mutating func make(_ request: DecoderRequest, picture: Int32, answer: Int32) -> DecoderMessage
}

/// The life of a decoder: prepare, give everything up, then answer requests on descriptor 0 until nobody asks any more.
package enum DecoderService {
    /// How it ends; the client tells people what they mean.
    package enum Status: Int32 {
        case done = 0
        case usage = 64
        /// The decoding libraries did not start.
        case notPrepared = 70
        /// The socket failed.
        case socket = 71
        /// Something of the confinement could not be had, and all of it is required.
        case notConfined = 77
    }

    /// Runs it to its end.
    package static func run(_ arguments: [String], maker: some PictureMaker) -> Status {
        guard let options = DecoderArguments(arguments) else {
            tell("usage: photoinbox-decoder [--best-effort] --address-space BYTES (started by photoinboxd)")
            return .usage
        }
        // `systemctl kill -s USR1 photoinboxd` reaches every process of the service; it is meant for the daemon.
        for number in [SIGHUP, SIGUSR1, SIGUSR2] { signal(number, SIG_IGN) }
        // Where memory runs out, a picture is to go before the daemon does; see proc_pid_oom_score_adj(5).
        Self.offerFirst()
        var maker = maker
        do { try maker.prepare() } catch {
            tell("photoinbox-decoder: \(error)")
            return .notPrepared
        }
        // From here on it has a client to tell, and whoever may come to command it has no journal to write to.
        silence()
        let gaps = Confinement.begin(
            Confinement.Limits(addressSpace: options.addressSpace, fileSize: options.answerSize))
        do {
            let hello = DecoderHello(gaps: gaps.map(\.description).joined(separator: "; "))
            try MessageSocket.send(DecoderMessage.hello(hello).encoded, to: STDIN_FILENO)
            guard gaps.isEmpty || !options.isConfinementRequired else { return .notConfined }
            while let message = try next(&maker) { try MessageSocket.send(message.encoded, to: STDIN_FILENO) }
            return .done
        } catch {
            return .socket
        }
    }

    private static func offerFirst() {
        let file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        _ = write(file, "1000", 4)
        close(file)
    }

    /// The answer to the next request; nil where none comes any more.
    private static func next(_ maker: inout some PictureMaker) throws(SystemCallError) -> DecoderMessage? {
        let (received, numbers) = try MessageSocket.receiveWithDescriptors(
            limit: DecoderWire.longestMessage, from: STDIN_FILENO)
        defer { for number in numbers { close(number) } }
        switch received {
        case .end: return nil
        case .tooLong(let length): return refused("a request of \(length) bytes")
        case .message(let bytes):
            do throws(WireError) {
                let request = try DecoderRequest(encoded: bytes)
                guard numbers.count == 2 else { return refused("\(numbers.count) descriptors", id: request.id) }
                // Even where it cannot be had, the client's own deadline holds.
                try? Confinement.limitProcessorTime(seconds: request.limits.processorSeconds)
                defer { try? Confinement.limitProcessorTime(seconds: 0) }
                return maker.make(request, picture: numbers[0], answer: numbers[1])
            } catch {
                return refused(error.description)
            }
        }
    }

    private static func refused(_ reason: String, id: UInt64 = 0) -> DecoderMessage {
        .refusal(DecoderRefusal(id: id, code: .badRequest, reason: reason))
    }

    private static func silence() {
        let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard null >= 0 else { return }
        dup2(null, STDERR_FILENO)
        close(null)
    }

    private static func tell(_ text: String) {
        var line = text + "\n"
        _ = line.withUTF8 { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}

/// What the client starts it with. Read by hand: the less a confined program holds, the better.
struct DecoderArguments {
    var isConfinementRequired = true
    var addressSpace: UInt64 = 0
    /// All small pictures of one answer.
    let answerSize = DecoderWire.longestPart * UInt64(DecoderRequest.mostSizes)

    init?(_ arguments: [String]) {
        var rest = arguments[...]
        while let word = rest.popFirst() {
            switch word {
            case "--best-effort": isConfinementRequired = false
            case "--address-space":
                guard let text = rest.popFirst(), let bytes = UInt64(text) else { return nil }
                addressSpace = bytes
            default: return nil
            }
        }
        guard addressSpace > 0 else { return nil }
    }
}
