import Catalogue
package import CommandContact
package import CommandSupport
import Explaining
package import FileValues
import Glibc
import LinuxKernel
import PhotoModel
import Renditions
import Reporting
import Settings
import Storing
import SystemPackage
package import WebAccounts
import WebPages
package import WebServing

/// The program `photoinbox-web`, and the server of `photoinbox web`; see docs/decisions/0060.
package struct WebProgram {
    /// Of the daemon that is shown.
    package let places: Places
    private let accounts: Accounts
    private var options = PageServer.Options()

    private static let program = SocketProgram(
        name: "photoinbox-web", options: [("--config", "FILE"), ("--proxy-user", "NAME")])

    /// Served at a port of this machine to the person who started it in a terminal, and to nobody else. What is sent goes into
    /// `inbox`, or else into the configuration's or the only one.
    package init(
        _ places: Places, owner: Accounts.Owner, port: UInt16, inbox: String?
    ) throws(CommandFailure) {
        self.places = places
        accounts = Accounts(owner: owner)
        options.owner = owner.person.name
        options.cookie = "photoinbox-\(port)"
        options.hosts = ["127.0.0.1", "localhost"]
        options.log = Self.program.log
        let drop = OwnDrop(places, inbox: inbox, log: Self.program.log)
        try drop.requireInbox()
        options.drop = drop.way
        options.link = Self.link(by: Self.people(of: places).parent)
    }

    /// The file of people that belongs to a configuration, or to a state directory without one.
    package static func people(of places: Places) -> BytePath {
        guard places.settings != nil || places.hasMistakes else { return places.state.appending(Person.file) }
        let context = SettingsContext.ofProcess()
        let file = places.named ?? context.standardFile
        return (file.isAbsolute ? file : context.workingDirectory.appending(file)).parent.appending(Person.file)
    }

    // MARK: - The service

    /// The program's main function, for photoinbox-web.service.
    package static func main() -> Never {
        program.main { options in
            var limits = WebLimits()
            limits.idle = SocketProgram.idle
            let ending = SocketProgram.Ending()
            let server = try WebProgram(options, ending).server(limits)
            ending.running.withLock { $0 = server }
            return SocketProgram.Service(server: server)
        }
    }

    private init(_ given: [String: String], _ ending: SocketProgram.Ending) throws {
        // The daemon that runs has read a configuration without mistakes.
        places = try Places(
            PlaceOptions(config: given["--config"].map { RawArgument(path: BytePath($0)) }), despiteMistakes: true,
            remarks: false)
        guard let own = given["STATE_DIRECTORY"] else {
            throw CommandFailure(.usage, "$STATE_DIRECTORY is not set; photoinbox-web.service does that")
        }
        let people = Self.people(of: places)
        accounts = Accounts(peopleFile: people, state: BytePath(own))
        options.log = Self.program.log
        if let proxy = given["--proxy-user"] {
            guard let user = userNumber(proxy) else { throw CommandFailure(.usage, "there is no user \(proxy)") }
            options.proxy = user
        }
        // With a mistake in the configuration nobody knows whether there is one; photoinbox-drop says what is wrong.
        if places.settings?.dropInbox != nil || places.hasMistakes { options.drop = DropProgram.relay }
        options.link = Self.link(by: people.parent)
        confine(to: people.parent, writing: BytePath(own))
        guard let library = places.settings?.library else { return }
        // Landlock's rules are for directories, not for their paths: a disk that is mounted later, or again, is another one, and
        // the quarantine is made for its first file.
        @Sendable func directory(_ path: BytePath) -> [UInt64]? {
            (try? FileStatus(at: path, followingLinks: true)).map { [UInt64($0.device), $0.identity.inode] }
        }
        let ruled = [library.path, library.quarantine].map { ($0, directory($0)) }
        options.mayNotOpen = {
            guard let (path, _) = ruled.first(where: { directory($0) != $1 }) else { return false }
            if ending.begin() { Self.program.log("another directory is at \(path); starting anew") }
            return true
        }
    }

    /// Addresses of objects, signed by the credentials in web.bucket beside the configuration, if that is there.
    private static func link(by directory: BytePath) -> @Sendable (PhotoRecord) throws -> String? {
        { photo in
            let credentials: StoreCredentials
            do { credentials = try StoreCredentials(at: directory.appending("web.bucket")) } catch let error
                as SystemCallError where error.code == .noSuchFileOrDirectory
            { return nil }
            return try StoreAddress("\(photo.library)").link(
                to: photo.libraryPath, named: photo.originalName, by: credentials, now: Moment.now.wall, seconds: 600)
        }
    }

    /// Gives up all files but those that are shown, the configuration's directory with web.users, and its own state. What the
    /// unit's mounts forbid is forbidden once more, and inboxes, which only the configuration knows.
    private func confine(to people: BytePath, writing state: BytePath) {
        let system: [BytePath] = ["/etc", "/usr", "/lib", "/lib64", "/proc", "/sys", "/dev", "/run"]
        // The file may be a link.
        let file = people.appending(Person.file)
        let shown =
            [people, (try? realPath(file))?.parent ?? people, places.state]
            + (places.catalogue.file.map { [$0.parent] } ?? [])
            + (places.settings?.library.map { [$0.path, $0.quarantine] } ?? [])
        for inbox in places.settings?.inboxes ?? [] where shown.contains(where: { inbox.path.isInside($0) }) {
            options.log("inbox \(inbox.name) is beside the configuration or the state, and so can be read from here")
        }
        do throws(SystemCallError) { try Confinement.keep(reading: system + shown, writing: [state]) } catch {
            options.log("could not restrict its access to what it shows, continuing: \(error)")
        }
    }

    // MARK: - Serving

    /// How many outcomes of a photo are shown.
    private static let outcomes = 50

    private static func views(of places: Places) -> PhotoViews {
        let work = ThumbnailWork(places.settings, state: places.state)
        let sizes = work.settings.sizes
        // Of what was filed before there were tiles, the thumbnail, until it has one.
        let ofTiles = [work.settings.tile] + sizes.reversed()
        return PhotoViews { hash, picture throws(SystemCallError) in
            let word =
                switch picture {
                case .tile: ofTiles.first { work.store.has(hash, size: $0) }.map { "\($0)" }
                case .largest: sizes.first { work.store.has(hash, size: $0) }.map { "\($0)" }
                case .rendition(let kind): work.word(of: kind)
                }
            guard let word else { throw SystemCallError("open", .noSuchFileOrDirectory) }
            return try work.store.open(hash, word)
        } tell: { photo, catalogue, state throws(CatalogueError) in
            let account = try Account(of: photo, in: catalogue, places, limit: outcomes)
            return PhotoViews.Account(
                record: .object(account.fields),
                why: try Explanation(photo, in: catalogue, places, state: state, limit: outcomes).json,
                renditions: account.renditions.map {
                    PhotoViews.Rendition($0.kind, state: $0.state.rawValue, reason: $0.reason)
                })
        }
    }

    /// Serves until the process is ended.
    package func serve(_ listeners: [WebListener]) -> Never {
        Self.program.serve(SocketProgram.Service(server: server(WebLimits())), listeners)
    }

    private func server(_ limits: WebLimits) -> WebServer {
        let pages = PageServer(places, accounts: accounts, options: options, views: Self.views(of: places))
        Task { [accounts, options] in if let mistake = await accounts.mistake { options.log(mistake) } }
        return WebServer(limits, streaming: PageServer.isStreamed) { await pages.answer(to: $0, &$1) }
    }
}
