package import FileValues
package import Filing
package import PhotoFormats
package import PhotoModel
package import Settings

/// What a pipeline needs to know of one inbox; a value taken from the settings.
package struct InboxSpec: Sendable {
    /// Its name in the configuration.
    package let name: String
    /// Its directory, absolute.
    package let path: BytePath
    /// Whether filed photos leave it.
    package let removesSources: Bool
    /// For how long a file must be unchanged, where no writer can be seen or no structure proves the end.
    package let quiet: QuietWindows
    /// For how long after its last change a file may stay incomplete before a person is asked.
    package let patience: Duration
    /// How what belongs together is filed.
    package let sets: SetPolicy
    /// What the configuration leaves alone.
    private let exclude: [PathGlob]

    /// Whether the configuration leaves `path`, relative to the inbox, alone.
    func excludes(_ path: BytePath) -> Bool { exclude.contains { $0.matches(path) } }

    package init(_ settings: InboxSettings, sets: SetSettings) {
        self.sets = SetPolicy(sets)
        exclude = settings.exclude
        name = settings.name
        path = settings.path
        removesSources = settings.mode == .move
        // Times and sizes on network mounts may lag behind the writer.
        // A file that a scan found while it was open is not reported a second time when its writer closes it without another
        // write, so it is examined again soon.
        quiet = QuietWindows(
            local: settings.quiet.duration, remote: max(settings.quiet.duration, .seconds(30)),
            writerRetry: .seconds(5),
            patience: settings.patience.duration)
        patience = settings.patience.duration
    }
}

/// How what belongs together is filed as one; a value taken from the settings.
package struct SetPolicy: Hashable, Sendable {
    package let isEnabled: Bool
    /// Seconds from the last member's proof.
    package let wait: Double
    package let expectation: SetSettings.Expectation

    init(_ settings: SetSettings) {
        isEnabled = settings.isEnabled
        wait = settings.wait.duration / .seconds(1)
        expectation = settings.expectation
    }
}

/// Where things go; a value taken from the settings.
package struct Places: Sendable {
    package let library: BytePath
    package let quarantine: BytePath
    package let duplicates: BytePath
    package let returned: BytePath
    package let trash: BytePath
    /// Bytes that filing leaves free in the library's file system.
    package let minFree: UInt64
    package let layout: LibraryLayout
    package let dates: DateTrust
    /// How long what was discarded lies in the trash.
    package let trashTime: TimeSpan

    package init(_ library: LibrarySettings) {
        self.library = library.path
        quarantine = library.quarantine
        duplicates = library.duplicates
        returned = library.returned
        trash = library.trash
        minFree = library.minFree
        layout = library.layout
        dates = library.dates
        trashTime = library.trashTime
    }
}
