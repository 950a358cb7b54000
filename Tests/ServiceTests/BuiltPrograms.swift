import Glibc
import TestSupport

extension BuiltPrograms {
    /// Why the service cannot be tested with them; nil where it can.
    static let obstacle: String? = {
        if access(path("photoinboxd"), X_OK) != 0 { return "skipped: photoinboxd is not built in \(directory)" }
        // The sanitizer wants to fix its address space by personality(2), and the unit locks that.
        if dlsym(nil, "__tsan_init") != nil { return "skipped: the unit's hardening excludes Thread Sanitizer" }
        return nil
    }()
}
