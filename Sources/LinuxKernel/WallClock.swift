public import FileValues
import Glibc

extension FileTime {
    /// This moment of the wall clock, to show and to compare with files' times. Never to order or to measure: the clock
    /// can be set. See clock_gettime(2), CLOCK_REALTIME.
    public static var now: FileTime {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return FileTime(seconds: Int64(now.tv_sec), nanoseconds: UInt32(now.tv_nsec))
    }
}
