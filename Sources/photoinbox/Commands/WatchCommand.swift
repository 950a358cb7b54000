import ArgumentParser
import CommandContact
import CommandSupport
import FileValues
import Glibc
import LinuxKernel
import Reporting
import Settings
import SystemMonitor
import SystemPackage
import Watching

struct WatchCommand: Command {
    static let configuration = CommandConfiguration(
        "watch", "Print each finished file; needs no daemon.", "[OPTION…] DIR…")

    static let lesson = """
        EXAMPLES:
          photoinbox watch ~/Downloads
          photoinbox watch --null in | xargs -0 -n1 ./import
          photoinbox watch --json -e finished,renamed,vanished in | jq -r .path
          photoinbox watch --count 1 -t 60 in   wait for one file, a minute at most
          photoinbox watch -m -r -e close_write,moved_to --format %w%f in
                                                instead of inotifywait

        Directories are watched recursively, including new ones. A file is reported when
        its writer has closed it, when it was moved in, or when it was found in a
        directory that was moved in as a whole. Unfinished names (IMG_1.JPG.part,
        .syncthing.x.tmp) are not reported: the file is reported once it has its final
        name. A finished file that is renamed is reported again, unless "renamed" is
        requested too. Lost events (an overflow, a moved tree) are made up for by
        comparing the directories with what is known.

        With --state FILE it continues where the last run with that file ended: first it
        reports what was finished, renamed or vanished since. Files that existed at the
        first run are reported with --existing only. A report that may not have been
        read is repeated. A file that was overwritten with the same size and all the
        same times is not noticed.

        EVENTS (-e KIND,…; finished by default):
          finished  created  changed  vanished  renamed
          directory  directory-vanished  special
          "created" is reported for files that are still open after 25 ms.
          With kinds other than "finished", lines begin with the kind. A rename has two
          lines: "renamed-from OLD" and "renamed-to NEW"; with --json it is one object.
        EVENTS OF THE KERNEL:
          access  modify  attrib  close_write  close_nowrite  close  open
          moved_to  moved_from  move  move_self  create  delete  delete_self
          unmount  ignored  q_overflow  all
          Reported as they come, without delay: "DIRECTORY/ EVENT,… NAME". Entries that
          were in a new directory before it was watched are reported as FOUND, if
          create, moved_to or close_write is requested.
        OUTPUT:
          %w the directory, %f the name in it, %e the events, %Xe with X between them,
          %T the time (--timefmt), %c the cookie of a rename, %0 NUL, %n newline, %%.
          On a terminal, names are escaped so that they cannot do harm; elsewhere they
          are written byte for byte. Use --null or --json if a name may contain a
          newline. Remarks go to standard error.
        IN PLACE OF INOTIFYWAIT:
          Options and output are those of "inotifywait -m -r". With -m or -r and no
          -e, all events are reported. It continues even without -m; --count 1 ends it
          after one. Links are never followed (-P). The options -d, -s, -F and -S are
          refused, with a replacement. photoinbox-watch(1) lists every difference.

        EXIT STATUS:
          0   ended by --count, or because its reader closed the pipe
          1   failed
          2   no event within --timeout
          3   as 0, but a part of the tree could not be watched
          64  wrong usage
          77  permission denied
          SIGINT, SIGTERM and SIGHUP end it as they end any program, after all reports
          are written; a shell sees 130, 143 or 129.
        """

    @Option(
        name: [.short, .long], parsing: .unconditionalSingleValue,
        help: ArgumentHelp("What to report; repeat it, or use commas.", valueName: "kinds"))
    var event: [String] = []

    @Option(parsing: .unconditionalSingleValue, help: .hidden)
    var events: [String] = []

    @OptionGroup var shape: WatchShapeOptions
    @OptionGroup var paths: WatchPathOptions

    @Flag(help: "Also report files that already exist.")
    var existing = false

    @Flag(help: "Also report unfinished names (*.part etc.).")
    var unfinished = false

    @Option(
        name: .shortAndLong, help: ArgumentHelp("Exit after this long without an event, in seconds.", valueName: "time")
    )
    var timeout: Double?

    @Option(help: ArgumentHelp("Exit after this many events.", valueName: "n"))
    var count: Int?

    @Option(name: .shortAndLong, help: ArgumentHelp("Append to a file instead of standard output.", valueName: "file"))
    var outfile: RawArgument?

    @Flag(name: .shortAndLong, help: "Only warn of what is missed; -qq: no events either.")
    var quiet: Int

    @Flag(name: .shortAndLong, help: "As inotifywait -m: all events unless -e is given.")
    var monitor = false

    @Flag(name: .shortAndLong, help: "As inotifywait -r; watching is always recursive.")
    var recursive = false

    @Option(help: ArgumentHelp("Report changes since the last run with it.", valueName: "file"))
    var state: RawArgument?

    @OptionGroup var refused: WatchRefusedOptions

    @Argument(help: ArgumentHelp("Directories to watch; @DIR to exclude one.", valueName: "dir"))
    var directories: [RawArgument] = []

    func validate() throws {
        try refused.check()
        if let count, count < 1 { throw ValidationError("--count must be at least 1.") }
        if let timeout, !(timeout >= 0 && timeout <= 1e9) {
            throw ValidationError("--timeout must be a number of seconds; 0 is no limit.")
        }
        if directories.isEmpty, paths.fromfile == nil { throw ValidationError("Give a directory to watch.") }
        if case .raw = try watchEvents(), state != nil {
            throw ValidationError("--state requires finished or another of these kinds, not events of the kernel.")
        }
        _ = try shape.format(showsKind: true, isTerminal: false)
        _ = try paths.filter()
    }

    private var asInotifywait: Bool { monitor || recursive }

    private func watchEvents() throws -> WatchEvents {
        let words = event + events
        return words.isEmpty ? WatchEvents(asInotifywait: asInotifywait) : try WatchEvents(words: words)
    }

    func run() throws {
        // The tables of watched directories are large, and grow.
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

    /// Descriptors for watching, deep trees and a few roots included.
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

    private func appendOutput(to path: BytePath) throws {
        let file = try descriptorCall("open", path: path) {
            path.withCString { open($0, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600) }
        }
        dup2(file.raw, STDOUT_FILENO)
    }

    /// The directories, each once: one kernel watch cannot serve two names.
    private func checked(_ directories: [BytePath]) throws -> [BytePath] {
        let roots = try directories.map { path in
            _ = try openDirectory(path)
            return (path: path, real: try realPath(path))
        }
        return roots.enumerated().filter { index, root in
            let isDouble = roots.enumerated().contains { other, there in
                other != index && root.real.isInside(there.real) && (root.real != there.real || other < index)
            }
            if isDouble, quiet == 0 {
                printRemark("\(root.path) is watched already", asJSON: shape.json)
            }
            return !isDouble
        }.map(\.element.path)
    }
}
