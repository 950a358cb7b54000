import FetchService
import FileValues
import Glibc
import LinuxKernel
import SystemMonitor
import Systemd

// Started by `photoinbox fetch` with a connection as its standard input, or by photoinboxd-fetch@.service.

// libcurl's libraries write to sockets that may be gone.
signal(SIGPIPE, SIG_IGN)
setenv("LIBDISPATCH_LOG", "NO", 0)
// Before any thread exists, so that it is waited for and never lost.
ProcessSignals.block([.term])
let service = ServiceManager.takeFromEnvironment()
let arguments = Array(CommandLine.arguments.dropFirst())
do {
    switch (arguments.first, arguments.count) {
    case ("--child", 1):
        let connection = try descriptorCall("fcntl") { fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) }
        // Nobody else is to hold the connection open.
        _ = dup2(STDERR_FILENO, STDIN_FILENO)
        try FetchProgram.run(.child, connection)
    case ("--for", 2), ("--for", 3):
        guard let connection = service.activatedDescriptors.first?.take() else {
            FetchProgram.log("photoinbox-fetch: no connection was handed over; photoinboxd-fetch.socket does that")
            exit(EX_USAGE)
        }
        let configuration = arguments.count > 2 ? BytePath(arguments[2]) : nil
        try FetchProgram.run(.service(client: arguments[1], configuration: configuration), connection)
    default:
        FetchProgram.log(
            "usage: photoinbox-fetch --child | --for USER [CONFIGURATION]   (see photoinbox fetch --help)")
        exit(EX_USAGE)
    }
} catch {
    FetchProgram.log("photoinbox-fetch: \(error)")
    exit(EX_NOPERM)
}
