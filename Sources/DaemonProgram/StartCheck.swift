import Catalogue
import ControlProtocol
import DaemonHost
import DaemonSupport
import FileValues
import Glibc
import LinuxKernel
import PhotoModel
import Reporting
import Settings
import SystemPackage

/// What a daemon would find of its catalogue and its library when it starts, for `--check`. Changes nothing.
struct StartCheck {
    enum Result {
        case usable
        /// A daemon would start, and wait for this.
        case waiting(String)
        /// It would file nothing so.
        case unusable
    }

    private let settings: Settings
    private let address: DaemonAddress
    /// Whether the library is not looked at: in a unit a daemon starts next, which reports it itself, and setup makes directories
    /// after it has a content checked.
    private let isWithoutLibrary: Bool

    private var place: CataloguePlace { settings.catalogue }

    init(_ settings: Settings, _ options: DaemonOptions, isOfInput: Bool) {
        self.settings = settings
        address = options.address(settings)
        isWithoutLibrary = isOfInput || options.context.stateDirectory != nil
    }

    /// Prints it.
    func run() -> Result {
        do {
            if case .server(let words) = place {
                let found = try ServerCheck(CatalogueServer(words, client: "photoinboxd"))
                print("\(place.description): \(found.facts)")
                for problem in found.risks + found.faults { Self.printError("\(place.description): \(problem)") }
                if !found.faults.isEmpty { return .unusable }
            } else if isWithoutLibrary {
                return .usable
            }
            let catalogue = try CatalogueFile.openForReading(place)
            defer { catalogue.close() }
            return try result(catalogue)
        } catch let error as CatalogueError {
            // A daemon makes and updates one, and sets aside a damaged file.
            if [.missing, .olderSchema].contains(error.code) { return .usable }
            if place.file != nil, error.code != .newerSchema { return .usable }
            Self.printError("\(place.name.escaped): \(error.explained)")
            return error.isAway ? .waiting("the catalogue, which cannot be checked now") : .unusable
        } catch {
            Self.printError("\(place.name.escaped): \(error)")
            return .unusable
        }
    }

    private func result(_ catalogue: CatalogueFile) throws -> Result {
        var problems: [Problem] = []
        var faults: [String] = []
        if catalogue.isShared {
            let key: String?
            // Who may not read which host this is cannot know what is its own.
            do throws(SystemCallError) { key = try hostKey() } catch { return .usable }
            let host = try key.flatMap { try catalogue.readAsHost($0) }
            faults = try inboxesOfOthers(catalogue, key)
            if !isWithoutLibrary, let host {
                problems += try useElsewhere(of: host, catalogue).map { [$0] } ?? []
            }
        }
        if !isWithoutLibrary { problems += try libraryProblems(settings, catalogue) }
        for fault in faults { Self.printError("\(place.description): \(fault)") }
        let clock = LocalClock(at: Moment.now.wall.seconds)
        for problem in problems {
            Self.printError("\(problem.code.rawValue): \(problem.title(clock: clock))")
            Self.printError("  action: \(address.completing(problem.action(clock: clock)))")
        }
        return faults.isEmpty && !problems.contains { $0.severity == .stopped } ? .usable : .unusable
    }

    /// By which a catalogue in PostgreSQL knows the daemon of this state directory; nil if none has run there.
    private func hostKey() throws(SystemCallError) -> String? {
        do throws(SystemCallError) {
            let content = try DaemonOptions.content(of: settings.state.appending("host"))
            return content.split(separator: UInt8(ascii: "\n")).first.map { String(decoding: $0, as: UTF8.self) }
        } catch {
            if error.code == .noSuchFileOrDirectory { return nil }
            throw error
        }
    }

    /// Which of its inboxes another host of the catalogue has, from which nothing would be filed here.
    private func inboxesOfOthers(_ catalogue: CatalogueFile, _ key: String?) throws(CatalogueError) -> [String] {
        var faults: [String] = []
        for inbox in settings.inboxes {
            guard let host = try catalogue.owner(ofInbox: inbox.name, but: key) else { continue }
            faults.append("the host \(host) has an inbox \(inbox.name) already: give this one another name")
        }
        return faults
    }

    /// How long a daemon may take to say again that it runs, in half seconds.
    private static let patience = 26

    /// That a daemon elsewhere writes as `host`, which this state directory makes its daemon: each would end what the other
    /// begins. Waits until it is seen once more, since one that was killed looks the same at first.
    private func useElsewhere(of host: CatalogueHostRow, _ catalogue: CatalogueFile) throws(CatalogueError) -> Problem?
    {
        let said = host.said.flatMap { HostReport(json: Array($0.utf8)) }
        if host.isForgotten || host.isSilent || said?.phase == "stopping" || isInUseHere { return nil }
        for _ in 0..<Self.patience {
            usleep(500_000)
            guard let now = try catalogue.hosts().first(where: { $0.key == host.key }), !now.isForgotten else {
                return nil
            }
            if now.seen <= host.seen { continue }
            let file = settings.state.appending("host").escaped
            let reason = "a daemon elsewhere writes as the host \(host.name), whose identity is in \(file) as well"
            var board = ProblemBoard()
            board.raise(.catalogueTaken, [.path: .path(place.name), .reason: .text(reason), .count: .count(0)], at: 0)
            return board.all.first
        }
        return nil
    }

    /// Whether a daemon of this state directory runs.
    private var isInUseHere: Bool {
        guard let lock = try? FileStatus(at: settings.state.appending("lock")) else { return false }
        return lockHolder(of: lock.identity.inode) != nil
    }

    private static func printError(_ line: String) { writeToStandardError(line) }
}
