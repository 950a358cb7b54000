/// The kind of a directory entry; see inode(7).
public enum FileKind: String, Hashable, Sendable {
    case regular, directory, symbolicLink, fifo, socket, characterDevice, blockDevice, unknown
}
