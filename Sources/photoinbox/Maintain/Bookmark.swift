import Catalogue
import CommandContact
import CommandSupport
import FileValues
import Glibc
import LinuxKernel

/// Where a verification was stopped: one line in the state directory. Without permission to write, every run is complete.
final class Bookmark {
    private let state: BytePath
    private let name: BytePath = "verified-up-to"
    private var written: Int64 = 0

    init(in places: Places) { state = places.state }

    /// Returns the last photo that was verified, and how many had a fault until then. Another catalogue, or a run that concerns
    /// other libraries, begins with the first photo.
    func read(_ catalogue: CatalogueFile, _ library: RawArgument?) throws(CatalogueError) -> (photo: Int64, faults: Int)
    {
        guard let text = try? contents(of: state.appending(name)) else { return (0, 0) }
        let words = String(decoding: text, as: UTF8.self).split(separator: " ")
        guard words.count > 1, let photo = Int64(words[0]), let faults = Int(words[1]),
            try line(photo, faults, catalogue, library) == text
        else { return (0, 0) }
        return (photo, faults)
    }

    /// Stores `photo` at every hundredth: verifying a few photos again does no harm.
    func write(_ photo: Int64, faults: Int, _ catalogue: CatalogueFile, _ library: RawArgument?) {
        guard photo >= written + 100 || written == 0 else { return }
        stop(at: photo, faults: faults, catalogue, library)
    }

    /// Stores `photo`, after which the run was stopped.
    func stop(at photo: Int64, faults: Int, _ catalogue: CatalogueFile, _ library: RawArgument?) {
        written = photo
        guard let line = try? line(photo, faults, catalogue, library) else { return }
        try? openDirectory(state).put(line, as: name)
    }

    private func line(
        _ photo: Int64, _ faults: Int, _ catalogue: CatalogueFile, _ library: RawArgument?
    ) throws(CatalogueError) -> [UInt8] {
        let content = try catalogue.photo(id: photo)?.photo.sha256 ?? []
        return Array("\(photo) \(faults) \(hexadecimal(content)) \(library?.path.escaped ?? "")\n".utf8)
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
