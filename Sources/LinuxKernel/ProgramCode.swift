import CLinux

/// What of the program's own code is in memory. Any thread.
public enum ProgramCode {
    /// Lets go of the pages of code that were needed so far, once, when a long-lived program has started: reading options
    /// and configuration takes code of megabytes that nobody needs again. The kernel keeps the file's pages as long as it
    /// likes, and what is needed after all comes back by itself; see MADV_DONTNEED in madvise(2). Libraries stay as they
    /// are, since others use their pages, too.
    public static func giveBackWhatIsUnused() { clinux_release_code() }
}
