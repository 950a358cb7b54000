package import FileValues
import Glibc

/// Whether every write to a file changes its times.
///
/// Before Linux 6.13, times have a resolution of 1 to 10 ms, so a write within the tick of the last one changes no
/// time. Since then, a write after the times were read always changes them, on the file systems that support this.
package enum ChangeTimes {
    /// Returns whether times are reliable on `kind` with the kernel `release` of uname(2): `6.1.0-18-amd64`.
    package static func areReliable(on kind: FileSystemKind, release: String = running) -> Bool {
        let numbers = release.split { !$0.isNumber }.prefix(2).compactMap { Int($0) }
        guard numbers.count == 2, (numbers[0], numbers[1]) >= (6, 13) else { return false }
        return ["ext4", "XFS", "btrfs", "tmpfs"].contains(kind.name)
    }

    /// The running kernel's release.
    package static let running: String = {
        var name = utsname()
        guard uname(&name) == 0 else { return "" }
        return withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }()
}
