package import FileValues
package import LinuxKernel
package import SystemPackage

/// Why a step of filing failed. Whatever it says, the source is where it was and our temporary is gone.
package struct FilingError: Error, Hashable, Sendable {
    /// What went wrong.
    package enum Cause: Hashable, Sendable {
        /// A system call failed.
        case system(SystemCallError)
        /// The source is not something that may be filed.
        case refused(SourceRefusal)
        /// The source is not what was examined any more; says what differs.
        case sourceChanged(String)
        /// The copy, read again, is not equal to the source.
        case copyDiffers
        /// The library's file system can name a file neither by linkat nor by renameat2 without replacing.
        case cannotNameSafely(SystemCallError)
        /// The file was to be removed, and its bytes were not seen in another one.
        case noOtherCopy(CopyDoubt)
        /// The only name that it may have is taken, or others took each free one before it could be used.
        case noFreeName
        /// Less is free in the destination than is to be left so.
        case tooLittleLeft(free: UInt64)
        /// The caller stopped the work.
        case stopped
    }

    /// Which of the two trees failed, where that can be told.
    package enum Side: String, Hashable, Sendable { case source, destination, either }

    /// What kind of failure, for the problem table: one row per kind and side.
    package enum Kind: String, Hashable, Sendable {
        case noSpace, readOnly, inputOutput, permission, exhausted, gone, busy
        case sourceChanged, damagedCopy, noOtherCopy, refusedSource, unsuitableFileSystem, stopped, other
    }

    /// What was being done.
    package let step: FilingStep
    /// Whose fault it is, as far as the step tells.
    package let side: Side
    /// What went wrong.
    package let cause: Cause
    /// The file that it is about, relative to its root.
    package let path: BytePath

    package init(_ step: FilingStep, _ side: Side, _ cause: Cause, path: BytePath) {
        self.step = step
        self.side = side
        self.cause = cause
        self.path = path
    }

    /// The system's reason, where a system call failed.
    package var code: Errno? {
        switch cause {
        case .system(let error), .cannotNameSafely(let error): error.code
        default: nil
        }
    }

    /// The kind of the failure.
    package var kind: Kind {
        switch cause {
        case .refused(.gone): .gone
        case .refused(.leased): .busy
        case .refused: .refusedSource
        case .sourceChanged: .sourceChanged
        case .copyDiffers: .damagedCopy
        case .cannotNameSafely: .unsuitableFileSystem
        case .noFreeName: .busy
        case .noOtherCopy: .noOtherCopy
        case .tooLittleLeft: .noSpace
        case .stopped: .stopped
        case .system(let error): Kind(error.code)
        }
    }

    /// Whether the same work may succeed later without anybody touching the file itself.
    package var isTransient: Bool {
        switch kind {
        case .noSpace, .readOnly, .inputOutput, .permission, .exhausted, .gone, .busy, .sourceChanged, .damagedCopy,
            .noOtherCopy, .stopped:
            true
        case .refusedSource, .unsuitableFileSystem, .other: false
        }
    }
}

extension FilingError.Kind {
    init(_ code: Errno) {
        self =
            switch code {
            case .noSpace, .diskQuotaExceeded: .noSpace
            case .readOnlyFileSystem: .readOnly
            case .ioError: .inputOutput
            case .permissionDenied, .notPermitted: .permission
            case .tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory, .noLocks: .exhausted
            case .noSuchFileOrDirectory, .staleNFSFileHandle, .noSuchAddressOrDevice,
                .operationNotSupportedByDevice, .socketNotConnected:
                .gone
            case .resourceTemporarilyUnavailable, .resourceBusy, .textFileBusy, .timedOut, .interrupted, .hostIsDown,
                .noRouteToHost:
                .busy
            default: .other
            }
    }
}

extension FilingError: CustomStringConvertible {
    /// One line: what was being done to which file, and why it failed.
    package var description: String { "\(step.words), \(path): \(cause)" }
}

extension FilingError.Cause: CustomStringConvertible {
    /// Why, in a few words.
    package var description: String {
        switch self {
        case .system(let error): "\(error.call): \(error.code)"
        case .refused(let reason): reason.description
        case .sourceChanged(let what): "the source changed meanwhile: \(what)"
        case .copyDiffers: "the copy, read again, differs from the source"
        case .cannotNameSafely(let error):
            "this file system can neither link nor rename without replacing (\(error.call): \(error.code))"
        case .noFreeName: "other programs took each name that was free before it could be used"
        case .noOtherCopy(let doubt): doubt.description
        case .tooLittleLeft(let free): "only \(free) bytes are free there, less than min-free"
        case .stopped: "stopped on request"
        }
    }
}

/// Turns a failed system call into the typed error of its step.
func filing<Value: ~Copyable>(
    _ step: FilingStep, _ side: FilingError.Side, _ path: BytePath, _ body: () throws(SystemCallError) -> Value
) throws(FilingError) -> Value {
    do throws(SystemCallError) { return try body() } catch {
        throw FilingError(step, side, .system(error), path: path)
    }
}
