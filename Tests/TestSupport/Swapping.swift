import Glibc
import SystemPackage

/// Exchanges two entries of one file system atomically: renameat2(2) with RENAME_EXCHANGE.
public func swapPlaces(_ first: String, _ second: String) throws {
    typealias Rename =
        @convention(c) (
            Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32
        ) -> Int32
    // Missing in Swift's Glibc module.
    guard let symbol = dlsym(nil, "renameat2") else { throw Errno.noFunction }
    let rename = unsafeBitCast(symbol, to: Rename.self)
    let result = first.withCString { first in
        second.withCString { second in rename(AT_FDCWD, first, AT_FDCWD, second, 2) }
    }
    guard result == 0 else { throw Errno(rawValue: errno) }
}
