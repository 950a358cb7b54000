package import FileValues
import Glibc
package import LinuxKernel
package import SystemPackage

/// Whether a program has a file open for writing.
package enum WriterVerdict: Hashable, Sendable {
    /// No program has it open for writing or has a writable shared mapping of it.
    case noWriter
    case writerOpen
    /// There is no reliable result here.
    case unknown(WriterUncertainty)
}

/// The reason why writers of a file cannot be detected.
package enum WriterUncertainty: Hashable, Sendable, CustomStringConvertible {
    /// SIGIO is neither blocked nor ignored, so a lease could end this process.
    case signalNotBlocked
    /// The file belongs to another user, and this process has no CAP_LEASE.
    case otherOwner
    /// A lease was granted, but this file system grants it despite some writers.
    case fileSystem(FileSystemKind)
    /// A lease was granted, but the file is in this directory, which this machine's NFS server exports.
    case exported(BytePath)
    /// The kernel refused for another reason.
    case refused(Errno)

    /// One clause for people.
    package var description: String {
        switch self {
        case .signalNotBlocked: "leases are off: SIGIO is not blocked"
        case .otherOwner: "it belongs to another user, and CAP_LEASE is missing"
        case .fileSystem(let kind): "\(kind.name) can't say who writes"
        case .exported(let root): "\(root) is exported by NFS, whose clients write unseen"
        case .refused(let code): "no lease: \(code)"
        }
    }
}

/// Detects writers by requesting a read lease, which the kernel refuses while a file has a writer. One system call that
/// does not block.
///
/// Any thread. See fcntl(2), F_SETLEASE.
package struct WriterProbe: Sendable {
    private let isSafe: Bool
    private let exports: ExportedTrees

    /// Creates a probe. Checks once that SIGIO cannot end this process, so `main` must block that signal before. Files
    /// in `exports` may have writers that leases do not detect.
    package init(exports: ExportedTrees = .system) {
        isSafe = isSignalHarmless(SIGIO)
        self.exports = exports
    }

    /// Returns whether `source` has a writer now.
    package func probe(_ source: SourceFile) -> WriterVerdict {
        guard isSafe else { return .unknown(.signalNotBlocked) }
        let kind: FileSystemKind
        do { kind = try FileSystemStatus(of: source.content).kind } catch { return .unknown(.refused(error.code)) }
        if kind.leases == .nothing { return .unknown(.fileSystem(kind)) }
        let verdict = Self.verdict(on: source.content.askForReadLease(), kind: kind)
        if verdict != .writerOpen, let root = exports.root(of: source.directory) { return .unknown(.exported(root)) }
        return verdict
    }

    /// Interprets the answer of the kernel on a file system of this kind. Pure.
    package static func verdict(on answer: LeaseAnswer, kind: FileSystemKind) -> WriterVerdict {
        switch answer {
        case .refusedForWriter: .writerOpen
        case .granted: kind.leases == .decides ? .noWriter : .unknown(.fileSystem(kind))
        case .unavailable(.permissionDenied): .unknown(.otherOwner)
        case .unavailable(let code): .unknown(.refused(code))
        }
    }
}
