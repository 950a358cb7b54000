public import Testing

/// The phases of the tests. Each is a separate run: `scripts/run-tests --phase NAME` selects suites by their tags. A
/// suite without such a tag belongs to the phase `main`, which `make test` runs; `make test-all` runs the others, too.
extension Tag {
    /// Models, event storms and mounts, which use both processors of a small machine.
    @Tag public static var heavy: Self
    /// Kills and attacks many daemons, one after the other.
    @Tag public static var campaign: Self
    /// Exhausts processors or memory, or is disturbed by mounts of other tests.
    @Tag public static var alone: Self
    /// Ten thousand monitors each, of a user with 128 inotify instances, which other tests may use.
    @Tag public static var lives: Self
    /// Boots its own systemd, which other tests would slow down.
    @Tag public static var booted: Self
    /// Not a phase: the few end-to-end tests that `make check` runs.
    @Tag public static var smoke: Self
}
