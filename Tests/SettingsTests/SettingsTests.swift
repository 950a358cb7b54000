import FileValues
import PhotoModel
import Testing

@testable import Settings

struct SettingsTests {
    @Test func fileWithEverySectionIsRead() throws {
        let settings = try settings(fullFile)
        let library = try #require(settings.library)
        #expect(library.path == "/srv/photos/library")
        #expect(library.quarantine == "/srv/photos/quarantine")
        #expect(library.duplicates == "/srv/photos/duplicates")
        #expect(library.mode == 0o600)
        #expect(library.directoryMode == 0o700)
        #expect(library.group == "photos")
        #expect(library.owner == nil)
        #expect(settings.state == "/var/lib/photoinbox")
        #expect(settings.catalogue.file == "/var/lib/photoinbox/catalogue.sqlite")
        #expect(settings.runtime == "/run/photoinbox")
        #expect(settings.inboxes.map(\.name) == ["card", "phones", "tablet"])
        #expect(settings.inboxes.map(\.mode) == [.copy, .move, .move])
        #expect(settings.inboxes.map(\.quiet) == [.seconds(90), .seconds(5), .seconds(2)])
        #expect(settings.inboxes[0].exclude.map(\.pattern) == ["*.tmp", "@eaDir"])
        #expect(settings.inboxes[0].exclusion(of: "a/@eaDir/b.jpg")?.pattern == "@eaDir")
        #expect(settings.watch == WatchSettings(fastest: .seconds(2), slowest: .seconds(300), audit: nil))
        #expect(settings.timers[0].schedule == .every(.seconds(3600), .boottime))
        #expect(settings.timers[1].schedule == .at(try #require(TimeOfDay("Sunday 03:00"))))
        #expect(settings.timers.map(\.action) == [.reconcile, .hook("notify")])
        #expect(
            settings.signals == [
                .user1: .dump, .user2: .audit, .hangUp: .reload, .quit: .dump, .terminate: .stop, .interrupt: .stop,
            ])
        #expect(settings.descriptors == [DescriptorSettings(name: "commands", fifo: "/run/photoinbox/commands")])
        #expect(settings.hook(named: "notify")?.command == ["/bin/true", "it's filed"])
        #expect(settings.hook(named: "notify")?.deadline == .seconds(10))
        #expect(settings.hook(named: "notify")?.events == [.filed, .setComplete])
        #expect(settings.hook(named: "notify")?.inboxes == ["card"])
        #expect(settings.log == LogSettings(level: .debug, destination: .auto))
    }

    @Test func everyEffectiveValueHasItsOrigin() throws {
        var builder = SettingsBuilder(context: plainContext)
        builder.addFlag("--quarantine", key: "quarantine", value: "../q")
        builder.addFile(Array(fullFile.utf8), path: "photoinbox.toml")
        builder.addFlag("--set", key: "inbox.phones.quiet", value: "9s")
        let settings = try builder.build()
        let shown = Dictionary(
            uniqueKeysWithValues: settings.effective.map { ($0.key, "\($0.value) \($0.origin)") })
        #expect(shown["library"] == "\"/srv/photos/library\" photoinbox.toml:2")
        #expect(shown["quarantine"] == "\"/home/q\" --quarantine")
        #expect(shown["duplicates"] == "\"/srv/photos/duplicates\" default")
        #expect(shown["inbox.card.quiet"] == "\"1m30s\" photoinbox.toml:8")
        #expect(shown["inbox.card.exclude"] == "[\"*.tmp\", \"@eaDir\"] photoinbox.toml:9")
        #expect(shown["inbox.tablet.quiet"] == "\"2s\" photoinbox.toml:15")
        #expect(shown["inbox.phones.quiet"] == "\"9s\" --set")
        #expect(shown["inbox.phones.mode"] == "\"move\" default")
        #expect(shown["timer.weekly.at"] == "\"sun 03:00\" photoinbox.toml:24")
        #expect(shown["timer.weekly.clock"] == nil)
        #expect(shown["signals.QUIT"] == "\"dump\" photoinbox.toml:29")
        #expect(shown["filing.mode"] == "\"0600\" photoinbox.toml:47")
        #expect(shown["hook.notify.on"] == "[\"filed\", \"set-complete\"] photoinbox.toml:38")
        #expect(shown["filing.owner"] == nil)
    }

    @Test func flagsAreSufficientWithoutAFile() throws {
        var builder = SettingsBuilder(context: plainContext)
        builder.addFlag("--library", key: "library", value: "./library")
        builder.addInbox("inbox", flag: "--inbox")
        builder.addInbox("/mnt/Ana's card", flag: "--inbox")
        builder.addInbox("old=/mnt/old", flag: "--inbox")
        builder.addInbox("other/inbox/", flag: "--inbox")
        builder.addFlag("--mode", key: "inbox.*.mode", value: "copy")
        builder.addAssignment("timer.rescan.every=10m", flag: "--set")
        builder.addAssignment("timer.rescan.action=reconcile", flag: "--set")
        builder.addAssignment("inbox.old.exclude=*.tmp *.bak", flag: "--set")
        builder.addAssignment("inbox.old.mode=move", flag: "--set")
        let settings = try builder.build()
        #expect(settings.library?.path == "/home/ana/library")
        #expect(settings.library?.quarantine == "/home/ana/quarantine")
        #expect(settings.state == "/home/ana/state")
        #expect(settings.runtime == "/home/ana/state/run")
        #expect(settings.inboxes.map(\.name) == ["old", "inbox", "Ana_s_card", "inbox-2"])
        #expect(settings.inboxes.map(\.mode) == [.move, .copy, .copy, .copy])
        #expect(settings.inboxes[1].path == "/home/ana/inbox")
        #expect(settings.inboxes[0].exclude.map(\.pattern) == ["*.tmp", "*.bak"])
        #expect(
            settings.timers == [
                TimerSettings(name: "rescan", schedule: .every(.seconds(600), .monotonic), action: .reconcile)
            ])
    }

    @Test func flagsOverrideFilesAndLaterFilesOverrideEarlierOnes() throws {
        var builder = SettingsBuilder(context: plainContext)
        builder.addFlag("--library", key: "library", value: "/flag")
        builder.addFile(Array("library = '/one'\n[log]\nlevel = 'debug'".utf8), path: "1.toml")
        builder.addFile(Array("library = '/two'\n[log]\nlevel = 'error'".utf8), path: "2.toml")
        let settings = try builder.build()
        #expect(settings.library?.path == "/flag")
        #expect(settings.log.level == .error)
    }

    @Test func directoriesOfTheServiceManagerAreUsed() throws {
        var builder = SettingsBuilder(
            context: SettingsContext(workingDirectory: "/", stateDirectory: "/s", runtimeDirectory: "/r"))
        builder.addFile(Array("library = '/srv/l'".utf8), path: "/etc/photoinbox/photoinbox.toml")
        let settings = try builder.build()
        #expect(settings.state == "/s")
        #expect(settings.catalogue.file == "/s/catalogue.sqlite")
        #expect(settings.runtime == "/r")
        #expect(settings.effective("state")?.origin.description == "$STATE_DIRECTORY")
    }

    @Test func configurationsOfInstancesAndUsersHaveTheirOwnDirectories() throws {
        let text = Array("library = '/srv/l'".utf8)
        func places(_ file: BytePath, _ context: SettingsContext = plainContext) throws -> [BytePath] {
            var builder = SettingsBuilder(context: context)
            builder.addFile(text, path: file)
            let settings = try builder.build()
            return [settings.state, settings.runtime]
        }
        #expect(try places("/etc/photoinbox/photoinbox.toml") == ["/var/lib/photoinbox", "/run/photoinbox"])
        #expect(
            try places("/etc/photoinbox/studio.toml") == ["/var/lib/photoinboxd/studio", "/run/photoinboxd/studio"])
        #expect(try places("/etc/photoinbox/conf.d/studio.toml") == ["/var/lib/photoinbox", "/run/photoinbox"])
        #expect(try places("/etc/photoinbox/two words.toml") == ["/var/lib/photoinbox", "/run/photoinbox"])
        var context = plainContext
        context.home = .init(
            configuration: "/home/ana/.config", state: "/home/ana/.local/state", runtime: "/run/user/7")
        #expect(
            try places(".config/photoinbox/photoinbox.toml", context)
                == ["/home/ana/.local/state/photoinbox", "/run/user/7/photoinbox"])
        context.home?.runtime = nil
        #expect(
            try places("/home/ana/.config/photoinbox/photoinbox.toml", context)
                == ["/home/ana/.local/state/photoinbox", "/home/ana/.local/state/photoinbox/run"])
        #expect(try places("/home/ana/photoinbox.toml", context) == ["/srv/state", "/srv/state/run"])
    }

    @Test func theTableOfPlaceNamesIsThePersonsOwnOrTheSystems() throws {
        var context = plainContext
        context.home = .init(
            configuration: "/home/ana/.config", state: "/home/ana/.local/state", data: "/home/ana/share")
        func places(_ file: BytePath) throws -> [BytePath] {
            var builder = SettingsBuilder(context: context)
            builder.addFile(Array("library = '/srv/l'".utf8), path: file)
            return try builder.build().placeNames
        }
        let installed: [BytePath] = [
            "/usr/local/share/photoinbox/place-names.sqlite", "/usr/share/photoinbox/place-names.sqlite",
        ]
        #expect(try places("/etc/photoinbox/photoinbox.toml") == installed)
        #expect(try places("/etc/photoinbox/studio.toml") == installed)
        let own: [BytePath] = ["/home/ana/share/photoinbox/place-names.sqlite"]
        #expect(try places(".config/photoinbox/photoinbox.toml") == own + installed)
        context.home = nil
        #expect(try places("/home/ana/photoinbox.toml") == installed)
    }

    @Test func socketOfAnInstanceDeterminesItsConfiguration() {
        #expect(
            StandardPlaces.configuration(ofSocket: "/run/photoinboxd/studio/hooks") == "/etc/photoinbox/studio.toml")
        for socket: BytePath in [
            "/run/photoinbox/hooks", "/run/photoinboxd/hooks", "/run/photoinboxd/../hooks", "hooks",
        ] {
            #expect(StandardPlaces.configuration(ofSocket: socket) == nil)
        }
    }

    @Test func emptyConfigurationHasNoLibraryAndNoInbox() throws {
        let settings = try settings("")
        #expect(settings.library == nil)
        #expect(settings.inboxes.isEmpty)
        #expect(settings.state == "/var/lib/photoinbox")
        #expect(settings.signals[.terminate] == .stop)
    }

    @Test func relativePathsInAFileAreRelativeToItsDirectory() throws {
        let text = "library = \"library\"\n[inbox.a]\npath = \"./in//box/\""
        let settings = try settings(text, at: "conf/photoinbox.toml")
        #expect(settings.library?.path == "/home/ana/conf/library")
        #expect(settings.inboxes[0].path == "/home/ana/conf/in/box")
    }

    @Test func limitsOfDownloadsAreRead() throws {
        #expect(try settings("library = '/l'\n[inbox.a]\npath = '/a'").fetch == FetchLimits())
        let fetch = try settings(
            "library = '/l'\n[inbox.a]\npath = '/a'\n[fetch]\nat-once = '3'\ndeadline = '1m'\nstall = '2s'\n"
                + "largest = '1M'\ntries = '2'\npause = '10ms'\nallow-private = ['127.0.0.1', '::1']"
        ).fetch
        let allowed = [NetworkRange("127.0.0.1"), NetworkRange("::1")].compactMap(\.self)
        #expect(
            fetch
                == FetchLimits(
                    atOnce: 3, deadline: 60, stall: 2, largest: 1 << 20, tries: 2, pause: 10, allowed: allowed))
    }

    @Test func everyInboxHasItsOwnRenditions() throws {
        let text =
            "library = '/l'\n[inbox.a]\npath = '/a'\n[inbox.b]\npath = '/b'\nrenditions = ['googly', 'hash']"
            + "\n[inbox.c]\npath = '/c'\nrenditions = []"
        let inboxes = try settings(text).inboxes
        #expect(inboxes.map(\.renditions) == [RenditionKind.standard, [.googly, .hash], []])
    }

    @Test func inboxesMayNameTheLibraryIfAllNameTheSame() throws {
        let text = "[inbox.a]\npath = '/a'\nlibrary = '/l'\n[inbox.b]\npath = '/b'\nlibrary = '/l'"
        #expect(try settings(text).library?.path == "/l")
        #expect(
            mistakes(text.replacing("library = '/l'\n[", with: "library = '/m'\n[")) == [
                "photoinbox.toml:6:11: library = '/l': all inboxes share one library in this version, "
                    + "and it is \"/m\" (photoinbox.toml:3)"
            ])
    }
}
