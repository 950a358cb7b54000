import CommandContact
import CommandSupport
import Fetching
import FileValues
import HTTPValues
import LinuxKernel
import Reporting
import Settings

/// The addresses among the arguments and in the files that they name, each once.
struct FetchLinks {
    /// An invalid address.
    struct Refusal: Hashable {
        /// The argument, or the file and its line.
        let place: String
        let reason: String
    }

    private(set) var addresses: [WebAddress] = []
    private(set) var refusals: [Refusal] = []
    private var known: Set<WebAddress> = []

    init(_ arguments: [BytePath]) throws {
        for argument in arguments {
            if Self.isAddress(argument) {
                add(Result(catching: { () throws(AddressRefusal) in try WebAddress(argument.bytes) }), argument.escaped)
            } else {
                try add(file: argument)
            }
        }
        guard addresses.count <= FetchLimits.mostAddresses else {
            throw CommandFailure(
                .usage, "\(addresses.count) addresses are too many for one batch",
                action: "Fetch at most \(FetchLimits.mostAddresses) at a time.")
        }
    }

    /// An argument with "://" is an address, not a file.
    private static func isAddress(_ argument: BytePath) -> Bool {
        String(decoding: argument.bytes.prefix(64), as: UTF8.self).contains("://")
    }

    private mutating func add(_ address: Result<WebAddress, AddressRefusal>, _ place: String) {
        switch address {
        case .success(let address): if known.insert(address).inserted { addresses.append(address) }
        case .failure(let refusal): refusals.append(Refusal(place: place, reason: "\(refusal)"))
        }
    }

    private mutating func add(file path: BytePath) throws {
        guard let kind = LinkFile(name: path) else {
            throw CommandFailure(
                .usage, "\(path) is neither an address nor a file of links",
                action: "Write http:// or https:// before an address; files end in .links, .url or .webloc.")
        }
        let bytes = try contents(of: path)
        do throws(LinkFileRefusal) {
            for line in try kind.read(bytes) { add(line.address, "\(path):\(line.number)") }
        } catch { throw CommandFailure(.failed, "\(path): \(error)") }
    }
}
