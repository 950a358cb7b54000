import FileValues
import Glibc
import LinuxKernel
import TestSupport
import Testing

/// A watch in a mount namespace of its own, on a tmpfs of its own, and commands to mount, move and remove directories
/// around it. Nothing is polled and there are no ticks: all notices follow from events.
final class MountBox {
    /// Why there can be none here; nil if there can.
    static let refusal: String? = {
        (try? runProgram(enter + ["/bin/sh", "-c", "mount -t tmpfs tmpfs /tmp"])) == nil
            ? "skipped: needs root or user namespaces, to mount file systems of its own" : nil
    }()
    /// Whether files can be mounted as disks.
    static let hasDisks =
        refusal == nil && geteuid() == 0 && access("/dev/loop-control", W_OK) == 0
        && access("/sbin/mkfs.ext4", X_OK) == 0

    /// A shell function: umount(8), again for a second while the file system is busy. After a burst the watch keeps the
    /// directories open for a moment.
    private static let unmount =
        "unmount() { for try in $(seq 50); do umount \"$@\" 2>&- && return; sleep 0.02; done; umount \"$@\"; };"

    private static let enter =
        ["/usr/bin/unshare"] + (geteuid() == 0 ? [] : ["--user", "--map-root-user"]) + [
            "--mount", "--propagation", "private",
        ]

    private let scratch: ScratchDirectory
    let probe: RunningProgram
    private var readCount = 0

    /// Runs `prepare` in the empty tmpfs, then watches `roots`, paths in it by their names.
    init(_ prepare: String, roots: [String: String] = ["inbox": "inbox"], ready: Bool = true) async throws {
        let scratch = try ScratchDirectory()
        self.scratch = scratch
        let script =
            "set -e; PATH=/usr/sbin:/usr/bin:/sbin:/bin; mount -t tmpfs tmpfs \"$1\"; cd \"$1\"; "
            + "(\(prepare)) >&2; shift; exec \"$0\" \"$@\""
        probe = try RunningProgram(
            Self.enter + ["/bin/sh", "-c", script, BuiltPrograms.path("watch-probe"), scratch.path]
                + roots.sorted { $0.key < $1.key }.map { "\($0.key)=\(scratch.path)/\($0.value)" })
        if ready { try await probe.line(holding: "ready") }
        _ = notices()
    }

    deinit { probe.killIfRunning() }

    /// Runs a shell script in the tmpfs, beside the watch.
    func run(_ script: String) throws {
        let user = geteuid() == 0 ? [] : ["--user", "--preserve-credentials"]
        try runProgram(
            ["/usr/bin/nsenter"] + user + [
                "--mount", "-t", "\(probe.pid)", "/bin/sh", "-c",
                "set -e; PATH=/usr/sbin:/usr/bin:/sbin:/bin; cd \"$0\"; \(Self.unmount) \(script)", scratch.path,
            ])
    }

    /// The tmpfs's directory, as seen from here.
    var path: String { "/proc/\(probe.pid)/root\(scratch.path)" }

    /// Runs a script and waits until the watch has reported `notice`.
    func run(
        _ script: String, reports notice: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let before = monotonic()
        try run(script)
        try await wait(for: notice, since: before, script, sourceLocation: sourceLocation)
    }

    /// Waits until the watch has reported `notice`; prints how long that took since `before`, and checks that it was less
    /// than five seconds.
    func wait(
        for notice: String, since before: UInt64, _ what: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let line = try await probe.line("\(notice) after \(what)") { $0.hasSuffix(" \(notice)") }
        let noticed = UInt64(line.prefix { $0 != " " }) ?? .max
        let milliseconds = Double(noticed &- before) / 1e6
        print("noticed after \(Int(milliseconds)) ms, processes included: \(what): \(notice)")
        #expect(milliseconds < 5_000 * slowness, sourceLocation: sourceLocation)
    }

    /// Waits until all is compared; returns the notices since the last call, sorted, and the state.
    func awaitQuiet() async throws -> (notices: [String], state: String) {
        probe.signal(SIGUSR1)
        let line = try await probe.line("a reconciliation") { $0.contains(" reconciled [") }
        let state = line.split(separator: " ").dropFirst(2).joined(separator: " ")
        return (notices(), state)
    }

    private func notices() -> [String] {
        let lines = probe.lines
        defer { readCount = lines.count }
        return lines[readCount...].compactMap { line in
            let words = line.split(separator: " ", omittingEmptySubsequences: false).dropFirst()
            return words.first == "reconciled" || words.first == "ready" ? nil : words.joined(separator: " ")
        }.sorted()
    }
}

func monotonic() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
}
