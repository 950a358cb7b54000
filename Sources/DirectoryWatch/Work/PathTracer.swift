import FileValues
import LinuxKernel
import SystemPackage

/// Follows a root's path as the kernel does (path_resolution(7)), name by name, and watches what it leads through, so that
/// a renamed ancestor, of which nothing below it hears, and a link that is set elsewhere are told at once.
///
/// Directories are asked for their own moves and ends only, so that a busy ancestor (/tmp, /home) wakes nobody; links,
/// too, have inodes that can be watched. Everything is watched before it is looked at, and looked at again by its name
/// afterwards: what changes later raises an event. Watches are added to those that the same inodes may have as directories
/// of a tree, never put in their place. On the root's own queue: a path that hangs holds up this root alone.
struct PathTracer {
    let path: BytePath
    let instance: InotifyInstance

    /// As often a way that changes under our feet is followed anew before that is left to the next tick.
    private static let tries = 4
    /// As many links as the kernel follows; see path_resolution(7).
    private static let longestChain = 40
    /// Links on procfs may lead where their text does not say.
    private static let procfs: Int64 = 0x9FA0

    private static let passing: InotifyMask = [.movedSelf, .deletedSelf, .addingToMask]
    private static let awaiting: InotifyMask = passing.union([.created, .movedTo, .onlyDirectory])
    /// The permission to search a directory changed; or a link with several names lost one.
    private static let changing: InotifyMask = passing.union(.attributes)

    /// Follows the path and watches what it leads through.
    func trace() -> RootPath {
        var tried: Set<Int32> = []
        var traced = RootPath()
        for _ in 0..<Self.tries {
            traced = RootPath()
            traced.isStable = follow(&traced)
            tried.formUnion(traced.watches)
            if traced.isStable { break }
        }
        traced.abandoned = tried.subtracting(traced.watches)
        return traced
    }

    /// One try; false if something was not in its place any more once it was watched.
    private func follow(_ traced: inout RootPath) -> Bool {
        var rest = Array(path.components.reversed())
        var links = 0
        do throws(SystemCallError) {
            var here = try openStart(of: path)
            // The root directory does not move; the working directory may.
            if !path.isAbsolute { watch(here, Self.passing, &traced) }
            while let name = rest.popLast() {
                if name == "." { continue }
                guard let next = found(name, in: here) else { return waits(for: name, in: here, &traced) }
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
                    if links > Self.longestChain { return true }
                    watch(next, Self.changing, &traced)
                    guard try isStill(status, name, in: here) else { return false }
                    let text = try next.linkText()
                    if text.isAbsolute { here = try openStart(of: text) }
                    rest += text.components.reversed()
                default:
                    // Something else is in the place of a directory.
                    return waits(for: name, in: here, &traced)
                }
            }
            traced.isComplete = true
            return true
        } catch {
            // What was there a moment ago is not any more, or does not answer.
            return error.code != .noSuchFileOrDirectory
        }
    }

    private func found(_ name: BytePath, in directory: borrowing OwnedDescriptor) -> OwnedDescriptor? {
        try? directory.openPlace(name)
    }

    /// The path ends here for now: watches for the name, then looks once more. False if it has come meanwhile.
    private func waits(for name: BytePath, in directory: borrowing OwnedDescriptor, _ traced: inout RootPath) -> Bool {
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

    /// Whether the name still stands for what was found under it.
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
