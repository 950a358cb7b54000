import ArgumentParser
import CommandContact
import CommandSupport
import FileValues
import Glibc
import LinuxKernel
import Reporting
import Settings
import SystemPackage
import WebAccounts
import WebProgram
import WebServing

extension Role: ExpressibleByArgument {}

struct WebCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "web", "Serve the pages to your browser, or say who may use them.",
        "[OPTION…] [user|link add|remove|list [NAME]]")
    static let toleratesMistakes = true

    static let lesson = """
        EXAMPLES:
          photoinbox web                                    the pages, for you alone, until Ctrl-C
          photoinbox web user add ana --role operator       a link with which ana sets a password, once
          photoinbox web user list                          who may use the pages of photoinbox-web.service
          photoinbox web user remove ana                    ends her sessions, too
          photoinbox web link add oma --until 2026-12-31 --quota 20G
                                                            a link by which anybody sends photos until that day's end
          photoinbox web link list                          the links, and until when they work
          photoinbox web link remove oma                    it works no more; a request under way is finished

        Without arguments, the pages are served at a port of this machine, and the link that is printed signs you in, once.
        What you do there is done with your own permissions.

        photoinbox-web.socket serves the pages to others, behind a proxy that has a certificate. These people are in web.users
        beside the configuration, which only its owner can change; a viewer sees, a sender can also send photos, an operator
        can also retry, release, discard, undo, pause and resume. Adding somebody again makes a new link and ends the old password.

        Whoever has a guest's link can send photos into the inbox for uploads and see what becomes of these, and nothing else. Links
        are in web.links, beside web.users. Adding one again makes a new link, and what was sent by the old one counts.

        EXIT STATUS:
          0   done
          1   the port is taken, or the file cannot be written
          4   there is nobody, or no link, of that name
          75  another "photoinbox web user" or "web link" is at work
          64, 69, 77, 78: see photoinbox --help
        """

    @Option(help: "The port of 127.0.0.1 to serve the pages at; 0 for any.")
    var port: UInt16 = 8420

    @Option(
        help: ArgumentHelp(
            "The inbox for photos that you send. Default: that of [web] in the configuration, or the only one.",
            valueName: "name"))
    var inbox: String?

    @Option(
        help: ArgumentHelp(
            "What the person may do: viewer, sender or operator. Default: as before, and viewer for somebody new.",
            valueName: "role"))
    var role: Role?

    @Option(
        help: ArgumentHelp(
            "The address at which people reach the pages, for the link.", valueName: "address"))
    var address = "http://localhost:8420/"

    @Option(
        help: ArgumentHelp("The last day on which a guest's link works, or the time of its end.", valueName: "date"))
    var until: String?

    @Option(
        help: ArgumentHelp("How much can be sent by a guest's link in all: 20G. Default: no limit.", valueName: "size"))
    var quota: ByteSize?

    @OptionGroup var places: PlaceOptions

    @Argument(help: ArgumentHelp("What to do with people; without it, the pages are served.", valueName: "user"))
    var words: [String] = []

    private enum Task {
        case serve, list
        case add(String)
        case remove(String)
        case link(GuestLinkTask)
    }

    private var task: Task? {
        switch (words.first, words.dropFirst().first, words.count) {
        case (nil, _, _): .serve
        case ("user", "list", 2): .list
        case ("user", "add", 3): .add(words[2])
        case ("user", "remove", 3): .remove(words[2])
        case ("link", "list", 2): .link(.list)
        case ("link", "add", 3): .link(.add(words[2]))
        case ("link", "remove", 3): .link(.remove(words[2]))
        default: nil
        }
    }

    func validate() throws {
        guard let task else {
            throw ValidationError("Write: user add NAME, user remove NAME, user list, or the same with link.")
        }
        if case .add(let name) = task, !Person.isName(name) {
            throw ValidationError("A name has at most 64 letters, digits, and the characters . _ - @")
        }
        if case .link(.add(let label)) = task {
            guard GuestLink.isLabel(label) else {
                throw ValidationError(
                    "A label has at most 64 letters, digits, and the characters . _ - @, and no dot first")
            }
            guard let until, GuestLinkTask.end(until) != nil else {
                throw ValidationError("--until must be a day like 2026-12-31, or a time like 2026-12-31T18:00.")
            }
        } else if until != nil || quota != nil {
            throw ValidationError("--until and --quota are for link add.")
        }
    }

    func run(at places: Places) throws {
        switch task {
        case .serve, nil: try serve(places)
        case .list: try list(file(places))
        case .add(let name): try add(name, to: file(places))
        case .remove(let name): try remove(name, from: file(places))
        case .link(let task):
            let file = WebProgram.people(of: places).parent.appending(GuestLinks.file)
            try task.run(file, until: until, quota: quota?.bytes, address: base)
        }
    }

    /// A symbolic link is followed, so that it is still one when the file is replaced.
    private func file(_ places: Places) -> BytePath {
        let file = WebProgram.people(of: places)
        return (try? realPath(file)) ?? file
    }

    private func serve(_ places: Places) throws {
        let listener: WebListener
        do throws(SystemCallError) { listener = try WebListener(loopbackPort: port) } catch {
            guard error.code == .addressInUse else { throw error }
            throw CommandFailure(
                .failed, "port \(port) of 127.0.0.1 is taken", action: "Use another: photoinbox web --port 0")
        }
        let user = userName(geteuid()) ?? "user-\(geteuid())"
        let owner = Accounts.Owner(name: Person.isName(user) ? user : "user-\(geteuid())")
        let port = listener.port ?? port
        let program = WebProgram(places, owner: owner, port: port, inbox: inbox)
        let link = "http://127.0.0.1:\(port)/#link=\(owner.link.text)"
        try printOut("photo-inbox: \(link)\nThe link signs you in, once. Ctrl-C ends the pages.\n")
        program.serve([listener])
    }

    // MARK: - People

    private var base: String { address.hasSuffix("/") ? address : address + "/" }

    private static let linkTime: Int64 = 7 * 86_400

    private func add(_ name: String, to file: BytePath) throws {
        let lock = try SetupLock(of: file, against: "photoinbox web user")
        defer { withExtendedLifetime(lock) {} }
        var people = try read(file)
        let before = people[name]
        let role = role ?? before?.role ?? .viewer
        let link = Secret()
        let end = Int64(time(nil)) + Self.linkTime
        people.put(Person(name: name, role: role, invitation: Person.Invitation(link: link.hash, end: end)))
        try write(people, to: file)
        try printOut(
            "\(before == nil ? "added" : "changed") \(name), \(role.rawValue). Within 7 days, a password is set at\n"
                + "\(base)#link=\(link.text)\nThe link works once. Whoever has it is \(name).\n")
    }

    private func remove(_ name: String, from file: BytePath) throws {
        let lock = try SetupLock(of: file, against: "photoinbox web user")
        defer { withExtendedLifetime(lock) {} }
        var people = try read(file)
        guard people.remove(name) else { throw CommandFailure(.noMatch, "there is nobody named \(printable(name))") }
        try write(people, to: file)
        try printOut("removed \(name)\n")
    }

    private func list(_ file: BytePath) throws {
        let people = try read(file).all
        if people.isEmpty {
            throw CommandFailure(
                .noMatch, "nobody may use the pages", action: "Add somebody: photoinbox web user add NAME")
        }
        var table = TextTable([("NAME", .left), ("ROLE", .left)])
        for person in people { table.add([person.name, person.role.rawValue]) }
        try printOut(table.rendered(Terminal.style(.never)))
    }

    private func read(_ file: BytePath) throws -> People {
        let bytes: [UInt8]
        do throws(SystemCallError) { bytes = try content(of: file) } catch {
            if error.code == .noSuchFileOrDirectory { return People() }
            throw error
        }
        do throws(People.WrongLine) { return try People(String(decoding: bytes, as: UTF8.self)) } catch {
            throw CommandFailure(.configuration, "\(file): \(error)", action: "Correct that line.")
        }
    }

    /// Readable for all, as passwd(5) is: it has nothing with which anybody can sign in.
    private func write(_ people: People, to file: BytePath) throws {
        try openDirectory(file.parent).put(Array(people.text.utf8), as: file.name, mode: 0o644, durably: true)
    }
}
