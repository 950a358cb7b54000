extension Roff {
    /// What photoinbox-watch(1) says of inotifywait(1).
    mutating func appendDifferences() {
        heading("DIFFERENCES FROM INOTIFYWAIT")
        paragraph(
            "Scripts that run \"inotifywait -m -r\" can run \"photoinbox watch -m -r\" with the same options: the same "
                + "lines come out, byte for byte, and the lines \"Setting up watches.\" and \"Watches established.\" on "
                + "standard error. These are the differences.")
        subheading("What only photoinbox watch does")
        for (term, meaning) in gains { item(term, [meaning]) }
        subheading("What only inotifywait does")
        for (term, meaning) in losses { item(term, [meaning]) }
    }
}

private let gains: [(String, String)] = [
    (
        "No directory is lost",
        "Each is watched before it is listed, so that entries that appear meanwhile are reported. inotifywait lists first: "
            + "of \"mkdir -p a/b/c\", and of a tree that is moved in, it watches as much as it is fast enough for. Among the "
            + "kernel's events, entries of a new directory are reported as FOUND, instead of CREATE or MOVED_TO, if one of "
            + "these is requested, and its files if close_write is requested; a file that is still being written is "
            + "reported again when it is closed."
    ),
    (
        "Files that are finished",
        "Without -m, -r or -e, a file is reported once it is complete: closed by its writer, moved in, or found. It is not "
            + "reported for each event before that, nor under an unfinished name. Each close after writing and each new "
            + "name is reported once; changes of its mode, and renames of a directory above it, are not."
    ),
    (
        "A queue overflow is made up for",
        "When events come faster than they are read, the kernel drops them. For kinds such as finished, the directories "
            + "are then compared with what was known, and exactly the differences are reported. For the kernel's events, "
            + "which cannot be recovered, a remark reports the loss, the exit status is 3, and new directories are watched "
            + "and their entries reported as FOUND. inotifywait reports nothing, and watches no directory that it missed."
    ),
    (
        "File systems without events",
        "Changes that others make on network and FUSE file systems raise no events. For kinds such as finished, such "
            + "trees are polled."
    ),
    (
        "Limits are reported",
        "When fs.inotify.max_user_watches is reached, as many directories as possible are watched, a remark names the rest, "
            + "and the exit status is 3. inotifywait fails."
    ),
    (
        "Excluded trees use no watch",
        "A directory that is excluded entirely, by --exclude, --exclude-glob or @DIR, is neither watched nor read. "
            + "inotifywait watches it, and drops its events. @DIR also applies to directories that appear later."
    ),
    (
        "Renamed and moved directories",
        "A directory that is renamed keeps its watches under its new path, with all below it. One that is moved out of the "
            + "tree is no longer reported, nor is anything below it; inotifywait continues to report it under its old path."
    ),
    (
        "A root that disappears and returns",
        "For kinds such as finished, a remark reports that a root was renamed or removed. When a directory is at its path "
            + "again, that is watched, and the differences are reported. inotifywait stays with the old directory."
    ),
    (
        "Names as bytes",
        "--null and --json support any name; on a terminal names are escaped. inotifywait truncates a line after 4,096 "
            + "bytes."
    ),
    (
        "Several patterns",
        "All --exclude and --include options apply together; inotifywait uses the last one only."
    ),
    (
        "--include does not apply to directories",
        "They are watched whatever their names; inotifywait 3.22 does not watch a new one whose name does not match."
    ),
    ("Globs", "--exclude-glob, --include-glob, as in photoinbox.toml(5)."),
    ("--count, --existing, --json, fractions of a second", "Not in inotifywait."),
    ("A closed pipe", "Ends it at once; inotifywait continues until it has an event to write."),
    ("Cost", "In a storm, events are read hundreds at a time, for a fraction of the processor time."),
]

private let losses: [(String, String)] = [
    (
        "Ending after one event",
        "Without -m it continues, too; use --count 1. It is recursive even without -r."
    ),
    ("Single files", "It watches directories. For a file, watch its directory with --include."),
    ("Links", "They are never followed below DIR, as with -P."),
    ("--daemon", "Use systemd-run(1), or nohup(1) with --outfile."),
    ("--syslog", "Use logger(1) or systemd-cat(1) on standard error."),
    (
        "--fanotify, --filesystem",
        "It uses inotify(7), which needs no privilege. Give the mount point."
    ),
    ("-e isdir, -e oneshot", "They are no events of the kernel's queue, and are refused."),
    ("Abbreviated options", "--recurs for --recursive is refused."),
    (
        "Exit status 1 for all failures",
        "1 means that it failed; wrong usage is 64, permission denied 77, a part that could not be watched 3."
    ),
]
