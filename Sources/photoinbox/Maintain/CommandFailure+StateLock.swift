import CommandSupport
import FileValues
import LibraryCare
import LinuxKernel
import Reporting
import Settings

extension CommandFailure {
    /// A daemon runs that must be stopped first.
    init(_ taken: StateLock.Taken) {
        let directory = (try? realPath(taken.directory)) ?? taken.directory
        let named = DaemonAddress.current
        let action: String =
            switch StandardPlaces.instance(ofState: directory) {
            // Written in full where the command's options name it otherwise.
            case "": "sudo systemctl stop photoinboxd\(named == .system ? "" : ".service")"
            case let name?: "sudo systemctl stop photoinboxd@\(name)"
            case nil:
                (named == .system ? DaemonAddress.state(directory.escaped) : named)
                    .completing("sudo systemctl stop photoinboxd")
            }
        self.init(.busy, taken.words, action: "Stop it: \(action)")
    }
}
