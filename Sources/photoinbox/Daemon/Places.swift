import Catalogue
import CommandSupport
import FileValues
import Glibc
import LinuxKernel
import Reporting
import Settings
import SystemPackage

/// Where the daemon keeps its things, as far as this process was told.
struct Places {
    /// The configuration; nil where only directories were named.
    let settings: Settings?
    let state: BytePath
    let runtime: BytePath
    let catalogue: BytePath

    /// The file that the daemon's state is written to.
    var stateFile: BytePath { runtime.appending("state.json") }
    /// The file that holds the daemon's process number.
    var processFile: BytePath { runtime.appending("photoinboxd.pid") }

    /// Where `make run` keeps the state.
    private static let embedded: BytePath = ".photo-inbox"

    /// Flags win over the configuration, and it over nothing: directories are not guessed. With `despiteMistakes`, those of
    /// a configuration with mistakes are found, since the daemon that runs has read a better one; `remarks` says so.
    init(
        _ options: PlaceOptions, despiteMistakes isTolerant: Bool = false, remarks: Bool = true
    ) throws(CommandFailure) {
        var state = options.state?.path
        if state == nil, options.config == nil { state = Terminal.variable("PHOTOINBOX_STATE").map { BytePath($0) } }
        if state?.isEmpty == true { state = nil }
        if let state, options.config == nil {
            settings = nil
            self.state = state
            runtime = options.runtime?.path ?? state.appending("run")
            catalogue = state.appending("catalogue.sqlite")
            guard (try? FileStatus(at: state, followingLinks: true)) != nil else {
                throw CommandFailure(
                    .unavailable, "there is no state directory \(state)",
                    action: "Start photoinboxd, or correct --state or $PHOTOINBOX_STATE.")
            }
            return
        }
        let settings: Settings
        do throws(CommandFailure) {
            settings = try Self.read(options.config?.path)
            self.settings = settings
        } catch {
            guard isTolerant, error.status == .configuration, let rough = Self.rough(options.config?.path) else {
                throw error
            }
            if remarks {
                printRemark(
                    "\(error.message). The daemon that runs has read another configuration, and is asked all the same")
            }
            settings = rough
            self.settings = nil
        }
        self.state = state ?? settings.state
        runtime = options.runtime?.path ?? state?.appending("run") ?? settings.runtime
        catalogue = state?.appending("catalogue.sqlite") ?? settings.catalogue
    }

    /// Says so where `inbox` is none of the configured ones: a mistake, or one of former times, whose photos are there
    /// still, so no failure.
    func remarkOnUnknown(inbox: String?, asJSON: Bool) {
        guard let inbox, let names = settings?.inboxes.map(\.name), !names.contains(inbox) else { return }
        let meant = likelyMeaning(of: inbox, among: names).map { "; did you mean \"\($0)\"?" }
        let others = names.isEmpty ? ", nor any other" : ", only \(names.joined(separator: ", "))"
        printRemark("no inbox \(shown(inbox)) is configured\(meant ?? others)", asJSON: asJSON)
    }

    /// The catalogue itself, for a command that works on it for long.
    func openCatalogue(forRepair: Bool) throws(CommandFailure) -> CatalogueFile {
        guard let text = String(validating: catalogue.bytes, as: UTF8.self) else {
            throw CommandFailure(.failed, "\(catalogue): the catalogue's path must be UTF-8")
        }
        // One that is not there is not made here: a wrong --state would look like an empty library.
        let reading: CatalogueFile
        do throws(CatalogueError) { reading = try CatalogueFile.openForReading(text) } catch {
            throw CommandFailure(error, path: catalogue.escaped)
        }
        guard forRepair else { return reading }
        reading.close()
        do throws(CatalogueError) { return try CatalogueFile.openForRepair(text) } catch {
            // What this user may not do is to write, since reading went well.
            let isForbidden = error.code == .permission
            throw isForbidden ? .mayNotChange(catalogue) : CommandFailure(error, path: catalogue.escaped)
        }
    }

    private static func rough(_ named: BytePath?) -> Settings? {
        let path = named ?? SettingsContext.ofProcess().standardFile
        var builder = SettingsBuilder(context: .ofProcess())
        guard let bytes = try? content(of: path) else { return nil }
        builder.addFile(bytes, path: path)
        return builder.settingsDespiteMistakes()
    }

    private static func read(_ named: BytePath?) throws(CommandFailure) -> Settings {
        let path = named ?? SettingsContext.ofProcess().standardFile
        var builder = SettingsBuilder(context: .ofProcess())
        do throws(SystemCallError) { builder.addFile(try content(of: path), path: path) } catch {
            if error.code == .noSuchFileOrDirectory, named == nil {
                let isHere = (try? FileStatus(at: embedded.appending("catalogue.sqlite"))) != nil
                throw CommandFailure(
                    .configuration, "there is no configuration \(path)",
                    action: isHere
                        ? "For the photoinboxd of \"make run\": --state .photo-inbox"
                        : "Name the daemon's configuration with --config, or its state directory with --state.")
            }
            if error.code == .noSuchFileOrDirectory {
                throw CommandFailure(.configuration, "\(path) is not there", action: "Correct the path.")
            }
            throw CommandFailure(error)
        }
        do { return try builder.build() } catch {
            throw CommandFailure(.configuration, "\(error)", action: "Correct that, then: photoinboxd --check")
        }
    }
}

/// The whole of a file that is not expected to be large; 64 MiB at most.
func content(of path: BytePath) throws(SystemCallError) -> [UInt8] {
    let file = try descriptorCall("open", path: path) {
        path.withCString { Glibc.open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
    }
    var content: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while content.count < 64 << 20 {
        let count = try systemCall("read", path: path) {
            buffer.withUnsafeMutableBytes { Glibc.read(file.raw, $0.baseAddress, $0.count) }
        }
        if count == 0 { break }
        content += buffer[..<count]
    }
    return content
}
