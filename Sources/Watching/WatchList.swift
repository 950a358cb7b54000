package import CommandSupport
package import FileValues
import Glibc
import LinuxKernel
import Reporting

/// The directories to watch and to exclude (`@DIR`), from the arguments and from `--fromfile`.
package struct WatchList: Equatable {
    package private(set) var directories: [BytePath] = []
    /// Without slashes at the end.
    package private(set) var excluded: Set<BytePath> = []

    /// Reads the file, if there is one, or standard input if it is `-`: a path a line. Its lines come first.
    package init(_ arguments: [BytePath], from file: BytePath?) throws(CommandFailure) {
        if let file {
            do throws(SystemCallError) {
                let bytes = try file == "-" ? readToEnd(STDIN_FILENO, "standard input") : contents(of: file)
                for line in bytes.split(separator: UInt8(ascii: "\n")) { add(BytePath(line)) }
            } catch { throw CommandFailure(error) }
        }
        for argument in arguments { add(argument) }
        if directories.isEmpty { throw CommandFailure(.usage, "no directory to watch", action: "Give one.") }
    }

    private mutating func add(_ path: BytePath) {
        guard path.bytes.first == UInt8(ascii: "@") else {
            if !path.isEmpty { directories.append(path) }
            return
        }
        var rest = path.bytes.dropFirst()
        while rest.count > 1, rest.last == UInt8(ascii: "/") { rest.removeLast() }
        if !rest.isEmpty { excluded.insert(BytePath(rest)) }
    }
}
