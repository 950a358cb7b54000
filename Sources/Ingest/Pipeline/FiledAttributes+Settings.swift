package import Filing
import LinuxKernel
package import Settings

extension FiledAttributes {
    /// What the configuration says of owner, group and mode. Names were checked when it was read; one that is unknown
    /// by now leaves what the system gives. Looks them up.
    package init(_ library: LibrarySettings) {
        self.init(
            user: library.owner.flatMap { userNumber($0) },
            group: library.group.flatMap { groupNumber($0) },
            mode: library.mode, directoryMode: library.directoryMode)
    }
}
