import CommandContact
import FileValues
import Glibc
import LinuxKernel

/// Where a verification was stopped: one number in the state directory. Without permission to write, every run is complete.
final class Bookmark {
    private let state: BytePath
    private let name: BytePath = "verified-up-to"
    private var written: Int64 = 0

    init(in places: Places) { state = places.state }

    func read() -> Int64 {
        guard let text = try? contents(of: state.appending(name)) else { return 0 }
        return Int64(String(decoding: text.prefix { (0x30...0x39).contains($0) }, as: UTF8.self)) ?? 0
    }

    /// Stores `photo` at every hundredth: verifying a few photos again does no harm.
    func write(_ photo: Int64) {
        guard photo >= written + 100 || written == 0 else { return }
        written = photo
        try? save("\(photo)\n")
    }

    /// Stores `photo`, after which the run was stopped.
    func stop(at photo: Int64) { try? save("\(photo)\n") }

    private func save(_ text: String) throws(SystemCallError) {
        try openDirectory(state).put(Array(text.utf8), as: name)
    }

    func remove() {
        guard let directory = try? openDirectory(state) else { return }
        try? directory.unlink(name)
    }
}

struct Throttle {
    private let bytesPerSecond: UInt64
    private let began = monotonicNanoseconds()

    init(bytesPerSecond: UInt64) { self.bytesPerSecond = max(1, bytesPerSecond) }

    /// Waits until the rate allows `bytes` since the beginning. A signal ends the wait.
    func wait(after bytes: UInt64) {
        // A century at most, since the sum must be a number of nanoseconds.
        let due = began + UInt64(min(Double(bytes) / Double(bytesPerSecond), 3e9) * 1e9)
        var end = timespec(tv_sec: Int(due / 1_000_000_000), tv_nsec: Int(due % 1_000_000_000))
        clock_nanosleep(CLOCK_MONOTONIC, Int32(TIMER_ABSTIME), &end, nil)
    }
}
