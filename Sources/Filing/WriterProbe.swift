package import FileValues
import Glibc
package import LinuxKernel
package import SystemPackage

/// Whether some program still has a file open for writing.
package enum WriterVerdict: Hashable, Sendable {
    /// Nobody has, and nobody has a writable shared mapping of it.
    case noWriter
    /// Somebody has.
    case writerOpen
    /// The question has no trustworthy answer here.
    case cannotTell(WriterDoubt)
}

/// Why nobody can say whether a file has a writer.
package enum WriterDoubt: Hashable, Sendable, CustomStringConvertible {
    /// SIGIO is neither blocked nor ignored, so asking could end this process.
    case signalNotBlocked
    /// The file belongs to another user and we have no CAP_LEASE.
    case otherOwner
    /// A lease was granted, but this file system grants it in spite of some writers.
    case fileSystem(FileSystemKind)
    /// A lease was granted, but the file lies in this directory, which an NFS server of this machine exports.
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

/// Asks the kernel for a read lease, which it refuses while a writer is left. One system call, no waiting.
///
/// A value; safe on any thread. See fcntl(2), F_SETLEASE.
package struct WriterProbe: Sendable {
    private let isSafe: Bool
    private let exports: ExportedTrees

    /// Looks once whether SIGIO can't end this process; make it after `main` blocked that signal. What lies in `exports` may
    /// have writers of which no lease tells.
    package init(exports: ExportedTrees = .system) {
        isSafe = isSignalHarmless(SIGIO)
        self.exports = exports
    }

    /// Whether `source` has a writer now.
    package func probe(_ source: SourceFile) -> WriterVerdict {
        guard isSafe else { return .cannotTell(.signalNotBlocked) }
        let kind: FileSystemKind
        do { kind = try FileSystemStatus(of: source.content).kind } catch { return .cannotTell(.refused(error.code)) }
        if kind.leases == .nothing { return .cannotTell(.fileSystem(kind)) }
        let verdict = Self.verdict(on: source.content.askForReadLease(), kind: kind)
        if verdict != .writerOpen, let root = exports.root(of: source.directory) { return .cannotTell(.exported(root)) }
        return verdict
    }

    /// What an answer means on such a file system. Pure.
    package static func verdict(on answer: LeaseAnswer, kind: FileSystemKind) -> WriterVerdict {
        switch answer {
        case .refusedForWriter: .writerOpen
        case .granted: kind.leases == .decides ? .noWriter : .cannotTell(.fileSystem(kind))
        case .unavailable(.permissionDenied): .cannotTell(.otherOwner)
        case .unavailable(let code): .cannotTell(.refused(code))
        }
    }
}
