import ArgumentParser
import ControlProtocol
import FileValues
import Glibc
import Inbox
import LibraryCare
import LinuxKernel
import Logging
import QueueActors
import Renditions
import Reporting
import Settings
import SystemMonitor
import Systemd

/// The daemon: reads its configuration, sets everything up, and runs until it is told to stop.
@main
struct PhotoInboxDaemon: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "photoinboxd",
        abstract: "Watch photo inboxes and file every photo, so that none is ever lost.",
        usage: "photoinboxd [OPTION…]",
        discussion: """
            EXAMPLES
              photoinboxd --inbox inbox --library library --state .photo-inbox
                    No configuration file, no root: drop photos into ./inbox.
              photoinboxd --check
                    Check the configuration, tell every mistake in it, and end with
                    status 78 if there is one. Root checks that of a service as the
                    user _photoinbox, who may not do all that root may; others as
                    themselves, and are told so.
              photoinboxd --config studio.toml
                    Another configuration than /etc/photoinbox/photoinbox.toml.

            SIGNALS
              USR1       write the whole state to RUNTIME/state.json, and a summary to the
                         log
              USR2       compare every inbox with what is known, now
              HUP        read the configuration again; a wrong one is refused, and the old
                         one stays
              TERM, INT  finish what is in hand and end; a second one hurries

            HOME DIRECTORIES
              The installed service sees nothing below /home and /root. With
              `systemctl edit photoinboxd`, and the directory that holds inbox and library,
              which must belong to _photoinbox or its group:
                [Service]
                ProtectHome=tmpfs
                BindPaths=/home/ana/Pictures
                ReadWritePaths=/home/ana/Pictures

            CARDS
              With `import = "yes"` under [cards] a card that is mounted below /media,
              /run/media or /mnt is imported. The service sees mounts that are made
              while it runs; it must be able to read them. A desktop mounts cards for
              one person alone: run that person's own daemon (WITHOUT ROOT). Else mount
              them for the service, and only for reading, as by this line of
              /etc/fstab:
                LABEL=EOS_DIGITAL /media/EOS vfat ro,noauto,gid=_photoinbox,umask=0027
              In a unit with another ProtectSystem=, PrivateMounts= or MountFlags=
              mounts must come from outside all the same (MountFlags=slave):
              /proc/PID/mountinfo of the daemon shows whether they do.

            SEVERAL SERVICES
              photoinboxd@NAME.service is one more daemon, for /etc/photoinbox/NAME.toml:
              its catalogue is in /var/lib/photoinboxd/NAME, its control socket in
              /run/photoinboxd/NAME, and its hooks run as those of the first do. No two may
              share an inbox or a library.
                systemctl enable --now photoinboxd@studio
                photoinbox status --config /etc/photoinbox/studio.toml
              `systemctl enable photoinboxd@studio.socket` has commands start it, too.

            WITHOUT ROOT
              A user's own daemon reads ~/.config/photoinbox/photoinbox.toml, keeps its
              catalogue in ~/.local/state/photoinbox, and files what that user may read.
              photoinbox finds it by that configuration.
                systemctl --user enable --now photoinboxd
                loginctl enable-linger       to have it run without a session

            ANOTHER CONFIGURATION
              Where the service is given another file, the unit in which hooks run must be
              given the same, since it looks there itself for what to run. With
              `systemctl edit photoinboxd-hooks@.service`, and the program's path as
              `systemctl cat` shows it:
                [Service]
                ExecStart=
                ExecStart=/usr/local/sbin/photoinboxd --config /srv/a.toml --run-hook-for \\
                    _photoinbox
              A `runtime` of its own also needs, in photoinboxd-hooks.socket:
              ListenStream= and ListenStream=DIR/hooks.

            EXIT STATUS
              0   ended in good order
              64  wrong usage
              70  a bug of ours, or a hook that not even KILL ends was left
              71  the system refused something
              73  the catalogue cannot be opened
              74  the catalogue is damaged; the next start makes another one
              75  another daemon has this state
              78  the configuration is wrong

            SEE ALSO
              photoinbox(1), photoinbox.toml(5)
            """,
        version: "photoinboxd \(productVersion)")

    @Option(name: .long, help: ArgumentHelp("The configuration file.", valueName: "file"))
    var config: String?

    @Option(
        name: .long,
        help: ArgumentHelp("An inbox: a directory, or NAME=DIRECTORY. May be given again.", valueName: "dir"))
    var inbox: [String] = []

    @Option(name: .long, help: ArgumentHelp("Where photos are filed.", valueName: "dir"))
    var library: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Where files go that need a person (default: \"quarantine\" beside the library).", valueName: "dir"))
    var quarantine: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Where duplicates go (default: \"duplicates\" beside the library).", valueName: "dir"))
    var duplicates: String?

    @Option(name: .long, help: ArgumentHelp("Where the catalogue is kept.", valueName: "dir"))
    var state: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Where the state dump is written (default: in the state directory, if that is given).", valueName: "dir"))
    var runtime: String?

    @Option(
        name: .long, help: ArgumentHelp("Whether filed photos leave their inboxes: move or copy.", valueName: "mode"))
    var mode: String?

    @Option(
        name: .long,
        help: ArgumentHelp("How long a file must rest, where its writer cannot be seen: 5s.", valueName: "time"))
    var quiet: String?

    @Option(
        name: .long,
        help: ArgumentHelp("How long an incomplete file may stay so before it is set aside: 10m.", valueName: "time"))
    var patience: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Any other key of the configuration: KEY=VALUE. May be given again.", valueName: "key=value")
    )
    var set: [String] = []

    @Option(name: .long, help: ArgumentHelp("Where the log goes: auto, journal or console.", valueName: "where"))
    var log: String?

    @Option(
        name: .long, help: ArgumentHelp("What is logged: error, warning, notice, info or debug.", valueName: "level"))
    var logLevel: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Whether lines on a terminal are coloured: auto, always or never.", valueName: "when"))
    var color: String?

    @Flag(name: .long, help: "Check the configuration and end.")
    var check = false

    @Flag(name: .long, help: "Take what lies at the library's path for the library from now on, and end.")
    var acceptLibrary = false

    /// What the Makefile keeps as units/photoinbox.toml.
    @Flag(
        name: .long,
        help: ArgumentHelp("Print a configuration file that explains every key, and end.", visibility: .hidden))
    var printDefaultConfig = false

    /// What photoinbox starts while no daemon runs.
    @Flag(
        name: .long,
        help: ArgumentHelp(
            "Carry out the one request that comes on standard input, a socket, and end.", visibility: .hidden))
    var answer = false

    /// What photoinboxd-hooks@.service is started with.
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Run one hook for the daemon, which runs as this user, and end.", valueName: "user", visibility: .hidden))
    var runHookFor: String?

    func run() throws {
        if printDefaultConfig {
            print(Settings.defaultFileText(), terminator: "")
            Self.end(EX_OK)
        }
        if answer {
            do { try OfflineDesk.serve(daemonOptions()) } catch {
                Self.tell("photoinboxd: \(error)")
                Self.end(EX_OSERR)
            }
            Self.end(EX_OK)
        }
        // Before any thread exists: every thread inherits this mask, so that no signal is ever lost or takes its
        // default action between two monitors.
        ProcessSignals.block(Signal.daemonSignals)
        // libdispatch tells on standard error of each new thread whose priority it may not set. An ordinary user may not
        // set one, nor may the hardened unit, and threads come and go, so that would be dozens of lines a minute.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        // A heap for each of libdispatch's threads, each with its own free ends, is a third of a busy daemon's memory.
        HeapMemory.keepSmall()
        let service = ServiceManager.takeFromEnvironment()
        let options = daemonOptions()
        if let runHookFor {
            Self.end(HookRunning.serve(runHookFor, options: options, service: service) { Self.tell($0) })
        }
        if check, options.isEmpty {
            Self.tell(
                "photoinboxd: there is no configuration: neither \(options.context.standardFile.escaped) nor flags"
            )
            Self.end(EX_CONFIG)
        }
        let checker = check ? serviceChecker(options) : nil
        let loaded: (settings: Settings, warnings: [SettingsIssue])
        do throws(SettingsError) { loaded = try options.load() } catch {
            for issue in error.issues { Self.tell("\(issue)") }
            if let checker { Self.tell("checked as \(checker.name), \(checker.remark)") }
            Self.end(EX_CONFIG)
        }
        for warning in loaded.warnings { Self.tell("\(warning)") }
        if check {
            if let decoder = ThumbnailWork(loaded.settings, state: loaded.settings.state).programWithoutFaces {
                Self.tell("renditions: no googly eyes are drawn: \(decoder) was built without face detection")
            }
            let words = checker.map { ", as \($0.name) sees it, \($0.remark)" } ?? ""
            print("\(options.effectiveFile?.escaped ?? "the configuration"): good\(words)")
            Self.end(EX_OK)
        }
        if acceptLibrary { Self.acceptLibrary(of: loaded.settings) }
        if let limit = limitWithoutRoom(forDescriptors: Self.descriptors) {
            Self.tell(
                "photoinboxd: the limit of open files is \(limit), which is too low; raise it to 256 at least (LimitNOFILE= "
                    + "in the unit, ulimit -n in a shell)")
            Self.end(EX_OSERR)
        }
        start(options, loaded.settings, service)
    }

    /// As whom a service's configuration is checked; nil where it is no service's, or the service itself checks it. Root may
    /// read and write what the service may not, and becomes the service's user. Only one thread is there.
    private func serviceChecker(_ options: DaemonOptions) -> (name: String, remark: String)? {
        let (name, remark) = ("_photoinbox", "the user of the service")
        guard let file = options.effectiveFile, inbox.isEmpty,
            DaemonAddress(configuration: file, options.context).isOfService
        else { return nil }
        if geteuid() == 0, let user = getpwnam(name)?.pointee, initgroups(name, user.pw_gid) == 0,
            setgid(user.pw_gid) == 0, setuid(user.pw_uid) == 0
        {
            return (name, remark)
        }
        // A unit may run as another user, and gives that one a state directory.
        let own = userName(geteuid()) ?? "\(geteuid())"
        return own == name || options.context.stateDirectory != nil ? nil : (own, "not as \(name), \(remark)")
    }

    /// What the daemon takes to begin with: queues, monitors, catalogue, sockets.
    private static let descriptors = 128

    private static func acceptLibrary(of settings: Settings) -> Never {
        do {
            guard let path = try LibraryCare.acceptLibrary(of: settings) else {
                tell("photoinboxd: no library is configured")
                end(EX_CONFIG)
            }
            print("\(path.escaped): this is the library from now on")
            end(EX_OK)
        } catch {
            tell("photoinboxd: \(error)")
            end(error is StateLock.Taken ? EX_TEMPFAIL : EX_CANTCREAT)
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
                // Two daemons may have inboxes and files of the same names: this tells `photoinbox log` which is meant.
                constants: [.init("state", settings.state.escaped)]),
            // A message says it all to people; the fields are for queries, and for those who look for a fault.
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
                    log: InboxLog(logger, of: options.address(settings)), logReason: destination.reason),
                exit: { Self.end($0) })
        } catch {
            _ = sink.flush(within: .seconds(1))
            Self.tell("photoinboxd: \(error)")
            Self.end(error is StateLock.Taken ? EX_TEMPFAIL : EX_CANTCREAT)
        }
        isStarting.withLock { $0 = false }
        // From the main thread a task would be urgent, and make libdispatch ask for a thread priority that only root has.
        TaskQueue.start { await daemon.start() }
        // Nobody else holds the daemon, and optimised code lets go of it after its last use.
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

    private static func tell(_ line: String) {
        var text = line + "\n"
        _ = text.withUTF8 { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

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
