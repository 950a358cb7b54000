import CommandSupport
import DirectoryWatch
import FileValues
import LinuxKernel
import Reporting
import SystemMonitor
import SystemPackage

/// The file of `watch --state`: which files were reported. Read on any thread; then
/// everything is called on the watch's queue.
final class KnownFiles: Sendable {
    /// The result of the last run.
    let memory: WatchMemory
    /// Why that cannot be used.
    let defect: String?
    private let file: WatchMemoryFile
    /// The roots' paths without links: their identifiers in the file, in whichever directory the next run is started.
    private let roots: [String]
    /// Where files are written that wait for the disk.
    private let writing = MonitorQueue(label: "photoinbox.state")
    private let isSaveDue = Locked(false)

    /// How far back reports may be repeated after a SIGKILL or a power cut.
    private static let delay = Duration.seconds(60)

    /// Reads the file; a damaged one counts as "everything has changed". Throws if it cannot be written either: that would
    /// be reported only at the end otherwise, when nothing could be kept any more.
    ///
    /// - Parameter roots: The watched directories, whose indices are the identifiers of the roots.
    init(at path: BytePath, roots: [BytePath]) throws(CommandFailure) {
        file = WatchMemoryFile(path)
        do throws(SystemCallError) {
            _ = try openParent(of: path)
            var names: [String] = []
            for root in roots { names.append(try realPath(root).escaped) }
            self.roots = names
        } catch { throw CommandFailure(error) }
        do throws(WatchMemoryError) {
            var memory = try file.read() ?? WatchMemory()
            for (place, name) in self.roots.enumerated() { memory.rename(root: name, to: String(place)) }
            self.memory = memory
            defect = nil
        } catch {
            if case .system(let error) = error.code { throw CommandFailure(SystemCallError(error)) }
            memory = WatchMemory()
            defect = "\(path): \(error); every file is reported"
        }
        do throws(WatchMemoryError) { try file.tryWriting() } catch {
            guard case .system(let refusal) = error.code else { throw CommandFailure(.failed, "\(path): \(error)") }
            throw CommandFailure(
                [.permissionDenied, .notPermitted].contains(refusal.code) ? .permission : .failed,
                "cannot write \(path): \(refusal.code)", action: "Choose another place with --state.")
        }
    }

    /// Whether an earlier run has compared this root, so that files that are found at the start are new.
    func knows(_ root: String) -> Bool { defect != nil || memory.rootIdentifiers.contains(root) }

    /// Records that the reader has these, so that the next run does not report them. `queue` is the watch's.
    func reported(_ notices: ArraySlice<WatchNotice>, by watch: DirectoryWatch, on queue: MonitorQueue) {
        for notice in notices {
            switch notice.kind {
            case .finished, .renamed, .notRegular:
                watch.acknowledge(root: notice.root, path: notice.path, identity: notice.identity)
            default: break
            }
        }
        let isFirst = isSaveDue.withLock { isDue in
            defer { isDue = true }
            return !isDue
        }
        guard isFirst else { return }
        queue.after(Self.delay) { [weak self, weak watch] in
            guard let self, let watch else { return }
            isSaveDue.withLock { $0 = false }
            let (memory, file) = (memory(of: watch), file)
            // A failure is retried, and reported, at the end.
            writing.async { try? file.write(memory) }
        }
    }

    private func memory(of watch: DirectoryWatch) -> WatchMemory {
        var memory = watch.memory()
        for (place, name) in roots.enumerated() { memory.rename(root: String(place), to: name) }
        return memory
    }

    /// Writes the file; returns the error as text.
    func save(_ watch: DirectoryWatch) -> String? {
        let memory = memory(of: watch)
        return writing.sync {
            do throws(WatchMemoryError) {
                try file.write(memory)
                return nil
            } catch {
                return "\(file.path): \(error); the next run repeats the reports of this one"
            }
        }
    }
}
