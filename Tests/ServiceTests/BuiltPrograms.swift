import Foundation
import Glibc

/// The programs under test, as they were built: beside the test bundle, or where PHOTOINBOX_BIN says.
enum BuiltPrograms {
    /// Their directory.
    static let directory: String = {
        if let named = ProcessInfo.processInfo.environment["PHOTOINBOX_BIN"], !named.isEmpty {
            return URL(filePath: named).standardizedFileURL.path(percentEncoded: false)
        }
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(filePath: own).deletingLastPathComponent().path(percentEncoded: false)
    }()

    /// Why the service cannot be tested with them; nil where it can.
    static let obstacle: String? = {
        if access("\(directory)/photoinboxd", X_OK) != 0 { return "skipped: photoinboxd is not built in \(directory)" }
        // The sanitizer wants to fix its address space by personality(2), and the unit locks that.
        if dlsym(nil, "__tsan_init") != nil { return "skipped: the unit's hardening excludes Thread Sanitizer" }
        return nil
    }()
}
