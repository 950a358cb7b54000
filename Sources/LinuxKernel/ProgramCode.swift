import CLinux

/// The program's own code in memory. Any thread.
public enum ProgramCode {
    /// Releases the code pages used so far, for a long-lived program after its start: code that reads options and
    /// configuration is megabytes large and not needed again.
    ///
    /// Pages that are needed after all are mapped again, from the page cache or the file; see MADV_DONTNEED in
    /// madvise(2). Libraries are left alone, since other processes share their pages.
    public static func giveBackWhatIsUnused() { clinux_release_code() }
}
