import Fetching
import FileValues
import Filing
import Glibc
import HTTPValues
import LinuxKernel

/// What a file of links asks for. A value.
struct LinkOrder: Hashable, Sendable {
    /// A line that holds no address that can be fetched.
    struct Refusal: Hashable, Sendable {
        /// From 1.
        let line: Int
        /// A clause without a final stop.
        let reason: String
    }

    /// The file as it was read.
    let identity: FileIdentity
    /// Each once, in the file's order: their numbers mean something as long as the file has this identity.
    let addresses: [WebAddress]
    let refusals: [Refusal]

    init(identity: FileIdentity, lines: [LinkLine]) {
        self.identity = identity
        var known: Set<WebAddress> = []
        var addresses: [WebAddress] = []
        var refusals: [Refusal] = []
        for line in lines {
            switch line.address {
            case .success(let address): if known.insert(address).inserted { addresses.append(address) }
            case .failure(let refusal): refusals.append(Refusal(line: line.number, reason: "\(refusal)"))
            }
        }
        self.addresses = addresses
        self.refusals = refusals
    }
}

/// One reading of a file of links. It is opened beneath the inbox without following links, and has one name.
enum LinkReading: Sendable {
    case order(LinkOrder)
    /// None of it can be fetched, for one reason.
    case refused(String, FileIdentity)
    /// It is not there any more, or is no regular file.
    case gone(String)
    /// Somebody writes to it, or it changed while it was read.
    case busy

    /// The most bytes that are read of one. `photoinbox fetch` accepts longer lists.
    static let longest = 1 << 20

    /// Reads `path` of the inbox at `inbox`. Waits for the disk; throws what another try may not meet.
    static func read(_ path: BytePath, in inbox: BytePath, probe: WriterProbe) throws -> LinkReading {
        guard let kind = LinkFile(name: path) else { return .gone("its name is none of a file of links") }
        do throws(FilingError) {
            let source = try SourceFile(path, beneath: try openInbox(inbox))
            if probe.probe(source) == .writerOpen { return .busy }
            let longest = min(kind.longest, Self.longest)
            guard source.identity.size <= longest else {
                return .refused("it is larger than \(longest) bytes; make several of it", source.identity)
            }
            let bytes = try content(of: source)
            try source.requireUnchanged(.openSource)
            do throws(LinkFileRefusal) {
                return .order(LinkOrder(identity: source.identity, lines: try kind.read(bytes)))
            } catch { return .refused("\(error)", source.identity) }
        } catch {
            switch error.cause {
            case .refused(let refusal): return .gone("\(refusal)")
            case .sourceChanged: return .busy
            default: throw error
            }
        }
    }

    private static func openInbox(_ path: BytePath) throws(FilingError) -> OwnedDescriptor {
        do { return try openDirectory(path) } catch {
            throw FilingError(.openSource, .source, .system(error), path: path)
        }
    }

    private static func content(of source: SourceFile) throws(FilingError) -> [UInt8] {
        do throws(SystemCallError) {
            var bytes: [UInt8] = []
            var part = [UInt8](repeating: 0, count: 64 << 10)
            let raw = source.content.raw
            while UInt64(bytes.count) < source.identity.size {
                let (length, offset) = (part.count, off_t(bytes.count))
                let count = try systemCall("pread") { pread(raw, &part, length, offset) }
                // It got shorter, which the check after the reading finds.
                if count == 0 { break }
                bytes += part[..<count]
            }
            return bytes
        } catch { throw FilingError(.openSource, .source, .system(error), path: source.path) }
    }
}
