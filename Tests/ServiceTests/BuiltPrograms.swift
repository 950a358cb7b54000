import Glibc
import TestSupport

extension BuiltPrograms {
    /// Why the service cannot be tested with them; nil if it can.
    static let obstacle: String? = {
        if access(path("photoinbox"), X_OK) != 0 { return "skipped: photoinbox is not built in \(directory)" }
        // The sanitizer sets its address space layout by personality(2), which the unit forbids.
        if dlsym(nil, "__tsan_init") != nil { return "skipped: the unit's hardening excludes Thread Sanitizer" }
        return nil
    }()
}
