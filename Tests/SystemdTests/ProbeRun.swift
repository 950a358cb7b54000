import Glibc
import TestSupport
import Testing

/// The results of a run of `systemd-probe`.
struct ProbeRun {
    let scratch: ScratchDirectory

    /// Runs it with a private journald, or with none.
    static func besideJournal(
        _ arguments: [String], journald mode: String = "with", through shell: String = "exec \"$0\" \"$@\""
    ) throws -> ProbeRun {
        let run = ProbeRun(scratch: try ScratchDirectory())
        try runProgram([script, mode, run.scratch.path, "/bin/sh", "-c", shell, probe] + arguments)
        return run
    }

    /// Runs it as a child of a shell that runs `shell` with the probe as `$0`.
    static func plain(_ shell: String, _ arguments: [String], in scratch: ScratchDirectory) throws -> ProbeRun {
        try runProgram(
            ["/bin/sh", "-c", "exec >\"$1/stdout\" 2>\"$1/stderr\"; shift; \(shell)", probe, scratch.path] + arguments)
        return ProbeRun(scratch: scratch)
    }

    /// The `name=value` lines of standard output; a name may occur twice.
    var output: [(name: String, value: String)] {
        contents("stdout").split(separator: UInt8(ascii: "\n")).map { line in
            let parts = line.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return (text(parts[0]), parts.count > 1 ? text(parts[1]) : "")
        }
    }

    /// The value of the first line with that name.
    func value(_ name: String) -> String? { output.first { $0.name == name }?.value }

    /// The journal's entries from the probe, in order.
    func entries() -> [JournalExport.Entry] {
        JournalExport.entries(contents("export")).filter { $0.text("SYSLOG_IDENTIFIER") == "systemd-probe" }
    }

    func contents(_ name: String) -> [UInt8] {
        guard let file = fopen(scratch.appending(name), "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
        return bytes
    }

    private func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    private static let probe = BuiltPrograms.path("systemd-probe")

    private static let script: String = {
        let here = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        return "\(here)/Scripts/private-journald.sh"
    }()

    /// Why no private journald can be run on this machine; nil if it can.
    static let refusal: String? = {
        do {
            let run = try besideJournal([], through: "exec true")
            return run.contents("export").isEmpty ? "journald kept nothing" : nil
        } catch {
            return "journald in a private namespace is refused (\(error))"
        }
    }()
}

/// `journalctl -o export`: binary-safe, so that exact bytes can be compared. See systemd.io/JOURNAL_EXPORT_FORMATS.
enum JournalExport {
    struct Entry {
        let fields: [(name: String, value: [UInt8])]

        func values(_ name: String) -> [[UInt8]] { fields.filter { $0.name == name }.map(\.value) }

        /// The only value of the field, as text; nil if there is none, there are several, or it is not valid UTF-8.
        func text(_ name: String) -> String? {
            let found = values(name)
            return found.count == 1 ? String(validating: found[0], as: UTF8.self) : nil
        }
    }

    static func entries(_ bytes: [UInt8]) -> [Entry] {
        var entries: [Entry] = []
        var fields: [(name: String, value: [UInt8])] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = rest[..<end]
            rest = rest[(end + 1)...]
            if line.isEmpty {
                if !fields.isEmpty { entries.append(Entry(fields: fields)) }
                fields = []
            } else if let equals = line.firstIndex(of: UInt8(ascii: "=")) {
                fields.append((String(decoding: line[..<equals], as: UTF8.self), Array(line[(equals + 1)...])))
            } else {
                let size = rest.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
                fields.append((String(decoding: line, as: UTF8.self), Array(rest.dropFirst(8).prefix(size))))
                rest = rest.dropFirst(8 + size + 1)
            }
        }
        if !fields.isEmpty { entries.append(Entry(fields: fields)) }
        return entries
    }
}
