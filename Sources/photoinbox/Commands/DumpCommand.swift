import ArgumentParser
import CommandContact
import CommandSupport
import ControlProtocol
import FileValues
import Glibc
import LinuxKernel
import Reporting
import SystemPackage

struct DumpCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "dump", "Write the daemon's whole state as JSON.", "[OPTION…] [-o FILE]")

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

    func run(at places: Places) throws {
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
            guard error.code == .fileExists else { throw error }
            throw CommandFailure(.failed, "\(path) exists", action: "Name a new file.")
        }
    }
}

struct MetricsCommand: DaemonCommand {
    static let configuration = CommandConfiguration("metrics", "Write the daemon's metrics as OpenMetrics text.")

    static let lesson = """
        EXAMPLES:
          photoinbox metrics
          photoinbox metrics | grep '^photoinbox_waiting_photos'

        photoinbox-metrics(7) describes them. For a collector that reads files, the daemon can write them to one: textfile in
        [metrics] of photoinbox.toml(5). No privilege is needed beyond access to the control socket.

        EXIT STATUS:
          0   written
          69  the daemon is not running
          1, 64, 75, 77, 78: see photoinbox --help
        """

    @OptionGroup var places: PlaceOptions

    func run(at places: Places) throws {
        let answer = try ControlContact(places: places).ask(ControlRequest(.metrics))
        if let failure = CommandFailure(answer) { throw failure }
        guard let text = answer.text else {
            throw CommandFailure(
                .failed, "photoinboxd answered without metrics",
                action: "Use the photoinbox of the same version as the daemon.")
        }
        try printOut(text)
    }
}
