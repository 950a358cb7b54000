import FileValues
import LinuxKernel
import SystemPackage

/// Watches and lists single directories by a root's rule. Confined to its root's queue.
final class DirectoryLister {
    private let instance: InotifyInstance
    private let mask: InotifyMask
    private let exclude: @Sendable (BytePath, FileKind) -> Bool
    private let reader = DirectoryReader()

    init(
        instance: InotifyInstance, mask: InotifyMask, exclude: @escaping @Sendable (BytePath, FileKind) -> Bool
    ) {
        self.instance = instance
        self.mask = mask
        self.exclude = exclude
    }

    /// A watch on an open directory. Whatever stands against it (ENOSPC: `fs.inotify.max_user_watches` are in use;
    /// ENOMEM; a file system that can't), the directory is polled then.
    func watch(_ directory: borrowing OwnedDescriptor) -> DirectoryFinding.Watch {
        do throws(SystemCallError) {
            return .made(try instance.addWatch(directory: directory, mask))
        } catch {
            return .refused
        }
    }

    /// Whether the rule leaves a directory out, for those that an event told and no listing.
    func excludesDirectory(_ path: BytePath) -> Bool { exclude(path, .directory) }

    /// What is in a directory and not left out by the rule.
    func list(
        _ directory: borrowing OwnedDescriptor, _ path: BytePath
    ) throws(SystemCallError) -> [DirectoryFinding.Entry] {
        var found: [DirectoryEntry] = []
        try reader.read(directory) { found.append($0) }
        var entries: [DirectoryFinding.Entry] = []
        entries.reserveCapacity(found.count)
        for entry in found {
            let observation: Observation
            if entry.kind == .directory {
                observation =
                    excludesDirectory(path.appending(entry.name)) ? .excluded : .directory(inode: entry.inode)
            } else {
                observation = look(entry.name, in: directory, path)
            }
            switch observation {
            case .absent, .excluded, .failed: break
            case .directory, .file: entries.append(DirectoryFinding.Entry(name: entry.name, observation: observation))
            }
        }
        return entries
    }

    /// What is under a name now.
    func look(_ name: BytePath, in directory: borrowing OwnedDescriptor, _ path: BytePath) -> Observation {
        do throws(SystemCallError) {
            let status = try FileStatus(of: name, in: directory)
            if exclude(path.appending(name), status.kind) { return .excluded }
            if status.kind == .directory { return .directory(inode: status.identity.inode) }
            return .file(status.kind, status.identity, links: status.links)
        } catch {
            return error.code == .noSuchFileOrDirectory ? .absent : .failed(error)
        }
    }
}
