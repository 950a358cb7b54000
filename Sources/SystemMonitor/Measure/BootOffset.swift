import FileValues
import LinuxKernel

/// The offset in each minute at which this machine aligns its wake-ups, in nanoseconds.
///
/// Derived from the boot identifier, as in sd-event, so that machines of a network differ and processes of a machine
/// agree. 0 if it is unreadable, as with ProcSubset=pid.
enum BootOffset {
    static let nanoseconds = offset(ofBoot: readBootIdentifier())

    static func offset(ofBoot text: [UInt8]) -> UInt64 {
        let digits = text.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "\n") }
        guard digits.count == 32, let bytes = bytes(ofHexadecimal: digits) else { return 0 }
        // The identifier's two halves in this machine's byte order, which is little-endian on all supported machines.
        let halves = [bytes[..<8], bytes[8...]].map { $0.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
        return (halves[0] ^ halves[1]) % 60_000_000 * 1_000
    }
}
