// swift-tools-version: 6.2
import PackageDescription

let swiftSettings: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// Met unless a package that depends on this one leaves out the trait `Daemon`. What only the daemon and its programs use
/// is a dependency on this condition, so that SwiftPM does not fetch it for a package that uses the library alone.
let daemon = TargetDependencyCondition.when(traits: ["Daemon"])

let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser", condition: daemon)
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto", condition: daemon)
let database = Target.Dependency.product(name: "GRDB", package: "GRDB.swift", condition: daemon)
let databaseC = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift", condition: daemon)
/// HTTP for the pages, of one package.
let http = ["NIOCore", "NIOHTTP1", "NIOPosix"].map {
    Target.Dependency.product(name: $0, package: "swift-nio", condition: daemon)
}
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let system = Target.Dependency.product(name: "SystemPackage", package: "swift-system")

/// Of programs: packed relocations, and no exported symbols, are small and read fast. What is relocated is read-only before
/// the first line runs.
let small = LinkerSetting.unsafeFlags(
    ["-use-ld=lld"]
        + ["--no-export-dynamic", "-z", "pack-relative-relocs", "-z", "relro", "-z", "now"].flatMap {
            ["-Xlinker", $0]
        },
    .when(configuration: .release))

/// Of C targets: lengths that the compiler knows are checked. Not an unsafe flag, which SwiftPM refuses of a dependency.
let checked = CSetting.define("_FORTIFY_SOURCE", to: "2", .when(configuration: .release))

/// Whether the decoder finds faces, for googly eyes: `make deps build FACES=1`. OpenCV is not linked otherwise.
let hasFaces = Context.environment["FACES"].map { !["", "0"].contains($0) } ?? false
let faces: [Target] =
    hasFaces
    ? [
        .target(
            name: "CFaces", cxxSettings: [.unsafeFlags(["-I/usr/include/opencv4"])],
            linkerSettings: ["objdetect", "imgproc", "core"].map { .linkedLibrary("opencv_\($0)") })
    ] : []

/// A target of ours, whose directories `exclude` are no part of it.
func module(_ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .target(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: swiftSettings)
}

/// The tests of a target.
func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(
        name: name, dependencies: dependencies + ["FileValues", "LinuxKernel", "TestSupport", system],
        exclude: exclude, swiftSettings: swiftSettings)
}

let package = Package(
    name: "photo-inbox",
    products: [
        .library(name: "SystemMonitor", targets: ["FileValues", "LinuxKernel", "SystemMonitor"]),
        .library(
            name: "DirectoryWatch",
            targets: ["DirectoryWatch", "FileValues", "LinuxKernel", "SystemMonitor", "WatchCore"]),
        .library(name: "Systemd", targets: ["FileValues", "LinuxKernel", "Systemd"]),
        .executable(name: "photoinboxd", targets: ["photoinboxd"]),
        .executable(name: "photoinbox", targets: ["photoinbox"]),
        .executable(name: "photoinbox-decoder", targets: ["photoinbox-decoder"]),
        .executable(name: "photoinbox-fetch", targets: ["photoinbox-fetch"]),
        .executable(name: "photoinbox-web", targets: ["photoinbox-web"]),
        .executable(name: "photoinbox-drop", targets: ["photoinbox-drop"]),
    ],
    traits: [
        .default(enabledTraits: ["Daemon"]),
        .trait(name: "Daemon", description: "What the daemon and its programs depend on; the library products do not."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.0.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.5.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        // The floor.
        .target(name: "CLinux", cSettings: [checked]),
        .systemLibrary(name: "CJPEG", pkgConfig: "libjpeg", providers: [.apt(["libjpeg62-turbo-dev"])]),
        .systemLibrary(name: "CTIFF", pkgConfig: "libtiff-4", providers: [.apt(["libtiff-dev"])]),
        .systemLibrary(name: "CVips", pkgConfig: "vips", providers: [.apt(["libvips-dev"])]),
        .systemLibrary(name: "CRaw", pkgConfig: "libraw", providers: [.apt(["libraw-dev"])]),
        module("FileValues"),
        module("LinuxKernel", ["CLinux", "FileValues", system]),
        // Libraries for any daemon.
        module("SystemMonitor", ["CLinux", "FileValues", "LinuxKernel", system]),
        module("WatchCore", ["FileValues"]),
        module("DirectoryWatch", ["FileValues", "LinuxKernel", "SystemMonitor", "WatchCore", system]),
        module("QueueActors", ["FileValues", "LinuxKernel", "SystemMonitor"]),
        module("Systemd", ["FileValues", "LinuxKernel", logging, system]),
        // What is known of photos, and what is done with them.
        module("PhotoFormats", ["FileValues", crypto]),
        module("PhotoModel", ["FileValues", "PhotoFormats"]),
        module("Filing", ["CLinux", "FileValues", "LinuxKernel", "PhotoFormats", "PhotoModel", crypto, system]),
        // What hosts of one catalogue and one library decide.
        module("FleetRules"),
        // A client of PostgreSQL, in which the catalogue may be kept.
        .target(name: "CPostgres", cSettings: [checked]),
        module("PostgreSQL", ["CPostgres"]),
        module(
            "Catalogue",
            [
                "FileValues", "FleetRules", "LinuxKernel", "PhotoFormats", "PhotoModel", "PostgreSQL", "QueueActors",
                "SystemMonitor",
                database, databaseC, system,
            ]),
        module("Settings", ["FileValues", "LinuxKernel", "PhotoFormats", "PhotoModel", "Reporting", system]),
        module("Reporting", ["FileValues"]),
        module("ControlProtocol", ["FileValues", "Reporting"]),
        module("CSV"),
        module(
            "Importing", ["Catalogue", "FileValues", "Filing", "LinuxKernel", "PhotoFormats", "PhotoModel", system]),
        // Photos from the network: what is decided, and the program of its own that has the network.
        .target(name: "CTransfers", cSettings: [checked]),
        module("Transfers", ["CTransfers", "LinuxKernel", "SystemMonitor"]),
        module("Fetching", ["ControlProtocol", "FileValues", "HTTPValues", "PhotoFormats", "PhotoModel", "Settings"]),
        module(
            "FetchService",
            [
                "ControlProtocol", "Fetching", "FileValues", "Filing", "HTTPValues", "LinuxKernel", "QueueActors",
                "Settings", "SystemMonitor", "Systemd", "Transfers", system,
            ]),
        // Copies of photos in a bucket.
        module(
            "Storing",
            [
                "FileValues", "Filing", "HTTPValues", "LinuxKernel", "QueueActors", "SystemMonitor", "Transfers",
                system,
            ]),
        // Pictures: who asks for them, and the confined program that decodes them.
        module("Decoding", ["FileValues", "LinuxKernel", "SystemMonitor", system]),
        .target(
            name: "CPictures",
            dependencies: (["CJPEG", "CRaw", "CTIFF", "CVips"] + faces.map(\.name)).map {
                .target(name: $0, condition: daemon)
            },
            cSettings: [checked] + (hasFaces ? [.define("PHOTOINBOX_FACES")] : [])),
        module("DecoderService", ["CPictures", "Decoding", "FileValues", "LinuxKernel", system]),
        module(
            "Renditions",
            [
                "Catalogue", "Decoding", "FileValues", "LinuxKernel", "PhotoFormats", "PhotoModel", "Settings",
                "SystemMonitor", system,
            ]),
        // The library as a whole: whether it is there, read again, taken over, its catalogue made anew.
        module(
            "LibraryCare",
            ["Catalogue", "FileValues", "Filing", "LinuxKernel", "PhotoFormats", "PhotoModel", "Settings", system]),
        // From a notice of the watch to the outcome of an arrival.
        module(
            "Ingest",
            [
                "Catalogue", "ControlProtocol", "DirectoryWatch", "FileValues", "Filing", "FleetRules", "LibraryCare",
                "LinuxKernel", "PhotoFormats", "PhotoModel", "QueueActors", "Reporting", "Settings", "SystemMonitor",
                system,
            ]),
        // The kinds of entry in the daemon's log, which the manual explains, and what every part of the daemon stands on.
        module("LogMessages", ["Systemd"]),
        module(
            "DaemonSupport",
            [
                "Catalogue", "ControlProtocol", "DirectoryWatch", "FileValues", "Filing", "Ingest", "LibraryCare",
                "LinuxKernel", "LogMessages", "QueueActors", "Reporting", "Settings", "SystemMonitor", "Systemd",
                logging, system,
            ]),
        // Features of the daemon: none knows another, and each can be taken out.
        module(
            "Hooks",
            [
                "Catalogue", "ControlProtocol", "DaemonSupport", "FileValues", "Filing", "LinuxKernel", "LogMessages",
                "QueueActors", "Reporting", "Settings", "SystemMonitor", "Systemd", logging,
            ]),
        module(
            "Links",
            [
                "Catalogue", "ControlProtocol", "DaemonSupport", "Fetching", "FileValues", "Filing", "HTTPValues",
                "Ingest", "LinuxKernel", "LogMessages", "QueueActors", "Reporting", "Settings", "SystemMonitor",
                "Systemd",
                logging, system,
            ]),
        module(
            "Cards",
            [
                "Catalogue", "ControlProtocol", "DaemonSupport", "FileValues", "Filing", "Importing", "LibraryCare",
                "LinuxKernel", "LogMessages", "PhotoModel", "QueueActors", "Reporting", "Settings",
                "SystemMonitor",
                "Systemd",
                logging, system,
            ]),
        module(
            "Thumbnails",
            [
                "Catalogue", "ControlProtocol", "DaemonSupport", "Decoding", "FileValues", "Ingest", "LinuxKernel",
                "PhotoModel", "QueueActors", "Renditions", "Reporting", "Settings", "SystemMonitor",
                logging, system,
            ]),
        // The daemon, which puts all of it together.
        module(
            "DaemonHost",
            [
                "Cards", "Catalogue", "ControlProtocol", "DaemonSupport", "DirectoryWatch", "FileValues", "Filing",
                "Hooks", "Ingest", "LibraryCare", "Links", "LinuxKernel", "LogMessages", "PhotoModel",
                "QueueActors",
                "Reporting", "Settings", "SystemMonitor", "Systemd", "Thumbnails", logging, system,
            ]),
        module(
            "DaemonProgram",
            [
                "Catalogue", "ControlProtocol", "DaemonHost", "DaemonSupport", "FileValues", "Hooks", "LibraryCare",
                "LinuxKernel",
                "PhotoModel", "QueueActors", "Renditions", "Reporting", "Settings", "SystemMonitor",
                "Systemd",
                arguments, logging,
            ]),
        // Commands: what they share, and those that are modules of their own.
        module(
            "CommandSupport",
            ["FileValues", "LinuxKernel", "Reporting", "Settings", "SystemMonitor", arguments, system]),
        module(
            "Watching",
            [
                "CommandSupport", "DirectoryWatch", "FileValues", "LinuxKernel", "PhotoModel",
                "Reporting", "Settings",
                "SystemMonitor", arguments, system,
            ]),
        module(
            "CommandContact",
            [
                "Catalogue", "CommandSupport", "ControlProtocol", "FileValues", "LinuxKernel", "PhotoFormats",
                "PhotoModel",
                "Reporting",
                "Settings", "SystemMonitor", arguments, system,
            ]),
        module(
            "Describing",
            [
                "CSV", "Catalogue", "CommandContact", "CommandSupport", "FileValues", "LinuxKernel", "PhotoFormats",
                "PhotoModel",
                "Reporting", arguments, system,
            ]),
        module(
            "Top",
            [
                "CommandContact", "CommandSupport", "ControlProtocol", "FileValues", "LinuxKernel", "Reporting",
                "SystemMonitor", arguments,
            ]),
        // What is known of a file, by all that may know it: for the command and the pages.
        module(
            "Explaining",
            [
                "Catalogue", "CommandContact", "CommandSupport", "ControlProtocol", "Fetching", "FileValues", "Filing",
                "LibraryCare", "LinuxKernel", "PhotoModel", "Renditions", "Reporting", "Settings",
            ]),
        // `photoinbox setup`: facts, plan, steps.
        module(
            "SettingUp",
            [
                "Catalogue", "CommandContact", "CommandSupport", "ControlProtocol", "Explaining", "FileValues",
                "Filing", "LibraryCare",
                "LinuxKernel", "PhotoModel", "Reporting", "Settings", arguments, system,
            ]),
        // Pages: HTTP as values, and connections.
        module("HTTPValues", ["FileValues"]),
        module("WebServing", ["FileValues", "HTTPValues", "LinuxKernel", system] + http),
        // Uploads: from their first byte to their name.
        module("DropStore", ["FileValues", "Filing", "LinuxKernel", "PhotoModel", system]),
        module(
            "DropPages",
            [
                "ControlProtocol", "DropStore", "FileValues", "Filing", "HTTPValues", "LinuxKernel", "PhotoFormats",
                "PhotoModel",
                "Reporting", "SystemMonitor", "WebAccounts", "WebServing",
            ]),
        .target(name: "CPasswords", cSettings: [checked]),
        .target(name: "CCompression", cSettings: [checked]),
        .target(name: "CPageFiles", cSettings: [checked]),
        module("WebAccounts", ["CPasswords", "FileValues", "LinuxKernel", "SystemMonitor", crypto, system]),
        module(
            "WebPages",
            [
                "CCompression", "CPageFiles", "Catalogue", "CommandContact", "CommandSupport", "ControlProtocol",
                "FileValues", "Filing", "HTTPValues", "LinuxKernel", "PhotoModel", "Reporting", "Settings",
                "SystemMonitor", "WebAccounts", "WebServing", system,
            ], exclude: ["Resources"]),
        module(
            "WebProgram",
            [
                "Catalogue", "CommandContact", "CommandSupport", "ControlProtocol", "DropPages", "DropStore",
                "Explaining", "FileValues", "HTTPValues", "LinuxKernel", "PhotoModel", "Renditions",
                "Reporting",
                "Settings", "Storing", "SystemMonitor", "Systemd",
                "WebAccounts", "WebPages", "WebServing", system,
            ]),
        // Programs. A package has one for the daemon, the command, downloads and pages, `photoinbox`; see
        // docs/decisions/0054. The executables of the other three are for debugging and for tests.
        .executableTarget(
            name: "photoinbox",
            dependencies: [
                "Catalogue", "CommandContact", "CommandSupport", "ControlProtocol", "DaemonProgram", "Decoding",
                "Describing", "Explaining", "FetchService", "Fetching", "FileValues", "Filing", "HTTPValues",
                "Importing",
                "LibraryCare", "LinuxKernel", "PhotoModel", "QueueActors", "Renditions", "Reporting",
                "Settings",
                "SettingUp", "Storing", "SystemMonitor",
                "Top", "Watching", "WebAccounts", "WebProgram", "WebServing", arguments, system,
            ], swiftSettings: swiftSettings, linkerSettings: [small]),
        .executableTarget(
            name: "photoinboxd", dependencies: ["DaemonProgram", arguments], swiftSettings: swiftSettings,
            linkerSettings: [small]),
        .executableTarget(
            name: "photoinbox-fetch", dependencies: ["FetchService"], swiftSettings: swiftSettings,
            linkerSettings: [small]),
        .executableTarget(
            name: "photoinbox-web", dependencies: ["WebProgram"], swiftSettings: swiftSettings,
            linkerSettings: [small]),
        .executableTarget(
            name: "photoinbox-drop", dependencies: ["WebProgram"], swiftSettings: swiftSettings,
            linkerSettings: [small]),
        .executableTarget(
            name: "photoinbox-decoder", dependencies: ["DecoderService"], swiftSettings: swiftSettings,
            linkerSettings: [small]),
        .executableTarget(
            name: "watch-things", dependencies: ["FileValues", "LinuxKernel", "SystemMonitor"],
            path: "Examples/WatchThings", swiftSettings: swiftSettings),
        .executableTarget(
            name: "watch-things-async", dependencies: ["FileValues", "LinuxKernel", "SystemMonitor"],
            path: "Examples/WatchThingsAsync", swiftSettings: swiftSettings),
        .executableTarget(
            name: "ticker", dependencies: ["SystemMonitor"], path: "Examples/Ticker", swiftSettings: swiftSettings),
        .executableTarget(
            name: "small-daemon", dependencies: ["DirectoryWatch", "FileValues", "SystemMonitor", "Systemd", logging],
            path: "Examples/SmallDaemon", swiftSettings: swiftSettings),
        .target(
            name: "Snippets", dependencies: ["LinuxKernel", "SystemMonitor", system], path: "Examples/Snippets",
            swiftSettings: swiftSettings),
        .executableTarget(
            name: "manual",
            dependencies: ["LogMessages", "PhotoFormats", "PhotoModel", "Reporting", "Settings", "Systemd"],
            swiftSettings: swiftSettings),
        // Tests.
        .target(
            name: "TestSupport", dependencies: ["FileValues", "LinuxKernel", system], path: "Tests/TestSupport",
            swiftSettings: swiftSettings),
        tests("FileValuesTests", []),
        tests("CSVTests", ["CSV"]),
        tests("HTTPValuesTests", ["HTTPValues"]),
        tests("WebAccountsTests", ["WebAccounts"]),
        tests(
            "WebPagesTests",
            [
                "Catalogue", "CommandContact", "CommandSupport", "ControlProtocol", "HTTPValues", "Reporting",
                "WebAccounts",
                "WebPages", "WebServing",
            ], exclude: ["Modules"]),
        .executableTarget(
            name: "web-probe", dependencies: ["FileValues", "HTTPValues", "LinuxKernel", "WebServing"],
            path: "Tests/WebServingTests/Program", swiftSettings: swiftSettings),
        tests("WebServingTests", ["HTTPValues", "WebServing", "web-probe"], exclude: ["Program"]),
        .executableTarget(
            name: "drop-probe", dependencies: ["DropStore", "FileValues", "Filing", "LinuxKernel"],
            path: "Tests/DropStoreTests/Program", swiftSettings: swiftSettings),
        tests("DropStoreTests", ["DropStore", "Filing", "drop-probe"], exclude: ["Program"]),
        tests(
            "DropPagesTests",
            ["ControlProtocol", "DropPages", "DropStore", "Filing", "HTTPValues", "WebAccounts", "WebServing"]),
        tests("LinuxKernelTests", ["CLinux"]),
        .executableTarget(
            name: "monitor-probe", dependencies: ["FileValues", "LinuxKernel", "SystemMonitor"],
            path: "Tests/MonitorProbe",
            swiftSettings: swiftSettings),
        tests("SystemMonitorTests", ["CLinux", "SystemMonitor", "monitor-probe"]),
        .executableTarget(
            name: "watch-probe", dependencies: ["DirectoryWatch", "FileValues", "LinuxKernel", "SystemMonitor"],
            path: "Tests/WatchProbe", swiftSettings: swiftSettings),
        tests("DirectoryWatchTests", ["DirectoryWatch", "SystemMonitor", "WatchCore", "watch-probe"]),
        .executableTarget(
            name: "systemd-probe", dependencies: ["FileValues", "LinuxKernel", "Systemd", logging],
            path: "Tests/SystemdProbe", swiftSettings: swiftSettings),
        tests("SystemdTests", ["Systemd", "systemd-probe", logging], exclude: ["Scripts"]),
        tests("PhotoModelTests", ["PhotoFormats", "PhotoModel"]),
        .executableTarget(
            name: "filing-probe",
            dependencies: [
                "Catalogue", "FileValues", "Filing", "FleetRules", "LinuxKernel", "PhotoFormats", "PhotoModel",
            ],
            path: "Tests/FilingTests/Program", swiftSettings: swiftSettings),
        tests(
            "FilingTests", ["Catalogue", "Filing", "PhotoFormats", "PhotoModel", "filing-probe"], exclude: ["Program"]),
        .executableTarget(
            name: "decoder-probe", dependencies: ["CLinux", "DecoderService", "Decoding", "LinuxKernel"],
            path: "Tests/DecoderProbe", swiftSettings: swiftSettings),
        // Not dependent on the two programs, which would put the decoding libraries into the tests' own process; they are
        // built with everything else.
        tests("DecodingTests", ["CLinux", "Decoding", "SystemMonitor"], exclude: ["Pictures"]),
        tests("StoringTests", ["Storing", "Transfers"]),
        tests("FetchingTests", ["Fetching", "HTTPValues", "Settings"]),
        tests("FleetRulesTests", ["FleetRules"]),
        // A server, for the tests that need one.
        .target(
            name: "PostgresSupport", dependencies: ["FileValues", "LinuxKernel", "PostgreSQL", "TestSupport", system],
            path: "Tests/PostgresSupport", swiftSettings: swiftSettings),
        tests("PostgreSQLTests", ["PostgreSQL", "PostgresSupport"]),
        tests(
            "CatalogueTests",
            ["Catalogue", "FleetRules", "PostgreSQL", "PostgresSupport", "QueueActors", "SystemMonitor", database]),
        tests("SettingsTests", ["Settings"]),
        tests("ReportingTests", ["Reporting"]),
        tests("ControlProtocolTests", ["ControlProtocol"]),
        tests(
            "InboxTests",
            [
                "Cards", "Catalogue", "ControlProtocol", "DaemonHost", "DaemonSupport", "Fetching", "Filing", "Hooks",
                "Ingest", "LibraryCare", "Links", "LogMessages", "PhotoFormats", "PhotoModel", "QueueActors",
                "Renditions", "Reporting", "Settings", "SystemMonitor", "Systemd", logging,
            ]),
        tests(
            "EndToEndTests",
            [
                "Catalogue", "ControlProtocol", "DropPages", "DropStore", "Filing", "PhotoModel",
                "PostgreSQL",
                "PostgresSupport", "Reporting", "photoinbox", "photoinbox-fetch", "photoinboxd",
            ],
            exclude: ["Scripts"]),
        tests(
            "CommandTests",
            [
                "Catalogue", "CommandContact", "CommandSupport", "ControlProtocol", "Describing", "DirectoryWatch",
                "Explaining", "Reporting", "Settings", "SettingUp", "Top", "Watching", "photoinbox", "photoinboxd",
                arguments,
                database,
            ]),
        tests("ManualTests", ["LogMessages", "Settings", "Systemd", "manual", "photoinbox", "photoinboxd"]),
        tests(
            "ExamplesTests",
            ["Snippets", "SystemMonitor", "small-daemon", "ticker", "watch-things", "watch-things-async"]),
        tests("PackageTests", []),
        tests("CampaignTests", ["PostgresSupport", "drop-probe", "filing-probe", "photoinboxd"]),
        tests("ServiceTests", [], exclude: ["Scripts"]),
    ] + faces,
    cxxLanguageStandard: .cxx17
)

// `PHOTOINBOX_TESTS="SystemMonitorTests SystemdTests" swift test` fetches and builds what these test targets depend on, and
// nothing else: `make test-library` tests the library alone, `make test-release` the lifecycle in optimised code.
if let chosen = Context.environment["PHOTOINBOX_TESTS"] {
    var pending = chosen.split(separator: " ").map(String.init)
    var targets: Set<String> = []
    var packages: Set<String> = []
    while let name = pending.popLast() {
        guard targets.insert(name).inserted else { continue }
        for dependency in package.targets.first(where: { $0.name == name })?.dependencies ?? [] {
            switch dependency {
            case .targetItem(let name, _), .byNameItem(let name, _): pending.append(name)
            case .productItem(_, let package?, _, _): packages.insert(package)
            default: break
            }
        }
    }
    package.targets.removeAll { !targets.contains($0.name) }
    package.products = []
    package.dependencies.removeAll {
        guard case .sourceControl(_, let location, _) = $0.kind else { return false }
        return !packages.contains { location.hasSuffix("/\($0)") }
    }
}
