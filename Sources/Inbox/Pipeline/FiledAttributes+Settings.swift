import Filing
import Glibc
import Settings

extension FiledAttributes {
    /// What the configuration says of owner, group and mode. Names were checked when it was read; one that is unknown
    /// by now leaves what the system gives. Looks them up: see getpwnam(3); from one thread at a time.
    init(_ library: LibrarySettings) {
        self.init(
            user: library.owner.flatMap { name in UInt32(name) ?? getpwnam(name)?.pointee.pw_uid },
            group: library.group.flatMap { name in UInt32(name) ?? getgrnam(name)?.pointee.gr_gid },
            mode: library.mode, directoryMode: library.directoryMode)
    }
}
