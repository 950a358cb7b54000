import FileValues
import LinuxKernel
import SystemPackage

/// Traces a root's path as the kernel does (path_resolution(7)), name by name, and watches the directories and links that it
/// leads through: so a renamed ancestor, which raises no event below it, and a changed link are reported at once.
///
/// Directories are watched for their own moves and deletion only, so that a busy ancestor (/tmp, /home) wakes nothing;
/// links, too, have inodes that can be watched. Everything is watched before it is looked up, and looked up again by its name
/// afterwards: later changes raise an event. The masks of watches that the same inodes may have as directories of a tree are
/// extended, never replaced. On the root's own queue: a path that hangs delays this root alone.
struct PathTracer {
    let path: BytePath
    let instance: InotifyInstance

    /// How often a path that changes meanwhile is traced again before that is left to the next tick.
    private static let attempts = 4
    /// The number of links that the kernel follows; see path_resolution(7).
    private static let maxLinks = 40
    /// Links on procfs may lead elsewhere than their text.
    private static let procfs: Int64 = 0x9FA0

    private static let passing: InotifyMask = [.movedSelf, .deletedSelf, .addingToMask]
    private static let awaiting: InotifyMask = passing.union([.created, .movedTo, .onlyDirectory])
    /// The permission to search a directory changed; or a link with several names lost one.
    private static let changing: InotifyMask = passing.union(.attributes)

    /// Traces the path, and watches the directories and links that it leads through.
    func trace() -> RootPath {
        var attempted: Set<Int32> = []
        var traced = RootPath()
        for _ in 0..<Self.attempts {
            traced = RootPath()
            traced.isStable = follow(&traced)
            attempted.formUnion(traced.watches)
            if traced.isStable { break }
        }
        traced.abandoned = attempted.subtracting(traced.watches)
        return traced
    }

    /// One attempt; false if a directory or link was not there any more once it was watched.
    private func follow(_ traced: inout RootPath) -> Bool {
        var rest = Array(path.components.reversed())
        var links = 0
        do throws(SystemCallError) {
            var here = try openStart(of: path)
            // The root directory does not move; the working directory may.
            if !path.isAbsolute { watch(here, Self.passing, &traced) }
            while let name = rest.popLast() {
                if name == "." { continue }
                guard let next = found(name, in: here) else { return awaits(name, in: here, &traced) }
                let status = try FileStatus(of: next)
                switch status.kind {
                case .directory:
                    if rest.allSatisfy({ $0 == "." }) {
                        traced.isComplete = true
                        return true
                    }
                    watch(next, Self.passing, &traced)
                    guard try isStill(status, name, in: here) else { return false }
                    here = next
                case .symbolicLink where try FileSystem(of: next).type == Self.procfs:
                    here = try here.openDirectoryPlace(name)
                case .symbolicLink:
                    links += 1
                    if links > Self.maxLinks { return true }
                    watch(next, Self.changing, &traced)
                    guard try isStill(status, name, in: here) else { return false }
                    let text = try next.linkText()
                    if text.isAbsolute { here = try openStart(of: text) }
                    rest += text.components.reversed()
                default:
                    // Not a directory.
                    return awaits(name, in: here, &traced)
                }
            }
            traced.isComplete = true
            return true
        } catch {
            // A directory or link is gone since it was opened, or does not answer.
            return error.code != .noSuchFileOrDirectory
        }
    }

    private func found(_ name: BytePath, in directory: borrowing OwnedDescriptor) -> OwnedDescriptor? {
        try? directory.openPlace(name)
    }

    /// The path ends here for now: watches the directory for the name, then looks it up again. False if it is there by then.
    private func awaits(_ name: BytePath, in directory: borrowing OwnedDescriptor, _ traced: inout RootPath) -> Bool {
        var mask = Self.awaiting
        do throws(SystemCallError) {
            _ = try FileStatus(of: name, in: directory)
        } catch {
            if error.code == .permissionDenied { mask.formUnion(Self.changing) }
        }
        guard let number = watch(directory, mask, &traced) else { return true }
        traced.missing = RootPath.MissingName(watch: number, name: name)
        do throws(SystemCallError) {
            let kind = try FileStatus(of: name, in: directory).kind
            return kind != .directory && kind != .symbolicLink
        } catch {
            return true
        }
    }

    /// Whether the name still leads to the same inode.
    private func isStill(
        _ status: FileStatus, _ name: BytePath, in directory: borrowing OwnedDescriptor
    ) throws(SystemCallError) -> Bool {
        let now = try FileStatus(of: name, in: directory)
        return now.device == status.device && now.identity.inode == status.identity.inode
    }

    @discardableResult
    private func watch(_ place: borrowing OwnedDescriptor, _ mask: InotifyMask, _ traced: inout RootPath) -> Int32? {
        do throws(SystemCallError) {
            let number = try instance.addWatch(place: place, mask)
            traced.watches.insert(number)
            return number
        } catch {
            traced.unwatched += 1
            return nil
        }
    }
}
