import ArgumentParser
import CommandContact
import CommandSupport
import Explaining
import FileValues
import Glibc
import LibraryCare
import LinuxKernel
import PhotoModel
import Reporting
import Settings

package struct SetupCommand: Command {
    static let configuration = CommandConfiguration(
        "setup", "Set up inbox, library, access and service, and test them.")

    static let lesson = """
        EXAMPLES:
          photoinbox setup                   asks for a service of your own, shows what it would do, and does it
          sudo photoinbox setup              asks five questions for the system's service
          photoinbox setup --dry-run --for me --inbox ~/inbox --library ~/library
                                             print the commands that do the same, and change nothing
          sudo photoinbox setup --yes --for local --as ana --inbox /srv/photos/inbox --library /srv/photos/library
                                             for scripts: asks nothing
          sudo photoinbox setup --join "hostaddr=192.0.2.10 dbname=photoinbox user=photoinbox passfile=/etc/photoinbox/pgpass"
                                             as one of several hosts

        --for says who drops: "local", people with accounts here; "samba", "sftp" or "ftp", people who use that; "syncthing",
        whose filed photos stay in the inbox, so that none is deleted on a phone; "me", one user alone: yourself, or --as. What
        that user drops for the system's service can be read by members of the service's group.

        What is right already is left as it is, so it can be run again, and then repairs. If a step fails or is interrupted, or
        the service does not start, the files that it wrote are put back as they were; directories and groups stay. A line that
        somebody wrote into the configuration is never changed. A directory that belongs to somebody else is not taken over, and
        no link is followed that others could change: then it says what you may do. With each step, for files at the end, it
        shows the command that reverses it; reverse the last step first. Configurations of Samba, SSH and FTP servers are not
        changed: it prints what to add.

        At the end a small photo is dropped as one of those who drop, followed into the library, taken out by "undo" and
        deleted; the directories that were made for it in the library stay. Hooks run for it as for any photo.

        With --join the catalogue is the one that other hosts use, in PostgreSQL: the service may reach that server, the
        inbox is named like this machine, and the library has to be mounted where the others have it. Nothing is changed if
        the server refuses, another host has an inbox of that name, or the library is another directory.

        Members of the group _photoinbox may drop, and also control the daemon; members of another --group may only drop.

        EXIT STATUS:
          0   all is set up, and the test photo was filed
          1   a step or the test failed
          3   done, but a step is left to you
          64  wrong usage, or an answer is missing and there is no terminal to ask on
          69  a program that is needed is not installed
          75  something was changed meanwhile, or another setup is running; run it again
          77  permission denied; it says to whom, by which mode, and what allows it
          78  the configuration is wrong, or says something else
        """

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Who drops photos.", valueName: "who"))
    var droppers: Droppers?

    @Option(help: ArgumentHelp("The directory that photos are dropped into.", valueName: "dir"))
    var inbox: RawArgument?

    @Option(help: ArgumentHelp("The inbox's name. Default: that of its directory.", valueName: "name"))
    var inboxName: String?

    @Option(help: ArgumentHelp("The directory that photos are filed in.", valueName: "dir"))
    var library: RawArgument?

    @Option(
        name: .customLong("as"), help: ArgumentHelp("One of those who drop; drops the test photo.", valueName: "user"))
    var user: String?

    @Option(help: ArgumentHelp("The group whose members may drop. Default: the service's.", valueName: "group"))
    var group: String?

    @Flag(name: .customLong("user"), help: "Set up a service of your own, also as root.")
    var isOwn = false

    @Flag(name: .customLong("no-test"), help: "Drop no test photo.")
    var skipsTest = false

    @Option(
        name: .customLong("join"),
        help: ArgumentHelp("A catalogue in PostgreSQL, used with other hosts.", valueName: "database"))
    var joined: String?

    @OptionGroup var consent: ConsentOption
    @OptionGroup var dryRun: DryRunOption

    @Option(help: ArgumentHelp("Another configuration than that of the service.", valueName: "file"))
    var config: RawArgument?

    private var isOfSystem: Bool { geteuid() == 0 && !isOwn }
    private var canAsk: Bool { !consent.yes && Terminal.canAsk }

    func run() throws {
        let (answers, unit, lock) = try readAnswers()
        defer { withExtendedLifetime(lock) {} }
        let plan = try SetupPlan(answers, SetupFacts(examining: answers, unit))
        let script =
            (answers.isOfSystem ? "# These are for a shell of root: sudo -s\numask 022\n" : "")
            + plan.steps.map(\.script).joined()
        if dryRun.isDryRun {
            try printOut(script + Self.advice(plan).map { "# \($0)\n" }.joined())
            return
        }
        let output = SetupOutput()
        let interruption = Interruption(remark: "stopping after this step") { printRemark($0) }
        if canAsk, !(plan.isRight && skipsTest) {
            output.say(script)
            let question = plan.isRight ? "nothing to change; test it with a photo?" : "do this?"
            guard !output.isLost, Confirmation.ask(question, isJSON: false, ProgressDisplay(json: false)) else {
                throw CommandFailure(.failed, "nothing was changed")
            }
        } else if !canAsk, !consent.yes {
            throw CommandFailure(.usage, "nothing was changed", action: "Give --yes to do it, or --dry-run.")
        } else if plan.arrivals > 0, !answers.droppers.keepsFiles {
            throw CommandFailure(
                .usage,
                "\(answers.inbox) has \(plan.arrivals) files or directories, which would be filed and moved out of it",
                action: "Run this on a terminal without --yes to agree, or name an empty directory.")
        }
        let left = try Self.carryOut(plan, output) { interruption.mustStop() }
        if interruption.mustStop() {
            throw CommandFailure(.failed, "stopped after the last step", action: "Run this again to test it.")
        }
        output.say(Self.advice(plan).map { "\($0)\n" }.joined())
        let isStarted = !plan.steps.contains { $0.act == .byHand }
        if !skipsTest, isStarted { try test(plan, interruption, output) }
        if !skipsTest, !isStarted { output.say("Then run this again: it drops a test photo.\n") }
        if output.isLost {
            throw CommandFailure(.failed, "it is done, but standard output was closed before all was said")
        }
        if !left.isEmpty { throw CommandEnd(status: .someLeft) }
    }

    /// Returns the steps that are left to a person. That nobody reads what is done does not end it half-way. If a step fails,
    /// or it is stopped, files that were written are put back.
    static func carryOut(
        _ plan: SetupPlan, _ output: SetupOutput, isStopped: () -> Bool
    ) throws -> [SetupStep] {
        var work = SetupExecution(plan: plan)
        var left: [SetupStep] = []
        // What reverses files is said at the end, since a later failure does that.
        var undo: [String] = []
        var isDone = false
        defer { if isDone || work.isSettled { output.say(undo.joined()) } }
        for step in plan.steps {
            if isStopped() { throw work.stopped(before: step) }
            if let rest = try work.carryOut(step) {
                left.append(step)
                output.say("left   \(step.subject): \(rest)\n")
            } else if step.act == nil {
                output.say("right  \(step.subject): \(step.found)\n")
            } else {
                let lines = step.undo.map { ["undo   \($0)\n"] } ?? []
                output.say("done   \(step.subject): \(step.wanted)\n" + (step.isFile ? "" : lines.joined()))
                if step.isFile { undo += lines }
            }
        }
        isDone = true
        return left
    }

    private func test(_ plan: SetupPlan, _ interruption: Interruption, _ output: SetupOutput) throws {
        let answers = plan.answers
        guard let account = answers.isOfSystem ? account(answers.user) : Account.ofProcess() else {
            throw CommandFailure(.usage, "there is no user \(answers.user)")
        }
        let place = try SetupTest(plan, as: account).run(interruption)
        let status = DaemonAddress.current.completing("photoinbox status")
        output.say(
            "test  a photo that \(account.name) dropped was filed as \(place), and is removed again\n"
                + "Drop photos into \(answers.inbox), and see: \(status)\n")
    }

    /// What other programs need.
    private static func advice(_ plan: SetupPlan) -> [Substring] {
        let linger = plan.hasUserUnit ? "To keep it running without a session: loginctl enable-linger" : nil
        return [plan.answers.droppers.advice(plan.answers), linger].compactMap { $0 }.flatMap {
            $0.split(separator: "\n")
        }
    }

    // MARK: - Questions

    private func readAnswers() throws -> (SetupAnswers, SetupUnit?, SetupLock?) {
        let context = SettingsContext.ofProcess()
        guard let file = isOfSystem ? StandardPlaces.systemFile : context.home?.configurationFile else {
            throw CommandFailure(.usage, "you have no home directory", action: "Set $HOME, or use sudo.")
        }
        let configuration = config.map { Self.absolute($0.path, context) } ?? file
        let walk = try LinkWalk(configuration)
        if geteuid() == 0, let foreign = walk.foreign {
            throw CommandFailure(
                .permission, "\(configuration) says where root makes directories, but others can change \(foreign)",
                action: "Make it root's, and writable to nobody else.")
        }
        let lock = dryRun.isDryRun ? nil : try SetupLock(of: walk.path)
        let before = try (try? contents(of: configuration)).map {
            try SetupConfiguration.read($0, configuration, context)
        }
        let base = isOfSystem ? BytePath("/srv/photos") : BytePath(Account.ofProcess().home).appending("photos")
        var missing: [String] = []
        /// A flag's value, else an answer, else what the configuration says.
        func value(
            _ flag: String, _ given: String?, _ question: String, standard: String?, known: String? = nil,
            isValid: (String) -> Bool = { _ in true }
        ) throws -> String {
            if let given { return given }
            if canAsk { return try Self.ask(question, known ?? standard, isValid: isValid) }
            if let known { return known }
            missing.append(flag)
            return standard ?? ""
        }
        let all = Droppers.allCases.map(\.rawValue)
        let who = try value(
            "--for", droppers?.rawValue, "Who drops photos: \(all.joined(separator: ", "))?",
            standard: isOfSystem ? "local" : "me", isValid: { all.contains($0) })
        guard let droppers = Droppers(rawValue: who) else {
            throw CommandFailure(.usage, "\(printable(who)) is none of \(all.joined(separator: ", "))")
        }
        if !isOfSystem || droppers == .me, group != nil {
            throw CommandFailure(
                .usage, "a service for one user has no group of those who drop",
                action: isOfSystem ? "Leave out --group, or --for me." : "Use sudo.")
        }
        let inboxes = before?.inboxes ?? []
        let inbox = try Self.directory(
            try value(
                "--inbox", inbox.map { RawArgument.carried($0.path.bytes) }, "Into which directory?",
                standard: base.appending("inbox").escaped,
                known: inboxes.count == 1 ? inboxes[0].path.escaped : nil), context)
        let library = try Self.directory(
            try value(
                "--library", library.map { RawArgument.carried($0.path.bytes) }, "In which directory is the library?",
                standard: base.appending("library").escaped, known: before?.library?.path.escaped), context)
        var user = Account.ofProcess().name
        var members: String?
        var isCaller = false
        let unit = SetupUnit.ask(configuration, isOfSystem: isOfSystem, context)
        if isOfSystem {
            let (service, serviceGroup) = (unit.service, unit.serviceGroup)
            // That of an earlier run stays, though it is not said again; but a directory alone says nothing.
            let place = try LinkWalk(inbox).path
            let known = SetupPlan.knownGroup(
                SetupPlace(at: place), isConfigured: inboxes.contains { [inbox, place].contains($0.path) },
                account(service))
            members = group ?? known ?? serviceGroup
            if canAsk, group == nil, droppers != .me {
                members = try Self.ask(
                    "Which group may drop? Members of \(serviceGroup) may control the daemon, too.", members)
            }
            let caller = Terminal.variable("SUDO_USER").flatMap { $0 == "root" ? nil : $0 }
            user = try value(
                "--as", self.user, "Which user is one of those who drop?",
                standard: caller,
                known: canAsk
                    ? nil
                    : caller
                        ?? members.flatMap {
                            groupMembers($0).first { ![service, "_photoinbox-fetch", "root"].contains($0) }
                        },
                isValid: { account($0).map { $0.user != 0 } ?? false })
            isCaller = account(user)?.user == caller.flatMap { account($0)?.user }
        } else if let given = self.user, given != user {
            throw CommandFailure(.permission, "\(user) cannot drop as \(printable(given))", action: "Use sudo.")
        }
        if !missing.isEmpty {
            throw CommandFailure(
                .usage, "there is no terminal to ask on", action: "Give \(missing.joined(separator: ", ")).")
        }
        if let inboxName, !isPlainName(inboxName) {
            throw CommandFailure(
                .usage, "\(printable(inboxName)) cannot be an inbox's name", action: "Use letters, digits, - and _.")
        }
        if let joined, !CataloguePlace.isServer(joined) {
            throw CommandFailure(
                .usage, "\(printable(joined)) names no database",
                action: "Write libpq's words, like \"hostaddr=192.0.2.10 dbname=photoinbox user=photoinbox\".")
        }
        // Among hosts, each inbox has a name of its own.
        let name = joined == nil ? inbox.name.escaped : String(machineName().prefix { $0 != "." })
        let answers = SetupAnswers(
            droppers: droppers, inbox: inbox, inboxName: inboxName ?? (isPlainName(name) ? name : "inbox"),
            library: library, user: user, group: members, isGroupChosen: group != nil || canAsk,
            isCaller: isCaller, configuration: configuration, joined: joined)
        return (answers, unit, lock)
    }

    /// Asks until there is a valid answer.
    private static func ask(
        _ question: String, _ standard: String?, isValid: (String) -> Bool = { _ in true }
    ) throws -> String {
        while true {
            printError("\(question)\(standard.map { " [\($0)]" } ?? "") ")
            guard let line = readLine() else { throw CommandFailure(.failed, "nothing was changed") }
            var answer = line.drop { $0 == " " }
            while answer.last == " " { answer.removeLast() }
            guard let text = answer.isEmpty ? standard : String(answer) else { continue }
            if isValid(text) { return text }
            printError("\(printable(text)) is not valid.\n")
        }
    }

    /// A directory that an answer or a flag names; a shell's `~/` is understood in an answer, too.
    private static func directory(_ text: String, _ context: SettingsContext) throws -> BytePath {
        guard let path = RawArgument(argument: text)?.path, !path.isEmpty else {
            throw CommandFailure(.usage, "a directory's name is empty")
        }
        let home = BytePath(Account.ofProcess().home)
        let isAtHome = text == "~" || text.hasPrefix("~/")
        let whole = absolute(isAtHome ? home.appending(BytePath(String(text.dropFirst(2)))) : path, context)
        // What configurations, units and commands quote differently, or not at all.
        guard whole.escaped.utf8.elementsEqual(whole.bytes), !whole.escaped.contains(where: { "\"\\:".contains($0) })
        else {
            throw CommandFailure(
                .usage, "\(whole) has characters that units cannot have", action: "Choose another name.")
        }
        return whole
    }

    private static func absolute(_ path: BytePath, _ context: SettingsContext) -> BytePath {
        normalised(path.isAbsolute ? path : context.workingDirectory.appending(path))
    }
}

/// Says what is done, also if nobody reads it any more.
final class SetupOutput {
    private(set) var isLost = false

    func say(_ text: String) {
        do { try printOut(text) } catch { isLost = true }
    }
}
