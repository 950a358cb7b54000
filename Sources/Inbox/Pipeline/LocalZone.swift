import Glibc

/// Seconds east of UTC of this machine's zone at an instant (seconds since 1970); see localtime_r(3).
func offsetOfLocalZone(_ instant: Int64) -> Int32 {
    var time = time_t(instant)
    var parts = tm()
    guard localtime_r(&time, &parts) != nil else { return 0 }
    return Int32(clamping: parts.tm_gmtoff)
}
