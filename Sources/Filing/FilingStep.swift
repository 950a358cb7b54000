/// The steps of the work on a file, in their order. Each is entered once per file and may be the last before a crash;
/// see ``Recovery``.
package enum FilingStep: String, Hashable, Sendable, CaseIterable {
    case openSource
    case hashSource
    case openDestination
    case makeTemporary
    case copy
    case setAttributes
    case syncCopy
    case verifyCopy
    case checkSource
    case nameCopy
    case syncDestination
    /// The caller's commit to the catalogue, between ``syncDestination`` and ``setSourceAside``.
    case record
    case setSourceAside
    case checkSourceAgain
    case seeCopy
    case removeSource
    case syncSource
    /// Moving to quarantine or duplicates instead of filing.
    case move
    case writeReason
    case recover

    /// The step in words, for status texts and messages: `copying`.
    package var words: String {
        switch self {
        case .openSource: "opening the source"
        case .hashSource: "hashing the source"
        case .openDestination: "opening the destination directory"
        case .makeTemporary: "making a temporary file"
        case .copy: "copying"
        case .setAttributes: "setting owner, mode and time"
        case .syncCopy: "syncing the copy"
        case .verifyCopy: "reading the copy again"
        case .checkSource: "comparing the source with what was examined"
        case .nameCopy: "naming the copy"
        case .syncDestination: "syncing the destination directory"
        case .record: "recording"
        case .setSourceAside: "setting the source aside"
        case .checkSourceAgain: "looking at the source once more"
        case .seeCopy: "opening the copy by its path"
        case .removeSource: "removing the source"
        case .syncSource: "syncing the inbox directory"
        case .move: "moving"
        case .writeReason: "writing the reason file"
        case .recover: "recovering"
        }
    }
}

/// Callbacks by which a caller follows and stops the work on a file. Both run on the caller's thread.
package struct FileWork {
    /// Called before each step, to publish it.
    package let willEnter: (FilingStep) -> Void
    /// Called between blocks of long steps; true ends them with ``FilingError/Cause/stopped``.
    package let shouldStop: () -> Bool

    package init(
        willEnter: @escaping (FilingStep) -> Void = { _ in }, shouldStop: @escaping () -> Bool = { false }
    ) {
        self.willEnter = willEnter
        self.shouldStop = shouldStop
    }
}
