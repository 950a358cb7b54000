import ArgumentParser
import CommandSupport
import FileValues
import Glibc
import LinuxKernel
import Reporting
import Settings
import SystemMonitor
import SystemPackage
import Watching

/// `photoinbox watch`: finished files as they come, from any directories; needs no daemon.
struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print files as they are finished; needs no daemon.",
        usage: "photoinbox watch [OPTION…] DIR…")

    static let lesson = """
        EXAMPLES:
          photoinbox watch ~/Downloads
          photoinbox watch --null in | xargs -0 -n1 ./import
          photoinbox watch --json -e finished,renamed,vanished in | jq -r .path
          photoinbox watch --count 1 -t 60 in   wait for one file, a minute at most
          photoinbox watch -m -r -e close_write,moved_to --format %w%f in
                                                in the place of inotifywait

        Directories are watched with all below them, new ones too. A file is told
        when its writer has closed it, when it was moved in, or when it was found
        beside others in a directory that came as a whole. Names that programs use
        until a file is whole (IMG_1.JPG.part, .syncthing.x.tmp) are left out: the
        file is told once it has its own name. A finished file that gets another name
        is told again, unless "renamed" is asked for too. Lost events (an overflow, a
        moved tree) are made up for by comparing with what is there.

        With --state FILE it goes on where the last run with that file ended: first it
        tells what was finished, renamed or vanished since. What was there at the
        first run is told with --existing only. What was told, and may not have been
        read, is told again. A file written over with its size and all its times as
        they were is not noticed.

        EVENTS (-e KIND,…; finished if nothing else is said):
          finished  created  changed  vanished  renamed
          directory  directory-vanished  special
          "created" is told of files that are still open a moment (25 ms) later.
          With others than "finished" alone, lines begin with the kind. A rename takes
          two lines: "renamed-from OLD" and "renamed-to NEW"; with --json it is one
          object.

        EVENTS OF THE KERNEL:
          access  modify  attrib  close_write  close_nowrite  close  open
          moved_to  moved_from  move  move_self  create  delete  delete_self
          unmount  ignored  q_overflow  all
          As records come, nothing held back: "DIRECTORY/ EVENT,… NAME". What a new
          directory held before it was watched is told as FOUND to who asks for
          create, moved_to or close_write.

        OUTPUT:
          %w the directory, %f the name in it, %e the events, %Xe with X between them,
          %T the time (--timefmt), %c the cookie of a rename, %0 NUL, %n newline, %%.
          On a terminal, names are escaped so that none can do harm; elsewhere they
          are the bytes themselves. Use --null or --json where a name may hold a
          newline. Remarks go to standard error.

        IN THE PLACE OF INOTIFYWAIT:
          Options and output are those of "inotifywait -m -r". With -m or -r and no
          -e, all events are told. It goes on without -m too; --count 1 ends after
          one. Links are never followed (-P). Instead of -d, -s, -F and -S it says
          what to use. photoinbox-watch(1) lists every difference.

        EXIT STATUS:
          0   ended by --count, or by a reader that went away
          1   failed
          2   nothing was told for as long as --timeout says
          3   as 0, but a part of the tree could not be watched
          64  wrong usage
          77  no permission
          SIGINT, SIGTERM and SIGHUP end it as they end any program, once what was
          told is written; a shell sees 130, 143 or 129.
        """

    @Option(
        name: [.short, .long], parsing: .unconditionalSingleValue,
        help: ArgumentHelp("What to tell; repeat it, or use commas; see --help.", valueName: "kinds"))
    var event: [String] = []

    @Option(parsing: .unconditionalSingleValue, help: .hidden)
    var events: [String] = []

    @OptionGroup var shape: WatchShapeOptions
    @OptionGroup var paths: WatchPathOptions

    @Flag(help: "Tell what is there already, too.")
    var existing = false

    @Flag(help: "Tell unfinished names (*.part and the like), too.")
    var unfinished = false

    @Option(name: .shortAndLong, help: ArgumentHelp("End when nothing was told for so long.", valueName: "time"))
    var timeout: Double?

    @Option(help: ArgumentHelp("End after so many events.", valueName: "n"))
    var count: Int?

    @Option(name: .shortAndLong, help: ArgumentHelp("Append to a file, not standard output.", valueName: "file"))
    var outfile: RawArgument?

    @Flag(name: .shortAndLong, help: "Remarks only on what is missed; -qq: no events.")
    var quiet: Int

    @Flag(name: .shortAndLong, help: "As inotifywait -m: all events, if no -e says less.")
    var monitor = false

    @Flag(name: .shortAndLong, help: "As inotifywait -r: the same. It always is.")
    var recursive = false

    @Option(help: ArgumentHelp("Tell what changed since the last run with it.", valueName: "file"))
    var state: RawArgument?

    @OptionGroup var refused: WatchRefusedOptions

    @Argument(help: ArgumentHelp("Directories to watch; @DIR to leave out.", valueName: "dir"))
    var directories: [RawArgument] = []

    func validate() throws {
        try refused.check()
        if let count, count < 1 { throw ValidationError("--count takes a number from 1 on.") }
        if let timeout, !(timeout >= 0 && timeout <= 1e9) {
            throw ValidationError("--timeout takes a number of seconds; 0 is no limit.")
        }
        if directories.isEmpty, paths.fromfile == nil { throw ValidationError("Name a directory to watch.") }
        if case .raw = try watchEvents(), state != nil {
            throw ValidationError("--state goes with finished and the other kinds, not with the kernel's events.")
        }
        _ = try shape.format(showsKind: true, isTerminal: false)
        _ = try paths.filter()
    }

    /// Whether it stands in for inotifywait, so that what is not said is as there.
    private var asInotifywait: Bool { monitor || recursive }

    private func watchEvents() throws -> WatchEvents {
        let words = event + events
        return words.isEmpty ? WatchEvents(asInotifywait: asInotifywait) : try WatchEvents(words: words)
    }

    func run() throws {
        // The tables of what is watched are large, and grow.
        HeapMemory.keepSmall()
        if let limit = limitWithoutRoom(forDescriptors: Self.descriptors) {
            throw CommandFailure(
                .failed, "the limit of open files (ulimit -n) is \(limit), which is too low for watch",
                action: "Raise it to \(Self.enough) at least.")
        }
        if let outfile { try appendOutput(to: outfile.path) }
        let list = try WatchList(directories.map(\.path), from: paths.fromfile?.path)
        let roots = try checked(list.directories)
        var filter = try paths.filter()
        filter.excludedTrees = list.excluded
        let events = try watchEvents()
        let showsKind =
            switch events {
            case .notices(let kinds): kinds != [.finished]
            case .raw: true
            }
        let isRaw = if case .raw = events { true } else { false }
        var watch = Watch(
            events, filter: filter,
            format: try shape.format(showsKind: showsKind, isRaw: isRaw, isTerminal: Terminal.isOutput))
        (watch.includesExisting, watch.includesUnfinished) = (existing, unfinished)
        (watch.limit, watch.isSilent, watch.state) = (count, quiet > 1, state?.path)
        watch.timeout = timeout.flatMap { $0 > 0 ? Duration.milliseconds(Int64(max(1, $0 * 1000))) : nil }
        watch.manner = manner
        try watch.run(roots)
    }

    /// What watching takes beside what every program has, deep trees and a few directories to watch included.
    private static let descriptors = 20
    private static let enough = 32

    private var manner: Watch.Manner {
        var manner = Watch.Manner(isQuiet: quiet > 0, isJSON: shape.json)
        if asInotifywait, !shape.json {
            // Programs that start inotifywait wait for these lines.
            manner.beginning =
                "Setting up watches." + (recursive ? "  Beware: since -r was given, this may take a while!" : "")
            manner.ready = "Watches established."
        }
        return manner
    }

    private func appendOutput(to path: BytePath) throws(CommandFailure) {
        let file = path.withCString { open($0, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600) }
        guard file >= 0 else { throw CommandFailure(SystemCallError("open", Errno(rawValue: errno), path: path)) }
        dup2(file, STDOUT_FILENO)
        close(file)
    }

    /// The directories, each once: one kernel watch cannot serve two names.
    private func checked(_ directories: [BytePath]) throws(CommandFailure) -> [BytePath] {
        var roots: [(path: BytePath, real: BytePath)] = []
        for path in directories {
            do throws(SystemCallError) {
                _ = try openDirectory(path)
                roots.append((path, try realPath(path)))
            } catch { throw CommandFailure(error) }
        }
        return roots.enumerated().filter { index, root in
            let isDouble = roots.enumerated().contains { other, there in
                other != index && root.real.isInside(there.real) && (root.real != there.real || other < index)
            }
            if isDouble, quiet == 0 {
                printRemark("\(root.path) is part of what is watched already", asJSON: shape.json)
            }
            return !isDouble
        }.map(\.element.path)
    }
}
