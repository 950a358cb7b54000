import Catalogue
import CommandContact
import CommandSupport
import ControlProtocol
import FileValues
import Glibc
import LinuxKernel
import PhotoModel
import Reporting
import Settings
import SystemPackage

/// The answers to the questions.
struct SetupAnswers: Hashable {
    var droppers: Droppers
    var inbox: BytePath
    var inboxName: String
    var library: BytePath
    /// One of those who drop, as whom the test photo is dropped.
    var user: String
    /// The group whose members may drop; nil for a user's own daemon.
    var group: String?
    /// Whether somebody named the group, so that a directory may be given to it.
    var isGroupChosen = false
    /// Whether ``user`` runs this itself, by sudo.
    var isCaller = false
    var configuration: BytePath
    /// libpq's words for the catalogue that is used with other hosts; nil for what the configuration says.
    var joined: String?

    /// Whether it is about the system's service, and not a user's own.
    var isOfSystem: Bool { group != nil }
}

/// What is there: all that a plan depends on.
struct SetupFacts {
    /// The user as whom the daemon runs, or will run.
    var service: String
    /// The name of that user's group.
    var serviceGroup: String
    var configuration: [UInt8]?
    /// Why it could not be read, though it is there.
    var unreadable: String?
    var context: SettingsContext
    var hasSetfacl = true
    /// For the names of copies.
    var date = ""
    /// Nil if no service manager can be asked, or it has no unit for the daemon.
    var unit: SetupUnit?
    /// The library and the inboxes of the daemon that runs with a configuration; throws if it runs and does not answer.
    var running: (Settings) throws(CommandFailure) -> (library: BytePath, inboxes: [BytePath])?
    var account: (String) -> Account?
    var groupNumber: (String) -> UInt32?
    var place: (BytePath) -> SetupPlace?
    /// A path without links; throws if somebody else could change one.
    var resolve: (BytePath) throws(CommandFailure) -> BytePath
    var content: (BytePath) -> [UInt8]?
    /// When a file was changed, in seconds.
    var modified: (BytePath) -> Int64?
    /// What libpq's words name; see ``CatalogueServer/named()``.
    var named: (String) throws(CommandFailure) -> (servers: [String], passwordFile: String?)
    /// The catalogue in PostgreSQL of these settings, for an inbox of this name.
    var catalogue: (Settings, String) throws(CommandFailure) -> SetupCatalogue
    /// The number of photos in a catalogue that is a file; 0 if there is none.
    var photos: (BytePath) throws(CommandFailure) -> Int
}

/// What is at a path.
struct SetupPlace: Hashable {
    var isDirectory = true
    var owner = "root"
    var group = "root"
    var user: UInt32 = 0
    var groupNumber: UInt32 = 0
    var mode: UInt32 = 0o755
    /// That of files that are made in it.
    var newFiles: AccessList?
    /// Its own, if it has more than permission bits.
    var access: AccessList?
    /// The number of files and directories in it; nil if that is not known.
    var entries: Int? = 0
    var device: UInt64 = 0
    var inode: UInt64 = 0

    /// `root:root 0755`
    var text: String { "\(owner):\(group) \(modeText)" }
    var modeText: String { octal(mode) }

    /// Whether `account` has all of these permissions: 4 to read, 2 to write, 1 to search.
    func grants(_ wanted: UInt32, to account: Account) -> Bool {
        (access ?? AccessList(mode: mode)).grants(wanted, to: account, owner: user, group: groupNumber)
    }

    /// What to do about it at `path` if it is somebody else's.
    func ownerAdvice(_ path: BytePath) -> String {
        guard user >= 1_000, !path.isInside("/etc") else {
            return "It is the system's: use sudo photoinbox setup, or name another."
        }
        return "It is \(owner)'s: name another."
    }

    /// Whether `account` may not remove what others have put into it.
    func isSticky(for account: Account) -> Bool { mode & 0o1000 != 0 && account.user != user && account.user != 0 }
}

extension SetupPlace {
    init(_ status: FileStatus) {
        isDirectory = status.kind == .directory
        (user, groupNumber, mode) = (status.user, status.group, status.mode)
        owner = userName(status.user) ?? "\(status.user)"
        group = groupName(status.group) ?? "\(status.group)"
        (device, inode) = (status.device, status.identity.inode)
        entries = nil
    }

    /// Examines `path` without following links; nil if nothing is there, or it cannot be seen.
    init?(at path: BytePath) {
        guard
            let status = try? path.name.isEmpty
                ? FileStatus(of: openDirectory("/"))
                : FileStatus(of: path.name, in: openWithoutLinks(path.parent, .placeAlone))
        else { return nil }
        self.init(status)
        // What is read must be what was just seen.
        guard isDirectory, let directory = try? openWithoutLinks(path),
            let now = try? FileStatus(of: directory), (now.device, now.identity.inode) == (device, inode)
        else { return }
        newFiles = directory.attribute(AccessList.ofNewFiles, most: 4_096).flatMap { AccessList(attribute: $0) }
        access = directory.attribute(AccessList.ofFile, most: 4_096).flatMap { AccessList(attribute: $0) }
        entries = try? directory.entries().count
    }
}

extension SetupFacts {
    /// Examines this machine for `answers`.
    init(examining answers: SetupAnswers, _ unit: SetupUnit?) {
        context = .ofProcess()
        self.unit = unit
        hasSetfacl = tool("setfacl") != nil
        let now = Moment.now.wall
        let text = LocalClock(at: now.seconds).rfc3339(now.seconds) ?? "\(now.seconds)"
        // To the nanosecond, so that a second run within the same second has another name.
        date = "\(text.prefix(19).replacing(":", with: "")).\(now.nanoseconds)"
        do throws(SystemCallError) { configuration = try contents(of: answers.configuration) } catch {
            if error.code != .noSuchFileOrDirectory { unreadable = "\(error.code)" }
        }
        let own = Account.ofProcess()
        service = answers.isOfSystem ? unit.service : own.name
        serviceGroup = answers.isOfSystem ? unit.serviceGroup : groupName(getegid()) ?? service
        account = { name in !answers.isOfSystem && name == own.name ? own : LinuxKernel.account(name) }
        groupNumber = { LinuxKernel.groupNumber($0) }
        place = { SetupPlace(at: $0) }
        resolve = { path throws(CommandFailure) in try LinkWalk(path).path }
        content = { try? contents(of: $0) }
        modified = { (try? FileStatus(at: $0))?.identity.modified.seconds }
        named = { words throws(CommandFailure) in
            do throws(CatalogueError) { return try CatalogueServer(words, client: "photoinbox").named() } catch {
                throw CommandFailure(error, at: .server(words))
            }
        }
        catalogue = { settings, inbox throws(CommandFailure) in try SetupCatalogue(asking: settings, inbox: inbox) }
        photos = { file throws(CommandFailure) in
            do throws(CatalogueError) { return try CatalogueFile.openForReading(.file(file)).totals().photos } catch {
                if error.code == .missing { return 0 }
                throw CommandFailure(error, at: .file(file))
            }
        }
        running = { settings throws(CommandFailure) in
            do throws(CommandFailure) {
                let state = try ControlContact(runtime: settings.runtime).daemonState(within: 5)
                return (BytePath(escaped: state.library) ?? "", state.inboxes.compactMap { BytePath(escaped: $0.path) })
            } catch {
                // One that runs and is silent must not get a second one beside it.
                if error.status == .unavailable { return nil }
                throw error
            }
        }
    }
}

extension SetupFacts {
    /// Throws if `path` is of the system or of many, or somebody's home.
    func requireNoOtherUse(of path: BytePath, _ answers: SetupAnswers) throws(CommandFailure) {
        let homes = [answers.user, place(path)?.owner].compactMap { $0.flatMap { account($0)?.home } }
        if path.isShared || answers.isOfSystem && path.isOfSystem
            || homes.contains(where: { (try? resolve(BytePath($0))) == path })
        {
            throw CommandFailure(.usage, "\(path) has other uses", action: "Name a directory of its own.")
        }
    }

    /// The option by which commands find the daemon; empty for the standard one.
    func option(for configuration: BytePath) -> String {
        configuration == context.standardFile ? "" : " --config \(configuration.quoted)"
    }
}

private let searched = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/// Where a program of the system is; nil if it is not installed.
func tool(_ name: String) -> BytePath? {
    let places = name.hasPrefix("/") ? [name] : searched.split(separator: ":").map { "\($0)/\(name)" }
    return places.first { access($0, X_OK) == 0 }.map { BytePath($0) }
}

/// Runs a program of the system to its end; nil if it is not installed.
func runTool(
    _ words: [String], input: ChildProcess.Stream = .null
) throws(SystemCallError) -> (exit: ProcessExit, output: String)? {
    guard let name = words.first, let program = tool(name) else { return nil }
    // What systemctl --user finds its manager by.
    var environment = ["PATH": searched, "LC_ALL": "C.UTF-8"]
    for name in ["HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"] {
        environment[name] = Terminal.variable(name)
    }
    let output = try OwnedDescriptor.memoryFile(named: "output")
    let exit = try ChildProcess.spawn(
        program, words.dropFirst().map { BytePath($0) }, environment: environment, input: input,
        output: .descriptor(output.raw), error: .descriptor(output.raw)
    ).wait()
    return (exit, String(decoding: try output.read(65_536), as: UTF8.self))
}
