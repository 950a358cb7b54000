import ArgumentParser
import CommandContact
import CommandSupport
import FileValues
import Glibc
import LinuxKernel
import Reporting
import SystemPackage

/// `photoinbox dump`: the daemon's whole state, as JSON.
struct DumpCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dump", abstract: "Write the daemon's whole state as JSON.",
        usage: "photoinbox dump [OPTION…] [-o FILE]")

    static let lesson = """
        EXAMPLES:
          photoinbox dump -o state.json
          photoinbox dump | jq '.subsystems[] | select(.stuckSeconds != null)'

        The daemon is asked by SIGUSR1 and answers within 100 ms, even if one of its queues is stuck. The state has names of
        files but no content: read it before you attach it to a report.

        EXIT STATUS:
          0   written
          1   the daemon does not answer
          69  the daemon is not running
          64, 77, 78: see photoinbox --help
        """

    @Flag(help: .hidden)
    var json = false

    @Option(
        name: .shortAndLong, help: ArgumentHelp("Write to a new file instead of standard output.", valueName: "file"))
    var output: RawArgument?

    @OptionGroup var places: PlaceOptions

    func run() throws {
        let places = try Places(places)
        let bytes: [UInt8]
        do throws(CommandFailure) { bytes = try DaemonContact(places: places).freshStateFile() } catch {
            // Without permission to send a signal, the control socket may still answer.
            guard error.status == .permission else { throw error }
            bytes = try ControlContact(places: places).state(within: Int(DaemonContact.patience)) + [0x0A]
        }
        guard let path = output?.path else {
            return try printOut(String(decoding: bytes, as: UTF8.self))
        }
        do throws(SystemCallError) {
            // Never over an existing file: a slip of the hand must not cost a photo.
            let file = try descriptorCall("open", path: path) {
                path.withCString { Glibc.open($0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o640) }
            }
            try file.write(bytes, at: 0)
            try file.close()
        } catch {
            if error.code == .fileExists {
                throw CommandFailure(.failed, "\(path) exists", action: "Name a new file.")
            }
            throw CommandFailure(error)
        }
    }
}
