import LinuxKernel

/// The offset in each minute at which this machine aligns its wake-ups, in nanoseconds.
///
/// Derived from the boot identifier, as in sd-event, so that machines of a network differ and processes of a machine
/// agree. 0 if it is unreadable, as with ProcSubset=pid.
enum BootOffset {
    static let nanoseconds = offset(ofBoot: readBootIdentifier())

    static func offset(ofBoot text: [UInt8]) -> UInt64 {
        let digits = text.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "\n") }
        guard digits.count == 32 else { return 0 }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: 32, by: 2) {
            guard let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) else {
                return 0
            }
            bytes.append(byte)
        }
        // The identifier's two halves in this machine's byte order, which is little-endian on all supported machines.
        let halves = [bytes[..<8], bytes[8...]].map { $0.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
        return (halves[0] ^ halves[1]) % 60_000_000 * 1_000
    }
}
