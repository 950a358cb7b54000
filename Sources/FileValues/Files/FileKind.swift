/// What kind of thing a directory entry is; see inode(7).
public enum FileKind: String, Hashable, Sendable {
    case regular, directory, symbolicLink, fifo, socket, characterDevice, blockDevice, unknown
}
