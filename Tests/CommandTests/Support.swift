import FileValues
import Foundation
import Glibc
import TestSupport

/// The result of a run of the program.
struct CommandResult {
    let status: Int32
    let output: [UInt8]
    let errors: String

    var text: String { String(decoding: output, as: UTF8.self) }

    /// Standard output as one JSON object; throws if anything but that is there.
    func json() throws -> [String: Any] {
        let value = try JSONSerialization.jsonObject(with: Data(output))
        return value as? [String: Any] ?? [:]
    }
}

/// Runs the built program to its end, in `directory`, with the environment that it needs.
func photoinbox(
    _ arguments: [String], in directory: ScratchDirectory, environment: [String: String] = [:]
) async throws -> CommandResult {
    try await photoinboxRaw(arguments.map { Array($0.utf8) }, in: directory, environment: environment)
}

/// The same for arguments that are not UTF-8.
func photoinboxRaw(
    _ arguments: [[UInt8]], in directory: ScratchDirectory, environment: [String: String] = [:]
) async throws -> CommandResult {
    let name = UUID().uuidString
    let (output, errors) = (directory.appending(".\(name).out"), directory.appending(".\(name).err"))
    // Bytes that are no text travel through the shell in octal.
    let words = arguments.map { "\"$(printf '" + $0.map { "\\" + octal($0) }.joined() + "_')\"" }
    let script = """
        cd '\(directory.path)' || exit 99
        set -- \(words.joined(separator: " "))
        for word do shift; set -- "$@" "${word%_}"; done
        exec '\(BuiltPrograms.path("photoinbox"))' "$@" >'\(output)' 2>'\(errors)' </dev/null
        """
    let program = try RunningProgram(
        ["/bin/bash", "-c", script], environment: ["TERM": "dumb", "TZ": "UTC"].merging(environment) { $1 })
    let status: Int32
    switch try await program.ending() {
    case .status(let code): status = code
    case .signal(let number): status = 128 + number
    }
    return CommandResult(
        status: status, output: try bytes(of: output), errors: String(decoding: try bytes(of: errors), as: UTF8.self))
}

/// Runs a script in `directory`, in which `photoinbox` is the built program.
func photoinboxShell(_ script: String, in directory: ScratchDirectory) async throws -> CommandResult {
    let name = UUID().uuidString
    let (output, errors) = (directory.appending(".\(name).out"), directory.appending(".\(name).err"))
    let whole = """
        cd '\(directory.path)' || exit 99
        photoinbox() { '\(BuiltPrograms.path("photoinbox"))' "$@"; }
        exec >'\(output)' 2>'\(errors)' </dev/null
        \(script)
        """
    let program = try RunningProgram(["/bin/bash", "-c", whole])
    guard case .status(let status) = try await program.ending() else { throw POSIXError(.ECANCELED) }
    return CommandResult(
        status: status, output: try bytes(of: output), errors: String(decoding: try bytes(of: errors), as: UTF8.self))
}

/// A `watch` that runs: its output goes to a file, its remarks are read.
struct RunningWatch {
    let program: RunningProgram
    private let outputPath: String

    /// Starts it in `directory` and waits until it says that it watches, in a line with `ready` in it. Another program
    /// may be run in its place.
    init(
        _ arguments: [String], in directory: ScratchDirectory, ready: String = "watching",
        program name: String = "'\(BuiltPrograms.path("photoinbox"))' watch"
    ) async throws {
        outputPath = directory.appending(".\(UUID().uuidString).out")
        let words = arguments.map { "'\($0)'" }.joined(separator: " ")
        let script = """
            cd '\(directory.path)' || exit 99
            exec \(name) \(words) 2>&1 >'\(outputPath)' </dev/null
            """
        program = try RunningProgram(["/bin/bash", "-c", script], environment: ["TZ": "UTC"])
        try await program.line(holding: ready)
    }

    /// Waits until its output file is as wanted, by tail(1), which uses inotify.
    func waitForOutput(_ isWanted: @escaping @Sendable ([UInt8]) -> Bool) async throws {
        let tail = try RunningProgram(["/usr/bin/tail", "-n", "+1", "-f", outputPath])
        let path = outputPath
        try await tail.line("the wanted output") { _ in (try? bytes(of: path)).map(isWanted) ?? false }
        tail.signal(SIGTERM)
    }

    /// Its end; the signal is sent first, if there is one.
    func end(_ signal: Int32? = nil) async throws -> (ending: RunningProgram.Ending, output: [UInt8]) {
        if let signal { program.signal(signal) }
        let ending = try await program.ending()
        return (ending, try bytes(of: outputPath))
    }
}

/// Runs a script in `directory`. What tests write beside a watch is written by another process: a descriptor of our own
/// could live on for a moment in a program that a test beside this one starts, and its file would not be finished.
func shell(_ script: String, in directory: ScratchDirectory) throws {
    try runProgram(["/bin/bash", "-ec", "cd '\(directory.path)'; \(script)"])
}

func bytes(of path: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: path))) }

private func octal(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 8)
    return String(repeating: "0", count: 3 - digits.count) + digits
}

/// Makes a file by its bytes, wherever names are not text.
func write(_ content: String, to path: [UInt8]) throws {
    let file = BytePath(path).withCString { open($0, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644) }
    guard file >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    defer { close(file) }
    guard Array(content.utf8).withUnsafeBytes({ Glibc.write(file, $0.baseAddress, $0.count) }) == content.utf8.count
    else { throw POSIXError(.EIO) }
}

func makeDirectories(_ path: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
}
