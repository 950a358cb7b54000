import CLinux

/// The code of the program and its libraries in memory. Any thread.
public enum ProgramCode {
    /// Releases the pages of code and constants used so far, for a long-lived program after its start, and when it comes to
    /// rest: what reads options, or files photos, is megabytes large and not needed meanwhile.
    ///
    /// Pages that are needed after all are mapped again, from the page cache or the file; see MADV_DONTNEED in
    /// madvise(2). Other processes keep theirs.
    public static func giveBackWhatIsUnused() { clinux_release_code() }
}
