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
        "[OPTION…] [user|link|device add|remove|list [NAME…]]")
    static let toleratesMistakes = true

    static let lesson = """
        EXAMPLES:
          photoinbox web                                    the pages, for you alone, until Ctrl-C
          photoinbox web user add ana --role operator       a link with which ana sets a password, once
          photoinbox web user list                          who may use the pages of photoinbox-web.service
          photoinbox web user remove ana                    ends her sessions and devices, too
          photoinbox web link add oma --until 2026-12-31 --quota 20G
                                                            a link by which anybody sends photos until that day's end
          photoinbox web link list                          the links, and until when they work
          photoinbox web link remove oma                    it works no more; a request under way is finished
          photoinbox web device add ana phone --address https://photos.example.org/
                                                            a password with which ana's phone sends photos by WebDAV
          photoinbox web device list                        the devices
          photoinbox web device remove ana phone            its password works no more

        Without arguments, the pages are served at a port of this machine, and the link that is printed signs you in, once.
        What you do there is done with your own permissions.

        photoinbox-web.socket serves the pages to others, behind a proxy that has a certificate. These people are in web.users
        beside the configuration, which only its owner can change; a viewer sees, a sender can also send photos, an operator
        can also retry, release, discard, undo, pause and resume. Adding somebody again makes a new link and ends the old password,
        but not those of the person's devices: remove these, too, after a theft.

        Whoever has a guest's link can send photos into the inbox for uploads and see what becomes of these, and nothing else. Links
        are in web.links, beside web.users. Adding one again makes a new link, and what was sent by the old one counts.

        A device is an app or a program that sends photos for a sender or an operator, by WebDAV at dav/, or by PUT or tus at up/, with
        a password of its own. It sees the names of what it has sent and nothing else. Devices are in web.devices, beside web.users.
        Adding one again makes a new password, and the device still sees what it has sent. One that is added after its removal is
        another, and sees nothing of that.

        Of a photo that "photoinbox store move" has moved, a download is sent to the bucket, for ten minutes, if web.bucket beside
        web.users has credentials that may read there, in the form of photoinbox-store(1).

        EXIT STATUS:
          0   done
          1   the port is taken, or the file cannot be written
          4   there is nobody, no link, no device or no inbox of that name
          75  another "photoinbox web" that changes such a file is at work
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
            "The address at which people reach the pages, for the link, with https:// or http://.", valueName: "address"
        ))
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
        case device(DeviceTask)
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
        case ("device", "list", 2): .device(.list)
        case ("device", "add", 4): .device(.add(words[3], of: words[2]))
        case ("device", "remove", 4): .device(.remove(words[3], of: words[2]))
        default: nil
        }
    }

    func validate() throws {
        guard let task else {
            throw ValidationError(
                "The words are user add NAME, user remove NAME or user list; link with the same; or device add PERSON NAME, device remove PERSON NAME or device list."
            )
        }
        if !Self.isAddress(address) {
            throw ValidationError("--address must be like https://photos.example.org/")
        }
        if case .add(let name) = task, !Person.isName(name) {
            throw ValidationError("A name has at most 64 letters, digits, and the characters . _ - @")
        }
        if case .device(.add(let name, of: let person)) = task {
            guard Person.isName(person), Device.isName(name) else {
                throw ValidationError(
                    "Names have at most 64 letters, digits, and the characters . _ - @; a device's begins with a letter."
                )
            }
        }
        if case .link(.add(let label)) = task {
            guard GuestLink.isLabel(label) else {
                throw ValidationError(
                    "A label has at most 64 letters, digits, and the characters . _ - @, and no dot first")
            }
            if let until, GuestLinkTask.end(until) == nil, GuestLinkTask.end(until, now: 0) != nil {
                throw ValidationError("--until \(until) is over already: give a later day or time.")
            }
            guard let until, GuestLinkTask.end(until) != nil else {
                throw ValidationError("--until must be a day like 2026-12-31, or a time like 2026-12-31T18:00.")
            }
        } else if until != nil || quota != nil {
            throw ValidationError("--until and --quota are for link add.")
        }
    }

    func run(at places: Places) throws {
        let directory = WebProgram.people(of: places).parent
        let editor = AccountEditor<Person>("photoinbox web user", in: directory)
        switch task {
        case .serve, nil: try serve(places)
        case .list: try list(editor)
        case .add(let name): try add(name, editor, in: directory)
        case .remove(let name): try remove(name, editor, in: directory)
        case .link(let task): try task.run(in: directory, until: until, quota: quota?.bytes, address: base)
        case .device(let task): try task.run(in: directory, address: base)
        }
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
        let program = try WebProgram(places, owner: owner, port: port, inbox: inbox)
        let link = "http://127.0.0.1:\(port)/#link=\(owner.link.text)"
        try printOut("photo-inbox: \(link)\nThe link signs you in, once. Ctrl-C ends the pages.\n")
        program.serve([listener])
    }

    // MARK: - People

    /// Whether links can be made of it.
    private static func isAddress(_ text: String) -> Bool {
        guard let scheme = ["https://", "http://"].first(where: { text.lowercased().hasPrefix($0) }) else {
            return false
        }
        let rest = text.dropFirst(scheme.count)
        return !rest.isEmpty && rest.first != "/" && !rest.contains { $0.isWhitespace || "#?".contains($0) }
    }

    private var base: String { address.hasSuffix("/") ? address : address + "/" }

    private static let linkTime: Int64 = 7 * 86_400

    private func add(_ name: String, _ editor: AccountEditor<Person>, in directory: BytePath) throws {
        // Devices that an editor has left of another person of this name.
        if try editor.read()[name] == nil { _ = try removeDevices(of: name, editor, in: directory) }
        let link = Secret()
        let end = Int64(time(nil)) + Self.linkTime
        let (isNew, role) = try editor.change { people in
            let before = people[name]
            let role = self.role ?? before?.role ?? .viewer
            people.put(Person(name: name, role: role, invitation: Person.Invitation(link: link.hash, end: end)))
            return (before == nil, role)
        }
        try printOut(
            "\(isNew ? "added" : "changed") \(name), \(role.rawValue). Within 7 days, a password is set at\n"
                + "\(base)#link=\(link.text)\nThe link works once. Whoever has it is \(name).\n")
    }

    private func remove(_ name: String, _ editor: AccountEditor<Person>, in directory: BytePath) throws {
        // First: without its person no device can send.
        let wasThere = try editor.change { $0.remove(name) }
        let devices: Int
        do { devices = try removeDevices(of: name, editor, in: directory) } catch {
            if wasThere { try printOut("removed \(name), but not the person's devices in \(Device.file)\n") }
            throw error
        }
        guard wasThere || devices > 0 else {
            throw CommandFailure(.noMatch, "there is nobody named \(printable(name))")
        }
        try printOut("removed \(name)\(devices > 0 ? ", and \(HumanText.count(devices, "device", "devices"))" : "")\n")
    }

    private func removeDevices(
        of name: String, _ editor: AccountEditor<Person>, in directory: BytePath
    ) throws -> Int {
        try AccountEditor<Device>(editor.command, in: directory).change { $0.remove { $0.person == name } }
    }

    private func list(_ editor: AccountEditor<Person>) throws {
        let people = try editor.read().all
        if people.isEmpty {
            throw CommandFailure(
                .noMatch, "nobody may use the pages", action: "Add somebody: photoinbox web user add NAME")
        }
        var table = TextTable([("NAME", .left), ("ROLE", .left)])
        for person in people { table.add([person.name, person.role.rawValue]) }
        try printOut(table.rendered(Terminal.style(.never)))
    }
}
