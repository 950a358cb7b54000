import Glibc
import LinuxKernel
import TestSupport
import Testing

@Suite("ProgramCode", .timeLimit(.minutes(60)))
struct ProgramCodeTests {
    /// In its own process, where no other test uses code meanwhile.
    @Test("Unused code is released, and the program continues to run") func release() async {
        await #expect(processExitsWith: .success) {
            let before = residentCode()
            ProgramCode.giveBackWhatIsUnused()
            let after = residentCode()
            // Not 0: the code that measures is in memory.
            guard before > 0, after > 0, after < before / 2 else {
                print("note: \(before) KiB before, \(after) KiB after")
                exit(1)
            }
            exit(0)
        }
    }
}

/// KiB of the program's own code that are in memory; see smaps in proc(5).
private func residentCode() -> Int {
    var program = [CChar](repeating: 0, count: Int(PATH_MAX))
    guard readlink("/proc/self/exe", &program, program.count - 1) > 0, let maps = fopen("/proc/self/smaps", "r") else {
        return 0
    }
    defer { fclose(maps) }
    var line = [CChar](repeating: 0, count: 8_192)
    var isCode = false
    var sum = 0
    while fgets(&line, Int32(line.count), maps) != nil {
        var kilobytes = 0
        if strchr(line, Int32(UInt8(ascii: "-"))) != nil, strstr(line, " r") != nil {
            isCode = strstr(line, " r-xp ") != nil && strstr(line, program) != nil
        } else if isCode, strncmp(line, "Rss:", 4) == 0 {
            let digits = line.prefix { $0 != 0 }.compactMap { UInt8(bitPattern: $0) }.filter { (48...57).contains($0) }
            kilobytes = digits.reduce(0) { $0 * 10 + Int($1 - 48) }
        }
        sum += kilobytes
    }
    return sum
}
