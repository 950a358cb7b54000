import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import FileValues
import Glibc
import LibraryCare
import LinuxKernel
import PhotoModel
import Reporting
import SystemPackage

struct CatalogueCommand: Command {
    static let configuration = CommandConfiguration(
        "catalogue", "Copy the catalogue into another database.", "copy [OPTION…] FROM TO")

    static let lesson = """
        EXAMPLES:
          sudo systemctl stop photoinboxd
          sudo photoinbox catalogue copy /var/lib/photoinbox/catalogue.sqlite service=photoinbox
          sudo photoinbox catalogue copy "host=/run/postgresql dbname=photos" /srv/copy/catalogue.sqlite

        Each of FROM and TO is a file, absolute or beginning with "./", or a database of PostgreSQL 14 or later, in the words of
        libpq: NAME=VALUE pairs, or postgresql://…; its encoding must be UTF8. The password belongs into a password file. All tables
        are in one schema, which is created. The program does not change FROM; TO must not exist.

        Every row is copied and then compared. After Ctrl-C or an error, the same command continues; until it has ended, nothing
        else opens TO. Stop photoinboxd before: it is found running if FROM is in its state directory; else a change of the file
        FROM is found in the end, and the copy is refused.

        photoinboxd works with a copy in the schema photoinbox once its configuration says so: catalogue = "service=photoinbox".

        EXIT STATUS:
          0   done, and equal
          1   TO exists, or differs in the end, or a database cannot be reached
          3   it was stopped
          75  the daemon is running
          64, 77: see photoinbox --help
        """

    @Option(help: ArgumentHelp("The schema in PostgreSQL.", valueName: "name"))
    var schema = "photoinbox"

    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("copy, FROM and TO.", valueName: "word"))
    var words: [RawArgument]

    private static func place(_ argument: RawArgument) -> CataloguePlace? {
        let path = argument.path
        if path.isAbsolute || path.bytes.starts(with: "./".utf8) || path.bytes.starts(with: "../".utf8) {
            return .file(path)
        }
        return String(validating: path.bytes, as: UTF8.self).flatMap { CataloguePlace.isServer($0) ? .server($0) : nil }
    }

    private var places: (from: CataloguePlace, to: CataloguePlace)? {
        guard words.count == 3, words[0].path == "copy", let from = Self.place(words[1]),
            let to = Self.place(words[2])
        else { return nil }
        return (from, to)
    }

    func validate() throws {
        guard schema.wholeMatch(of: #/[A-Za-z_][A-Za-z0-9_]{0,62}/#) != nil else {
            throw ValidationError("--schema must be at most 63 letters, digits and _, and begin with a letter.")
        }
        guard places != nil else {
            throw ValidationError(
                "Write: copy FROM TO. Each is a file, as /… or ./…, or a database, as NAME=VALUE or postgresql://…")
        }
    }

    func run() throws {
        guard let places else { return }
        let display = ProgressDisplay(json: output.json, counting: "rows")
        let interruption = Interruption(of: "step", announce: display.remark)
        var table = ""
        do {
            // No daemon may work with a file of its state directory.
            let directories = Set([places.from, places.to].compactMap { Self.stateDirectory(of: $0) })
            let locks = try directories.map { try StateLock($0) }
            defer { withExtendedLifetime(locks) {} }
            let source = try open(places.from)
            // Before there is a new one, which a daemon would take for the copy.
            try CatalogueCopy.requireOneHost(source)
            let target = try openForCopy(places.to)
            let copy = CatalogueCopy(
                from: source, to: target,
                shouldStop: interruption.mustStop,
                report: { progress in
                    let now = "\(progress.isComparing ? "comparing" : "copying") \(progress.table)"
                    if now != table, !output.json { display.remark(now) }
                    table = now
                    try display.show(photos: progress.rows, bytes: 0, asked: interruption.consumeProgressRequest())
                })
            let counts = try copy.run()
            if case .file = places.to { try target.closeWhole() }
            display.clear()
            try show(counts)
        } catch let error as CatalogueError where error.code == .interrupted {
            display.clear()
            printRemark("stopped; run it again to continue", asJSON: output.json)
            throw CommandEnd(status: .someLeft)
        } catch let error as CatalogueError {
            display.clear()
            throw CommandFailure(
                error.code == .permission ? .permission : .failed, printable("\(error)"))
        } catch let taken as StateLock.Taken {
            throw CommandFailure(taken)
        }
    }

    private static func stateDirectory(of place: CataloguePlace) -> BytePath? {
        guard case .file(let path) = place, let directory = try? realPath(linkedPath(path).parent) else { return nil }
        return (try? FileStatus(at: directory.appending("lock"))) == nil ? nil : directory
    }

    private static func text(_ path: BytePath) throws -> String {
        guard let text = String(validating: path.bytes, as: UTF8.self) else {
            throw CommandFailure(.failed, "\(path): the catalogue's path must be UTF-8")
        }
        return text
    }

    private func server(_ words: String) -> CatalogueServer {
        CatalogueServer(words, schema: schema, client: "photoinbox")
    }

    private func open(_ place: CataloguePlace) throws -> CatalogueFile {
        switch place {
        case .file(let path): try CatalogueFile.openForReading(Self.text(path))
        case .server(let words): try CatalogueFile.open(server(words), forWriting: false)
        }
    }

    private func openForCopy(_ place: CataloguePlace) throws -> CatalogueFile {
        switch place {
        case .server(let words): return try CatalogueFile.open(server(words), forWriting: true, isCopied: true)
        case .file(let path):
            let text = try Self.text(path)
            // The daemon could not open one of root. SQLite makes its other files with the same owner and mode.
            let directory = try openDirectory(path.parent)
            do throws(SystemCallError) {
                let file = try directory.openBeneath(path.name, [.write, .createNew], mode: 0o640)
                try file.giveToOwner(of: directory)
            } catch {
                if error.code != .fileExists { throw error }
            }
            return try CatalogueFile.openForCopy(text)
        }
    }

    private func show(_ counts: [(table: String, rows: Int)]) throws {
        if output.json {
            return try printJSON(
                [JSONField("type", "summary")] + counts.map { JSONField($0.table, $0.rows) })
        }
        var text = LabelledText()
        for (table, rows) in counts where rows > 0 { text.add(table, HumanText.count(rows)) }
        text.add("copied", "all rows are equal")
        try printOut(text.rendered(Terminal.style(output.color)))
    }
}
