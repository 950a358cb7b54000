import ControlProtocol
import FileValues
import Foundation
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

/// A command's output and status.
struct CommandResult {
    let lines: [String]
    let ending: RunningProgram.Ending
    var text: String { lines.joined(separator: "\n") }
    var status: Int32? {
        if case .status(let status) = ending { return status }
        return nil
    }
}

extension House {
    /// One inbox "card", with times that are short enough for a test.
    static let oneCard = """
        library = "@library"
        quarantine = "@quarantine"
        duplicates = "@duplicates"
        state = "@st"
        runtime = "@st/run"
        [inbox.card]
        path = "@inbox"
        patience = "1s"
        """

    /// Runs `photoinbox` with this configuration.
    func ask(_ arguments: String..., tracing prefix: [String] = []) async throws -> CommandResult {
        try await ask(arguments, tracing: prefix)
    }

    func ask(_ arguments: [String], tracing prefix: [String] = []) async throws -> CommandResult {
        let program = try RunningProgram(
            prefix + [BuiltPrograms.path("photoinbox")] + arguments + ["--config", path("photoinbox.toml")])
        let ending = try await program.ending()
        return CommandResult(lines: program.lines, ending: ending)
    }

    /// A command as proposed in output for this configuration.
    func proposed(_ command: String, _ arguments: String) -> String {
        "photoinbox \(command) --config \(path("photoinbox.toml")) \(arguments)"
    }

    /// The paths of all files below the house with these bytes.
    func places(of data: Data) -> [String] {
        Tree.files(below: root).filter { $0.value == data }.map(\.key).sorted()
    }

    /// A connection to the daemon's control socket.
    func connection(patience: Duration = .seconds(waitLimit)) throws -> OwnedDescriptor {
        try connect(to: BytePath(path("st/run/control")), patience: patience)
    }

    /// Sends a request on the socket, without the command line.
    func exchange(_ bytes: [UInt8]) async throws -> ControlAnswer? {
        let socket = try connection()
        try systemCall("send") { send(socket.raw, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
        return try await answer(from: socket.raw)
    }

    /// The next answer, without its state; nil at the end.
    func answer(from socket: Int32) async throws -> ControlAnswer? {
        try await frame(from: socket).flatMap { ControlAnswer(json: $0) }
    }

    /// The bytes of the next answer; nil at the end.
    func frame(from socket: Int32) async throws -> [UInt8]? {
        try await aside {
            var reader = FrameReader(limit: ControlAnswer.limit + 1_024)
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                if let frame = try reader.next() { return frame }
                let count = recv(socket, &buffer, buffer.count, 0)
                guard count > 0 else { return nil }
                reader.add(Array(buffer[..<count]))
            }
        }
    }
}
