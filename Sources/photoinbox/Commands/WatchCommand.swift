import ArgumentParser
import FileValues
import Glibc
import LinuxKernel
import Reporting
import Settings
import SystemMonitor
import SystemPackage

/// `photoinbox watch`: finished files as they come, from any directories; needs no daemon.
struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print files as they are finished, one a line; needs no daemon.",
        usage: "photoinbox watch [OPTION…] DIR…")

    static let lesson = """
        EXAMPLES:
          photoinbox watch ~/Downloads
          photoinbox watch --null in | xargs -0 -n1 ./import
          photoinbox watch --json --events finished,renamed,vanished in | jq -r .path
          photoinbox watch --count 1 --timeout 60 in     wait for one file, a minute at most
          photoinbox watch --events all in               the kernel's records, as inotifywait -m -r

        Directories are watched with all below them, new ones too. A file is told when its writer has closed it, when
        it was moved in, or when it was found beside others in a directory that came as a whole. Names that programs
        use until a file is whole (IMG_1.JPG.part, .syncthing.x.tmp) are left out: the file is told once it has its
        own name. A finished file that gets another name is told again, unless "renamed" is asked for too.
        Lost events (an overflow, a moved tree) are made up for by comparing with what is there.

        EVENTS (--events KIND,… ; default finished):
          finished  created  changed  vanished  renamed  directory  directory-vanished  special
          With other kinds than "finished" alone, lines begin with the kind. A rename takes two lines: "renamed-from
          OLD" and "renamed-to NEW"; with --json it is one object.
          all       records as they are: "DIRECTORY/ MASK NAME". FOUND is what a new directory held already.
                    The reading of directories is left out, since watching them reads them.
          Names as inotifywait has them (close_write,moved_to) select among those.

        OUTPUT:
          On a terminal, names are escaped so that none can do harm; elsewhere they are the bytes themselves. Use
          --null or --json where a name may hold a newline. Remarks go to standard error.

        EXIT STATUS:
          0   ended by --count, SIGINT, SIGTERM or a reader that went away; or by --timeout after telling something
          3   the same, but part of the tree could not be watched; or --timeout came before --count was reached
          4   --timeout came and there was nothing to tell
          1, 64, 77  failed, usage, no permission
        """

    @Flag(help: "End each name with a NUL instead of a newline.")
    var null = false

    @Flag(help: "One JSON object a line.")
    var json = false

    @Option(help: ArgumentHelp("What to tell: kinds, or all for raw events; see --help.", valueName: "kinds"))
    var events = "finished"

    @Option(
        help: ArgumentHelp(
            "Leave out what matches: *.tmp for any name along the path, raw/*.xmp from DIR down.", valueName: "glob"))
    var exclude: [String] = []

    @Flag(help: "Tell what is there already, too.")
    var existing = false

    @Flag(help: "Tell unfinished names (*.part and the like), too.")
    var unfinished = false

    @Option(help: ArgumentHelp("End after so many seconds.", valueName: "seconds"))
    var timeout: Double?

    @Option(help: ArgumentHelp("End after so many events.", valueName: "n"))
    var count: Int?

    @Flag(name: .shortAndLong, help: "Remarks on standard error only where something is missed.")
    var quiet = false

    @Argument(help: ArgumentHelp("Directories to watch.", valueName: "dir"))
    var directories: [RawArgument]

    func validate() throws {
        if null, json { throw ValidationError("--null and --json exclude each other.") }
        if let count, count < 1 { throw ValidationError("--count takes a number from 1 on.") }
        if let timeout, !(timeout > 0 && timeout <= 1e9) {
            throw ValidationError("--timeout takes a number of seconds above 0.")
        }
        _ = try WatchEvents(words: events)
        _ = try excludePatterns(exclude)
    }

    func run() throws {
        let roots = try checked(directories.map(\.path))
        let patterns = try excludePatterns(exclude)
        let excludes: (@Sendable (BytePath) -> Bool)? =
            patterns.isEmpty ? nil : { @Sendable (path: BytePath) in patterns.contains { $0.matches(path) } }
        let events = try WatchEvents(words: events)
        let showsKind =
            switch events {
            case .notices(let kinds): kinds != [.finished]
            case .raw: true
            }
        let shape: EventFormat.Shape = json ? .json : null ? .null : .lines(escaped: Terminal.isOutput)
        let session = try WatchSession(
            report: WatchReport(format: EventFormat(shape: shape, showsKind: showsKind), limit: count), isQuiet: quiet)
        let source: any EventSource
        do throws(SystemCallError) {
            switch events {
            case .notices(let kinds):
                source = try NoticeSource(
                    session: session, roots: roots,
                    selection: NoticeSource.Selection(
                        kinds: kinds, includesExisting: existing, includesUnfinished: unfinished), exclude: excludes)
            case .raw(let mask):
                source = try RawSource(
                    session: session, roots: roots, mask: mask, includesExisting: existing,
                    exclude: excludes)
            }
        } catch { throw CommandFailure(error) }
        session.run(source, timeout: timeout.map { .milliseconds(Int64($0 * 1000)) })
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
            if isDouble, !quiet { printRemark("\(root.path) is part of what is watched already", asJSON: json) }
            return !isDouble
        }.map(\.element.path)
    }
}

/// Patterns as the configuration's `exclude` has them, read by the same code.
func excludePatterns(_ patterns: [String]) throws -> [PathGlob] {
    guard !patterns.isEmpty else { return [] }
    var builder = SettingsBuilder(context: SettingsContext(workingDirectory: "/"))
    builder.addFlag("--library", key: "library", value: "/library")
    builder.addInbox("watched=/watched", flag: "DIR")
    builder.addFlag("--exclude", key: "inbox.watched.exclude", values: patterns)
    do { return try builder.build().inboxes.first?.exclude ?? [] } catch {
        throw ValidationError(error.description)
    }
}

/// The path without links, `.` and `..`; see realpath(3).
func realPath(_ path: BytePath) throws(SystemCallError) -> BytePath {
    guard let text = path.withCString({ realpath($0, nil) }) else {
        throw SystemCallError("realpath", Errno(rawValue: errno), path: path)
    }
    defer { free(text) }
    return BytePath(UnsafeBufferPointer(start: text, count: strlen(text)).map { UInt8(bitPattern: $0) })
}
