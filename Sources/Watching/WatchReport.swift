import CommandSupport
import FileValues
import Glibc
import LinuxKernel
import Reporting
import SystemPackage

/// Why a watch ends.
enum WatchEnd: Hashable, Sendable {
    /// Its user ended it, by a signal of this number.
    case signalled(Int32)
    /// It reported as many events as requested.
    case counted
    /// Nothing was reported during `--timeout`.
    case timedOut
    /// Its output was closed.
    case readerClosed
    case outputFailed(Errno)
}

/// The output of a watch. Used on its queue only.
struct WatchReport: ~Copyable {
    private var output = OutputBuffer(descriptor: STDOUT_FILENO)
    /// How events are written.
    var format: EventFormat
    /// A buffer for paths.
    var path: [UInt8] = []
    private let limit: Int?
    /// Whether events are counted, but not written.
    private let isSilent: Bool
    /// Events reported.
    private(set) var count = 0
    /// The time of the last report, or of readiness; see ``monotonicNanoseconds()``.
    var lastReport: UInt64 = 0
    /// Whether a remark was printed that something is not watched.
    var isIncomplete = false
    /// Roots that are gone. When they are back, differences are reported, so nothing is missed.
    var goneRoots: Set<String> = []
    /// Set once.
    var end: WatchEnd?

    init(format: EventFormat, limit: Int?, isSilent: Bool = false) {
        self.format = format
        self.limit = limit
        self.isSilent = isSilent
    }

    /// Whether more may be reported.
    var isOpen: Bool { end == nil && !isFull }

    /// Whether every report was written.
    var isWritten: Bool {
        switch end {
        case .readerClosed, .outputFailed: false
        case .signalled, .counted, .timedOut, nil: output.isEmpty
        }
    }

    private var isFull: Bool { limit.map { count >= $0 } ?? false }

    /// Adds one event: `body` appends its line.
    mutating func add(_ body: (inout EventFormat, inout [UInt8]) -> Void) {
        guard isOpen else { return }
        count += 1
        if isSilent { return }
        output.append { bytes in body(&format, &bytes) }
        if output.count > Self.largestBatch { flush() }
    }

    /// Adds a kernel record.
    mutating func add(
        _ mask: InotifyMask, _ directory: [UInt8], _ name: UnsafeRawBufferPointer, _ cookie: UInt32, at now: FileTime
    ) {
        add { format, bytes in
            format.append(record: mask, directory: directory, name: name, cookie: cookie, at: now, to: &bytes)
        }
    }

    /// Writes the reports. Blocks while the reader is slow: the kernel queues events meanwhile, and the comparison after an
    /// overflow finds the rest.
    mutating func flush() {
        if !output.isEmpty {
            switch output.flush() {
            case .written: break
            case .closed: end = end ?? .readerClosed
            case .failed(let code): end = end ?? .outputFailed(code)
            }
        }
        if isFull { end = end ?? .counted }
    }

    /// The exit status.
    func status(of end: WatchEnd) -> ExitStatus {
        Self.status(of: end, isIncomplete: isIncomplete || !goneRoots.isEmpty)
    }

    /// The same from its parts. Pure.
    static func status(of end: WatchEnd, isIncomplete: Bool) -> ExitStatus {
        switch end {
        case .signalled, .counted, .readerClosed: isIncomplete ? .someLeft : .ok
        case .timedOut: .timedOut
        case .outputFailed: .failed
        }
    }

    private static let largestBatch = 1 << 20
}

/// Remarks of both event sources.
enum WatchRemarks {
    static func limit(missing: Int) -> String {
        let count = HumanText.count(missing, "directory is", "directories are")
        return
            "the kernel's watch limit is reached: \(count) not watched; raise fs.inotify.max_user_watches by as many"
    }
}
