package import CommandSupport
package import FileValues
import Glibc
import LinuxKernel
import Reporting
import SystemPackage

/// The directories to watch and to exclude (`@DIR`), from the arguments and from `--fromfile`.
package struct WatchList: Equatable {
    package private(set) var directories: [BytePath] = []
    /// Without slashes at the end.
    package private(set) var excluded: Set<BytePath> = []

    /// Reads the file, if there is one, or standard input if it is `-`: a path a line. Its lines come first.
    package init(_ arguments: [BytePath], from file: BytePath?) throws(CommandFailure) {
        if let file {
            do throws(SystemCallError) {
                let bytes = file == "-" ? try Self.read(STDIN_FILENO) : try Self.read(file)
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

    private static func read(_ path: BytePath) throws(SystemCallError) -> [UInt8] {
        let file = path.withCString { open($0, O_RDONLY | O_CLOEXEC) }
        guard file >= 0 else { throw SystemCallError("open", Errno(rawValue: errno), path: path) }
        defer { close(file) }
        return try read(file)
    }

    private static func read(_ file: Int32) throws(SystemCallError) -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let piece = [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
                count = Glibc.read(file, buffer.baseAddress, buffer.count)
                if count < 0 { count = 0 }
            }
            if piece.isEmpty { return bytes }
            bytes += piece
        }
    }
}
