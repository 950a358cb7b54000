import FileValues
import LinuxKernel

/// The directories of the last lookups, kept open so that a burst opens each once. Confined to its root's queue.
///
/// An open directory keeps its file system busy, so all are closed a tenth of a second after the last lookup: an idle root
/// can be unmounted. A lookup through a descriptor finds the directory itself wherever it is by now; after an event of a
/// directory all are closed.
final class OpenDirectories {
    /// How long one is kept without a lookup, in nanoseconds.
    static let patience: UInt64 = 100_000_000

    /// How many it keeps open at most.
    let capacity: Int
    private var root: HeldDescriptor?
    private var held: [NodeID: HeldDescriptor] = [:]
    /// CLOCK_MONOTONIC of the last lookup, in nanoseconds.
    private(set) var lastUse: UInt64 = 0

    init(capacity: Int) { self.capacity = capacity }

    var isEmpty: Bool { root == nil && held.isEmpty }

    func close() {
        root = nil
        held = [:]
    }

    func noteUse(at time: UInt64) { lastUse = time }

    /// The directory, opened beneath the root if need be; nil if it is not at its path. `openRoot` opens the root, and
    /// throws if that is lost.
    func open<E: Error>(
        _ wanted: LookupRequest.Directory, openRoot: () throws(E) -> OwnedDescriptor
    ) throws(E) -> HeldDescriptor? {
        if let held = held[wanted.node] { return held }
        let top: HeldDescriptor
        if let root {
            top = root
        } else {
            top = HeldDescriptor(try openRoot())
            root = top
        }
        // The root was identified when it was opened.
        if wanted.path.isEmpty { return top }
        guard let directory = Self.open(wanted, beneath: top) else { return nil }
        if held.count >= capacity { held = [:] }
        held[wanted.node] = directory
        return directory
    }

    private static func open(
        _ wanted: LookupRequest.Directory, beneath root: HeldDescriptor
    ) -> HeldDescriptor? {
        do throws(SystemCallError) {
            let directory = HeldDescriptor(try root.descriptor.openDirectoryBeneath(wanted.path))
            guard try FileStatus(of: directory.descriptor).identity.inode == wanted.inode else { return nil }
            return directory
        } catch {
            return nil
        }
    }
}
