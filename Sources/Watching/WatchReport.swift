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
    /// It told as many events as it was asked for.
    case counted
    /// Nothing was told for as long as `--timeout` says.
    case timedOut
    /// Nobody reads its output any more.
    case readerClosed
    case outputFailed(Errno)
}

/// What a watch has told and may still tell. Its queue alone touches it.
struct WatchReport: ~Copyable {
    private var output = OutputBuffer(descriptor: STDOUT_FILENO)
    /// How events are written.
    var format: EventFormat
    /// Room for whoever puts a path together.
    var path: [UInt8] = []
    private let limit: Int?
    /// Whether events are counted, but not written.
    private let isSilent: Bool
    /// Events told.
    private(set) var told = 0
    /// When something was told, or the watch was ready; see ``monotonicNanoseconds()``.
    var latestTold: UInt64 = 0
    /// Whether something was not watched, as remarks have said.
    var isIncomplete = false
    /// Roots that are not there now. Once they are back, what differs is told, so nothing was missed.
    var goneRoots: Set<String> = []
    /// Set once.
    var end: WatchEnd?

    init(format: EventFormat, limit: Int?, isSilent: Bool = false) {
        self.format = format
        self.limit = limit
        self.isSilent = isSilent
    }

    /// Whether more may be told.
    var isOpen: Bool { end == nil && !isFull }

    /// Whether all that was told went out, as far as can be seen.
    var isWritten: Bool {
        switch end {
        case .readerClosed, .outputFailed: false
        case .signalled, .counted, .timedOut, nil: output.isEmpty
        }
    }

    private var isFull: Bool { limit.map { told >= $0 } ?? false }

    /// Tells one event: `body` appends its line.
    mutating func tell(_ body: (inout EventFormat, inout [UInt8]) -> Void) {
        guard isOpen else { return }
        told += 1
        if isSilent { return }
        output.append { bytes in body(&format, &bytes) }
        if output.count > Self.largestBatch { flush() }
    }

    /// Tells a kernel record.
    mutating func tell(
        _ mask: InotifyMask, _ directory: [UInt8], _ name: UnsafeRawBufferPointer, _ cookie: UInt32, at now: FileTime
    ) {
        tell { format, bytes in
            format.append(record: mask, directory: directory, name: name, cookie: cookie, at: now, to: &bytes)
        }
    }

    /// Writes what was told. Blocks while the reader is slow: the kernel keeps events meanwhile, and what it has no
    /// room for is found by the comparison that follows.
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

    /// The status that this ends with.
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

/// What both sources of events say in the same words.
enum WatchRemarks {
    static func limit(missing: Int) -> String {
        let count = HumanText.count(missing, "directory is", "directories are")
        return
            "the kernel's watch limit is reached: \(count) not watched; raise fs.inotify.max_user_watches by as many"
    }
}
