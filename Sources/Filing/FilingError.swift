package import FileValues
package import LinuxKernel
package import SystemPackage

/// The failure of one step of filing. In every case the source stays in its place and the temporary is removed.
package struct FilingError: Error, Hashable, Sendable {
    package enum Cause: Hashable, Sendable {
        /// A system call failed.
        case system(SystemCallError)
        /// The source is not a file that may be filed.
        case refused(SourceRefusal)
        /// The source changed since it was examined; the text says how.
        case sourceChanged(String)
        /// The copy, read again, differs from the source.
        case copyDiffers
        /// Neither linkat nor renameat2 can name a file in the library without replacing another.
        case cannotNameSafely(SystemCallError)
        /// A removal was refused, because the bytes were not found in another file.
        case noOtherCopy(CopyDoubt)
        /// The only permitted name is taken, or other programs took each free one first.
        case noFreeName
        /// The destination has less free space than the configured minimum.
        case tooLittleLeft(free: UInt64)
        /// The caller stopped the work.
        case stopped
    }

    /// The tree that failed; `either` if that is unknown.
    package enum Side: String, Hashable, Sendable { case source, destination, either }

    /// The kind of failure; the problem table has one row per kind and side.
    package enum Kind: String, Hashable, Sendable {
        case noSpace, readOnly, inputOutput, permission, exhausted, gone, busy
        case sourceChanged, damagedCopy, noOtherCopy, refusedSource, unsuitableFileSystem, stopped, other
    }

    package let step: FilingStep
    /// The tree that caused the failure, as far as the failed step shows.
    package let side: Side
    package let cause: Cause
    /// The file concerned, relative to its root.
    package let path: BytePath

    package init(_ step: FilingStep, _ side: Side, _ cause: Cause, path: BytePath) {
        self.step = step
        self.side = side
        self.cause = cause
        self.path = path
    }

    /// The error number, if a system call failed.
    package var code: Errno? {
        switch cause {
        case .system(let error), .cannotNameSafely(let error): error.code
        default: nil
        }
    }

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

    /// Whether a retry may succeed without a change of the file.
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
    package init(_ code: Errno) {
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
    /// One line: the step, the file and the cause.
    package var description: String { "\(step.words), \(path): \(cause)" }
}

extension FilingError.Cause: CustomStringConvertible {
    package var description: String {
        switch self {
        case .system(let error): "\(error.call): \(error.code)"
        case .refused(let reason): reason.description
        case .sourceChanged(let what): "the source changed meanwhile: \(what)"
        case .copyDiffers: "the copy, read again, differs from the source"
        case .cannotNameSafely(let error):
            "this file system can neither link nor rename without replacing (\(error.call): \(error.code))"
        case .noFreeName: "other programs took each name that was free before it could be used"
        case .noOtherCopy(let reason): reason.description
        case .tooLittleLeft(let free): "only \(free) bytes are free there, less than min-free"
        case .stopped: "stopped on request"
        }
    }
}

/// Converts the error of a system call to that of its step.
func filing<Value: ~Copyable>(
    _ step: FilingStep, _ side: FilingError.Side, _ path: BytePath, _ body: () throws(SystemCallError) -> Value
) throws(FilingError) -> Value {
    do throws(SystemCallError) { return try body() } catch {
        throw FilingError(step, side, .system(error), path: path)
    }
}
