import FileValues
import Glibc
import LinuxKernel

/// The kernel's facts about this process; see proc(5). Cheap, and on a file system that has no disk.
struct ProcessFacts: Sendable {
    let residentBytes: Int
    let threads: Int
    let descriptors: Int
    /// Of all threads since the start.
    let processorSeconds: Double

    static func current() -> ProcessFacts {
        let fields = words(of: "/proc/self/statm")
        let resident = fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(getpagesize()) : 0
        return ProcessFacts(
            residentBytes: resident, threads: entries(of: "/proc/self/task"), descriptors: entries(of: "/proc/self/fd"),
            processorSeconds: Double(nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID)) / 1e9)
    }

    private static func words(of path: BytePath) -> [Substring] {
        String(decoding: (try? contents(of: path)) ?? [], as: UTF8.self).split(separator: " ")
    }

    private static func entries(of path: BytePath) -> Int { (try? openDirectory(path).entries().count) ?? 0 }
}
