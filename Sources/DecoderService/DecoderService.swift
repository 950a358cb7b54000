package import Decoding
import Glibc
import LinuxKernel

/// How a decoder processes one picture; the program and the test of its confinement have different ones.
package protocol PictureMaker {
    /// Opens what must be opened before confinement, and with `films` what reads films; throws a message for people.
    mutating func prepare(films: Bool) throws
    /// Reads the picture on one descriptor and writes the renditions to the other.
    mutating func make(_ request: DecoderRequest, picture: Int32, answer: Int32) -> DecoderMessage
}

/// A decoder: prepares, confines itself, then answers requests on descriptor 0 until the client disconnects.
package enum DecoderService {
    /// The exit status, which the client explains to people.
    package enum Status: Int32 {
        case done = 0
        case usage = 64
        /// The decoding libraries did not start.
        case notPrepared = 70
        /// The socket failed.
        case socket = 71
        /// The confinement is incomplete, and required.
        case notConfined = 77
    }

    /// Runs the decoder; returns its exit status.
    package static func run(_ arguments: [String], maker: some PictureMaker) -> Status {
        guard let options = DecoderArguments(arguments) else {
            writeToStandardError(
                "usage: photoinbox-decoder [--best-effort] [--films] --address-space BYTES (started by photoinboxd)")
            return .usage
        }
        // `systemctl kill -s USR1 photoinboxd` signals every process of the service, but means the daemon.
        for number in [SIGHUP, SIGUSR1, SIGUSR2] { signal(number, SIG_IGN) }
        // If memory runs out, the decoder should be killed before the daemon; see proc_pid_oom_score_adj(5).
        Self.preferForOutOfMemoryKill()
        var maker = maker
        do { try maker.prepare(films: options.readsFilms) } catch {
            writeToStandardError("photoinbox-decoder: \(error)")
            return .notPrepared
        }
        // From here on errors go to the client, and a compromised decoder must not write to the journal.
        discardStandardError()
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

    private static func preferForOutOfMemoryKill() {
        let file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        _ = write(file, "1000", 4)
        close(file)
    }

    /// The answer to the next request; nil at the end.
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
                // If that fails, the client's own deadline is left.
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

    private static func discardStandardError() {
        let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard null >= 0 else { return }
        dup2(null, STDERR_FILENO)
        close(null)
    }
}

/// Its arguments, parsed by hand to keep a confined program small.
struct DecoderArguments {
    var isConfinementRequired = true
    var readsFilms = false
    var addressSpace: UInt64 = 0
    /// The largest answer.
    let answerSize = DecoderWire.longestPart * UInt64(DecoderRequest.mostSizes)

    init?(_ arguments: [String]) {
        var rest = arguments[...]
        while let word = rest.popFirst() {
            switch word {
            case "--best-effort": isConfinementRequired = false
            case "--films": readsFilms = true
            case "--address-space":
                guard let text = rest.popFirst(), let bytes = UInt64(text) else { return nil }
                addressSpace = bytes
            default: return nil
            }
        }
        guard addressSpace > 0 else { return nil }
    }
}
