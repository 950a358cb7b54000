import FileValues
import Glibc

/// The process that holds an flock(2) on the file with this inode, if /proc/locks lists it; see proc_locks(5). The
/// device is not compared: on btrfs it differs from that of stat(2).
package func lockHolder(of inode: UInt64) -> Int32? {
    guard let text = try? contents(of: "/proc/locks") else { return nil }
    // 1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF
    for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
        let words = line.split(separator: " ")
        if words.count >= 6, words[1] == "FLOCK", let process = Int32(words[4]), process > 0,
            words[5].split(separator: ":").last.flatMap({ UInt64($0) }) == inode
        {
            return process
        }
    }
    return nil
}
