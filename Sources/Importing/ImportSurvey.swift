import Dispatch
import FileValues
import LinuxKernel
import PhotoModel
import SystemPackage

/// One directory of the source with its size.
struct SourceDirectory: Hashable, Sendable {
    /// Relative to the source; empty for the source itself.
    let path: BytePath
    let files: Int
    let bytes: UInt64
}

/// Counts the files of a source before the copying, to show the time left. Two threads share the directories. Memory is
/// proportional to the number of directories, not of files.
final class ImportSurvey: Sendable {
    private struct State {
        var pending: [BytePath] = [""]
        /// Threads that are reading directories, which may have subdirectories.
        var busy = 0
        var found: [SourceDirectory] = []
        var findings: [ImportFinding] = []
        var isAbandoned = false
    }

    /// The maximum number of directories that a thread scans at a time.
    private static let stride = 16
    /// The maximum depth, for file systems with endless trees.
    private static let depth = 128

    private let root: OwnedDescriptor
    /// The inbox, which is never read, on any path.
    private let inbox: FileStatus
    private let state = Locked(State())
    /// Signalled when there may be work for the other thread.
    private let more = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    init(_ root: consuming OwnedDescriptor, inbox: FileStatus) {
        self.root = root
        self.inbox = inbox
    }

    /// Returns the directories with files, in byte order, and the findings on others. Nil if it was abandoned.
    func run(_ isAbandoned: () -> Bool) -> (directories: [SourceDirectory], findings: [ImportFinding])? {
        let hasHelper: Bool
        do throws(SystemCallError) {
            try startThread(named: "import-scan") { [self] in
                work { false }
                ended.signal()
            }
            hasHelper = true
        } catch { hasHelper = false }
        work(isAbandoned)
        if hasHelper { ended.wait() }
        return state.withLock { state in
            state.isAbandoned ? nil : (state.found.sorted { $0.path < $1.path }, state.findings)
        }
    }

    private func work(_ isAbandoned: () -> Bool) {
        let reader = DirectoryReader()
        while true {
            if isAbandoned() { state.withLock { $0.isAbandoned = true } }
            let batch: [BytePath]? = state.withLock { state in
                if state.isAbandoned || (state.pending.isEmpty && state.busy == 0) { return nil }
                let count = min(Self.stride, (state.pending.count + 1) / 2)
                guard count > 0 else { return [] }
                state.busy += 1
                defer { state.pending.removeLast(count) }
                return Array(state.pending.suffix(count))
            }
            guard let batch else { break }
            if batch.isEmpty {
                // The other thread scans the rest and may signal more; meanwhile `isAbandoned` must be called.
                _ = more.wait(timeout: .now() + .milliseconds(50))
                continue
            }
            for directory in batch {
                if isAbandoned() { state.withLock { $0.isAbandoned = true } }
                if state.withLock({ $0.isAbandoned }) { break }
                scan(directory, reader)
            }
            state.withLock { $0.busy -= 1 }
            more.signal()
        }
        more.signal()
    }

    private func scan(_ path: BytePath, _ reader: DirectoryReader) {
        var files = 0
        var bytes: UInt64 = 0
        var below: [BytePath] = []
        var findings: [ImportFinding] = []
        do throws(SystemCallError) {
            let directory = try root.openDirectoryBeneath(path)
            let status = try FileStatus(of: directory)
            if status.device == inbox.device, status.identity.inode == inbox.identity.inode {
                return state.withLock {
                    $0.findings.append(ImportFinding(.leftOut, path, size: 0, "it is the inbox itself"))
                }
            }
            try reader.read(directory) { entry in
                let status = try? FileStatus(of: entry.name, in: directory)
                switch status?.kind ?? entry.kind {
                case .directory:
                    let whole = path.appending(entry.name)
                    if let rule = NameRules.ruleIgnoring(directory: entry.name) {
                        findings.append(ImportFinding(.leftOut, whole, size: 0, "directory: \(rule)"))
                    } else if path.components.count >= Self.depth {
                        let reason = "more than \(Self.depth) directories deep"
                        findings.append(ImportFinding(.failed, whole, size: 0, reason))
                    } else {
                        below.append(whole)
                    }
                default:
                    files += 1
                    bytes += status?.identity.size ?? 0
                }
            }
        } catch {
            findings.append(ImportFinding(.failed, path, size: 0, "directory: \(error.call): \(error.code)"))
        }
        let isWorthKeeping = files > 0
        let found = SourceDirectory(path: path, files: files, bytes: bytes)
        state.withLock { state in
            if isWorthKeeping { state.found.append(found) }
            state.pending += below
            state.findings += findings
        }
        if !below.isEmpty { more.signal() }
    }
}
