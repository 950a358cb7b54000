public import Testing

/// When a suite runs. Each of these is a run of its own: `scripts/run-tests --phase NAME` chooses by the tags of suites. A
/// suite without one is of the phase `main`, which `make test` runs; `make test-all` runs the others, too.
extension Tag {
    /// Models, storms and mounts, which keep both processors of a small machine busy.
    @Tag public static var heavy: Self
    /// Many daemons are killed, and attacked, one after the other.
    @Tag public static var campaign: Self
    /// Uses up processors and memory, or is put in doubt by what others mount.
    @Tag public static var alone: Self
    /// Ten thousand monitors each, of a user who has 128 inotify instances, which other tests may hold.
    @Tag public static var lives: Self
    /// Boots a systemd of its own, which the others would slow down.
    @Tag public static var booted: Self
    /// Not a phase, but the few end-to-end tests that `make check` runs.
    @Tag public static var smoke: Self
}
