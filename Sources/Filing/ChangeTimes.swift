package import FileValues
import Glibc

/// Whether a file's times tell every change of it.
///
/// Before Linux 6.13 they are taken from a clock that ticks every 1 to 10 ms: what is written within the tick of the last
/// write changes no time. Since then a change after somebody looked gets a time of its own, on the file systems that take
/// part.
package enum ChangeTimes {
    /// What holds on this kernel. `release` is that of uname(2): `6.1.0-18-amd64`.
    package static func tellEverything(on kind: FileSystemKind, release: String = running) -> Bool {
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
