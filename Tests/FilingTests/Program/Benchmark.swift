import FileValues
import Filing
import Glibc
import LinuxKernel

/// Files `count` files of `size` random bytes one by one and prints the median and 99th percentile of the times,
/// including all syncs and both commits; then the throughput of hashing a file that is in memory.
func benchmark(_ root: String, count: Int, size: Int) throws {
    let clock = ContinuousClock()
    var times: [Duration] = []
    let fixture = try Fixture(root, named: false)
    for number in 0..<count {
        try writeRandom("\(root)/inbox/bench-\(number).jpg", size)
        times.append(try clock.measure { try fixture.file("bench-\(number).jpg", killAt: nil) })
    }
    times.sort()
    if !times.isEmpty {
        print("file: median \(times[times.count / 2]), 99th percentile \(times[times.count * 99 / 100])")
    }
    try writeRandom("\(root)/inbox/hash.jpg", 256 << 20)
    let source = try SourceFile("hash.jpg", beneath: fixture.inbox)
    _ = try source.hash()
    let time = try clock.measure { _ = try source.hash() }
    print("hash: \(Int(256 * 1.048576 / (time / .seconds(1)))) MB/s")
    unlink("\(root)/inbox/hash.jpg")
}

private func writeRandom(_ path: String, _ size: Int) throws {
    var generator = SystemRandomNumberGenerator()
    let words = (0..<(size / 8)).map { _ in generator.next() as UInt64 }
    guard let file = fopen(path, "w") else { throw SystemCallFailed() }
    let written = words.withUnsafeBytes { fwrite($0.baseAddress, 1, $0.count, file) }
    guard fclose(file) == 0, written == size / 8 * 8 else { throw SystemCallFailed() }
    // So that the writer's dirty pages are not measured.
    sync()
}

private struct SystemCallFailed: Error {}
