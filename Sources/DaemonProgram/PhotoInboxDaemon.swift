package import ArgumentParser
import Catalogue
import ControlProtocol
import DaemonHost
import DaemonSupport
import FileValues
import Glibc
import LibraryCare
import LinuxKernel
import Logging
import PhotoModel
import QueueActors
import Renditions
import Reporting
import Settings
import SystemMonitor
import Systemd

/// The daemon: reads its configuration, sets everything up, and runs until it gets a signal.
package struct PhotoInboxDaemon: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "photoinboxd",
        abstract: "Watch photo inboxes and file every photo, so that none is ever lost.",
        usage: "photoinboxd [OPTION…]",
        discussion: """
            EXAMPLES
              photoinboxd --inbox inbox --library library --state .photo-inbox
                    Run without a configuration file and without root: drop photos into
                    ./inbox.
              photoinboxd --check
                    Check the configuration, report every error, and exit with status 78
                    if there is one. Also report, as the daemon would when it starts, a
                    library that is not that of the catalogue, and with the catalogue in
                    PostgreSQL what the server, its settings, the schema and the role
                    lack. A server that does not answer is reported, and is no error: a
                    daemon waits for it. Root checks the configuration of a service as
                    the user _photoinbox, who has fewer permissions; other users check it
                    as themselves.
              photoinboxd --config studio.toml
                    Use another configuration than /etc/photoinbox/photoinbox.toml.

            DESCRIPTION
              photoinboxd watches inboxes and files every photo that arrives in the
              library, as photoinbox.toml(5) says. photoinbox(1) shows what it does. It
              runs as photoinboxd.service, or in the foreground until it gets a signal.
              Flags override the configuration. Without --config and without flags it
              reads /etc/photoinbox/photoinbox.toml.

            SIGNALS
              USR1       write the whole state to RUNTIME/state.json, and a summary to the
                         log
              USR2       compare every inbox with what is known, now
              HUP        reload the configuration; a wrong one is refused, and the
                         running one kept
              TERM, INT  finish the files in work and stop; a second one stops faster

            HOME DIRECTORIES
              The installed service cannot see anything below /home and /root. To make a
              directory with inbox and library visible, which must belong to _photoinbox
              or its group, run `systemctl edit photoinboxd` and add:
                [Service]
                ProtectHome=tmpfs
                BindPaths=/home/ana/Pictures
                ReadWritePaths=/home/ana/Pictures

            CARDS
              With `import = "yes"` in [cards], a card that is mounted below /media,
              /run/media or /mnt is imported. The service sees mounts that are made
              while it runs, and must be able to read them. A desktop mounts cards for
              one person only: run a daemon of that person (WITHOUT ROOT), or mount cards
              read-only for the service, as with this line of /etc/fstab:
                LABEL=EOS_DIGITAL /media/EOS vfat ro,noauto,gid=_photoinbox,umask=0027
              A unit with another ProtectSystem=, PrivateMounts= or MountFlags= must
              still get mounts from outside (MountFlags=slave): /proc/PID/mountinfo of
              the daemon shows whether it does.

            SEVERAL SERVICES
              photoinboxd@NAME.service is one more daemon, for /etc/photoinbox/NAME.toml.
              Its catalogue is in /var/lib/photoinboxd/NAME, its control socket in
              /run/photoinboxd/NAME, and its hooks run as those of photoinboxd do. No two
              daemons may share an inbox or a library.
                systemctl enable --now photoinboxd@studio
                photoinbox status --config /etc/photoinbox/studio.toml
              `systemctl enable photoinboxd@studio.socket` lets commands start it, too.

            WITHOUT ROOT
              A user's own daemon reads ~/.config/photoinbox/photoinbox.toml, keeps its
              catalogue in ~/.local/state/photoinbox, and files what that user may read.
              photoinbox finds it by that configuration.
                systemctl --user enable --now photoinboxd
                loginctl enable-linger       to keep it running without a session

            ANOTHER CONFIGURATION
              If the service is given another file, the unit in which hooks run must be
              given the same, since it reads there what to run. Run
              `systemctl edit photoinboxd-hooks@.service` and add:
                [Service]
                ExecStart=
                ExecStart=photoinboxd --config /srv/a.toml --run-hook-for _photoinbox
              If the configuration sets `runtime`, photoinboxd-hooks.socket also needs
              ListenStream= and ListenStream=DIR/hooks.

            EXIT STATUS
              0   stopped cleanly
              64  wrong usage
              70  internal error, or a hook survived SIGKILL
              71  the system refused a resource
              73  the catalogue cannot be opened
              74  the catalogue is damaged or lost records; the next start rebuilds it
              75  another daemon uses this state directory
              78  the configuration is wrong

            FILES
              /etc/photoinbox/photoinbox.toml  the configuration
              /etc/photoinbox/NAME.toml        that of photoinboxd@NAME.service
              /var/lib/photoinbox              the catalogue, thumbnails and other state
              /run/photoinbox                  the control socket and the state dump
              /usr/share/photoinbox/place-names.sqlite
                                               the table of place names, if installed

            SEE ALSO
              photoinbox(1), photoinbox.toml(5)
            """,
        version: "photoinboxd \(productVersion)")

    @Option(name: .long, help: ArgumentHelp("Use this configuration file.", valueName: "file"))
    var config: String?

    @Option(
        name: .long,
        help: ArgumentHelp("An inbox: a directory, or NAME=DIRECTORY. May be repeated.", valueName: "dir"))
    var inbox: [String] = []

    @Option(name: .long, help: ArgumentHelp("The directory in which photos are filed.", valueName: "dir"))
    var library: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "For files that need a decision (default: \"quarantine\" beside the library).", valueName: "dir"))
    var quarantine: String?

    @Option(
        name: .long,
        help: ArgumentHelp("For duplicates (default: \"duplicates\" beside the library).", valueName: "dir"))
    var duplicates: String?

    @Option(name: .long, help: ArgumentHelp("The directory of the catalogue.", valueName: "dir"))
    var state: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "For the control socket and the state dump (default: in --state, if that is given).", valueName: "dir"))
    var runtime: String?

    @Option(
        name: .long, help: ArgumentHelp("Whether filed photos leave the inbox: move or copy.", valueName: "mode"))
    var mode: String?

    @Option(
        name: .long,
        help: ArgumentHelp("How long a file must be unchanged if its writer cannot be seen: 5s.", valueName: "time"))
    var quiet: String?

    @Option(
        name: .long,
        help: ArgumentHelp("How long a file may stay incomplete before it is quarantined: 10m.", valueName: "time"))
    var patience: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Any other key of the configuration: KEY=VALUE. May be repeated.", valueName: "key=value")
    )
    var set: [String] = []

    @Option(name: .long, help: ArgumentHelp("The log's destination: auto, journal or console.", valueName: "where"))
    var log: String?

    @Option(
        name: .long,
        help: ArgumentHelp("The lowest level to log: error, warning, notice, info or debug.", valueName: "level"))
    var logLevel: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Use colour: auto, always or never.", valueName: "when"))
    var color: String?

    @Flag(
        name: .long, help: "Check the configuration, the library, and the catalogue's server if it has one, and exit.")
    var check = false

    /// By photoinbox setup, which replaces the file after that.
    @Flag(
        name: .long,
        help: ArgumentHelp(
            "With --check: check standard input as the content of the configuration file.", visibility: .hidden))
    var input = false

    @Flag(name: .long, help: "Accept the directory at the library's path as the library, and exit.")
    var acceptLibrary = false

    /// The content of units/photoinbox.toml.
    @Flag(
        name: .long,
        help: ArgumentHelp("Print a configuration file that explains every key, and exit.", visibility: .hidden))
    var printDefaultConfig = false

    /// Started by photoinbox while no daemon runs.
    @Flag(
        name: .long,
        help: ArgumentHelp(
            "Carry out the one request that comes on standard input, a socket, and exit.", visibility: .hidden))
    var answer = false

    /// An option of photoinboxd-hooks@.service.
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Run one hook for the daemon, which runs as this user, and exit.", valueName: "user", visibility: .hidden))
    var runHookFor: String?

    package init() {}

    package func run() throws {
        if printDefaultConfig {
            print(Settings.defaultFileText(), terminator: "")
            Self.end(EX_OK)
        }
        if answer {
            do { try OfflineRequests.serve(daemonOptions()) } catch {
                Self.printError("photoinboxd: \(error)")
                Self.end(EX_OSERR)
            }
            Self.end(EX_OK)
        }
        // Before any thread exists: every thread inherits this mask, so that no signal is ever lost or takes its
        // default action between two monitors.
        ProcessSignals.block(Signal.daemonSignals)
        // libdispatch logs to standard error each new thread whose priority it may not set: dozens of lines a minute for an
        // ordinary user and for the hardened unit.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        // A heap for each of libdispatch's threads, each with its own free ends, is a third of a busy daemon's memory.
        HeapMemory.keepSmall()
        let service = ServiceManager.takeFromEnvironment()
        var options = daemonOptions()
        if input, !check {
            Self.printError("photoinboxd: --input needs --check")
            Self.end(EX_USAGE)
        }
        // Before root becomes the service's user, who could not open it.
        if input {
            do { options.content = try DaemonOptions.content(of: "/dev/stdin") } catch {
                Self.printError("photoinboxd: \(error)")
                Self.end(EX_OSERR)
            }
        }
        if let runHookFor {
            Self.end(HookRunning.serve(runHookFor, options: options, service: service))
        }
        if check, options.isEmpty {
            Self.printError(
                "photoinboxd: no configuration: neither \(options.context.standardFile.escaped) nor flags"
            )
            Self.end(EX_CONFIG)
        }
        // What root leaves in the state directory, the service could not open.
        let checker = check || acceptLibrary ? serviceChecker(options) : nil
        options.isOutsideUnit = checker != nil
        let loaded: (settings: Settings, warnings: [SettingsIssue])
        do throws(SettingsError) { loaded = try options.load() } catch {
            for issue in error.issues { Self.printError("\(issue)") }
            if let checker { Self.printError("checked as \(checker.name), \(checker.remark)") }
            Self.end(EX_CONFIG)
        }
        for warning in loaded.warnings { Self.printError("\(warning)") }
        if check {
            if let decoder = ThumbnailWork(loaded.settings, state: loaded.settings.state).programWithoutFaces() {
                Self.printError("renditions: googly cannot be made: \(decoder) was built without face detection")
            }
            let result = StartCheck(loaded.settings, options, isOfInput: input).run()
            let file = options.effectiveFile?.escaped ?? "the configuration"
            let words = checker.map { ", checked as \($0.name), \($0.remark)" } ?? ""
            switch result {
            case .usable: print("\(file): configuration OK\(words)")
            // As the daemon does, setup goes on.
            case .waiting(let what): Self.printError("\(file): OK but for \(what)\(words)")
            case .unusable:
                Self.printError("\(file): it cannot be used so\(words)")
                Self.end(EX_CONFIG)
            }
            Self.end(EX_OK)
        }
        if acceptLibrary { Self.acceptLibrary(of: loaded.settings) }
        if let limit = limitWithoutRoom(forDescriptors: Self.descriptors) {
            Self.printError(
                "photoinboxd: the limit of open files is \(limit), which is too low; raise it to at least 256 (LimitNOFILE= "
                    + "in the unit, ulimit -n in a shell)")
            Self.end(EX_OSERR)
        }
        start(options, loaded.settings, service)
    }

    /// The user as whom a service's configuration is checked, and its library accepted; nil for other configurations, and
    /// for the service itself. Root has more permissions, and becomes the service's user. Requires a single thread.
    private func serviceChecker(_ options: DaemonOptions) -> (name: String, remark: String)? {
        let (name, remark) = ("_photoinbox", "the user of the service")
        guard let file = options.effectiveFile, inbox.isEmpty,
            DaemonAddress(configuration: file, options.context).isOfService
        else { return nil }
        if geteuid() == 0, let user = getpwnam(name)?.pointee, initgroups(name, user.pw_gid) == 0,
            setgid(user.pw_gid) == 0, setuid(user.pw_uid) == 0
        {
            // Where libpq looks for certificates, which root's directory does not let it.
            setenv("HOME", user.pw_dir, 1)
            return (name, remark)
        }
        // A unit may run as another user, and gives that one a state directory.
        let own = userName(geteuid()) ?? "\(geteuid())"
        return own == name || options.context.stateDirectory != nil ? nil : (own, "not as \(name), \(remark)")
    }

    /// Descriptors that the daemon needs at start: queues, monitors, catalogue, sockets.
    private static let descriptors = 128

    private static func acceptLibrary(of settings: Settings) -> Never {
        do {
            guard let path = try LibraryCare.acceptLibrary(of: settings) else {
                printError("photoinboxd: no library is configured")
                end(EX_CONFIG)
            }
            print("\(path.escaped): accepted as the library")
            end(EX_OK)
        } catch {
            let refused = error as? SystemCallError
            if let path = refused?.path, let obstacle = refused.flatMap({ AccessObstacle(of: $0) }) {
                let advice = obstacle.command.map { ". Allow it: \($0)" } ?? ""
                printError("photoinboxd: cannot open \(path): \(obstacle.text)\(advice)")
            } else {
                printError("photoinboxd: \(error)")
            }
            end(error is StateLock.Taken || error is LibraryOfOtherHosts ? EX_TEMPFAIL : EX_CANTCREAT)
        }
    }

    private func daemonOptions() -> DaemonOptions {
        var options = DaemonOptions(context: .ofProcess())
        options.file = config.map { BytePath($0) }
        options.inboxes = inbox
        options.assignments = set
        let single: [(String, String, String?)] = [
            ("--library", "library", library), ("--quarantine", "quarantine", quarantine),
            ("--duplicates", "duplicates", duplicates), ("--state", "state", state), ("--runtime", "runtime", runtime),
            ("--mode", "inbox.*.mode", mode), ("--quiet", "inbox.*.quiet", quiet),
            ("--patience", "inbox.*.patience", patience), ("--log", "log.destination", log),
            ("--log-level", "log.level", logLevel),
        ]
        for (flag, key, value) in single {
            if let value { options.values.append((flag, key, value)) }
        }
        return options
    }

    private func start(_ options: DaemonOptions, _ settings: Settings, _ service: ServiceManager) -> Never {
        let colour = color.flatMap { LogDestination.Colour(rawValue: $0) } ?? .auto
        let destination = LogDestination.choose(
            LogDestination.Request(settings.log.destination), colour: colour)
        let sink = destination.makeSink(
            encoding: JournalEncoding(
                identifier: "photoinboxd", prefix: "PHOTOINBOX_",
                // Two daemons may have inboxes and files of the same names: `photoinbox log` selects by this.
                constants: [.init("state", settings.state.escaped)]),
            // Messages are complete for people; the fields are for queries and for debugging.
            showsFields: settings.log.level == .debug)
        var logger = Logger(label: "photoinboxd") { JournalLogHandler(label: $0, sink: sink) }
        logger.logLevel = Logger.Level(settings.log.level)
        LifecycleViolation.setSink { message in
            sink.sendNow(LogEntry(.critical, message, id: .lifecycleViolation))
        }
        let daemon: Daemon
        let isStarting = Locked(true)
        Self.extendStart(of: service, while: isStarting)
        do {
            try makeDirectories(of: settings)
            daemon = try Daemon(
                Daemon.Launch(
                    version: productVersion, options: options, settings: settings, service: service, sink: sink,
                    log: DaemonLog(logger, of: options.address(settings)), logReason: destination.reason),
                exit: { Self.end($0) })
        } catch {
            _ = sink.flush(within: .seconds(1))
            // A server's own words do not say which of its databases is meant.
            let ofServer = settings.catalogue.file == nil ? error as? CatalogueError : nil
            let words = ofServer.map { "\(settings.catalogue.name): \($0.explained)" } ?? "\(error)"
            Self.printError("photoinboxd: \(words)")
            Self.end(error is StateLock.Taken ? EX_TEMPFAIL : EX_CANTCREAT)
        }
        isStarting.withLock { $0 = false }
        // From the main thread a task would be urgent, and make libdispatch ask for a thread priority that only root has.
        TaskQueue.start { await daemon.start() }
        // This is the only reference to the daemon, which optimised code would release after its last use.
        withExtendedLifetime(daemon) {
            // Not dispatchMain(), which would unblock every signal in this thread.
            ProcessSignals.parkMainThread()
        }
    }

    /// The catalogue is checked, and brought up to date, before the daemon is ready, which takes minutes with a million
    /// photos on a slow disk.
    private static func extendStart(of service: ServiceManager, while isStarting: Locked<Bool>) {
        guard isStarting.withLock({ $0 }) else { return }
        try? service.extendTimeout(by: .seconds(60))
        patience.after(.seconds(10)) { extendStart(of: service, while: isStarting) }
    }
    private static let patience = MonitorQueue(label: "photo-inbox.start")

    private static func printError(_ line: String) { writeToStandardError(line) }

    private static func end(_ status: Int32) -> Never { Glibc.exit(status) }
}

extension LogDestination.Request {
    init(_ destination: LogSettings.Destination) {
        self =
            switch destination {
            case .auto: .automatic
            case .journal: .journal
            case .console: .console
            }
    }
}

extension Logger.Level {
    init(_ level: LogSettings.Level) {
        self =
            switch level {
            case .error: .error
            case .warning: .warning
            case .notice: .notice
            case .info: .info
            case .debug: .debug
            }
    }
}
