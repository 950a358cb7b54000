// swift-tools-version: 6.2
import PackageDescription

let swiftSettings: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let system = Target.Dependency.product(name: "SystemPackage", package: "swift-system")

/// A target of ours.
func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: swiftSettings)
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
        .library(name: "DirectoryWatch", targets: ["DirectoryWatch", "FileValues", "LinuxKernel", "SystemMonitor"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-system", from: "1.5.0")
    ],
    targets: [
        // The floor.
        .target(name: "CLinux"),
        module("FileValues"),
        module("LinuxKernel", ["CLinux", "FileValues", system]),
        // Libraries for any daemon.
        module("SystemMonitor", ["CLinux", "FileValues", "LinuxKernel", system]),
        module("DirectoryWatch", ["FileValues", "LinuxKernel", "SystemMonitor", system]),
        // What is known of photos, and what is done with them.
        // Programs.
        .executableTarget(
            name: "watch-things", dependencies: ["FileValues", "LinuxKernel", "SystemMonitor"],
            path: "Examples/WatchThings", swiftSettings: swiftSettings),
        // Tests.
        .target(
            name: "TestSupport", dependencies: ["FileValues", "LinuxKernel", system], path: "Tests/TestSupport",
            swiftSettings: swiftSettings),
        tests("FileValuesTests", []),
        tests("LinuxKernelTests", ["CLinux"]),
        .executableTarget(
            name: "monitor-probe", dependencies: ["LinuxKernel", "SystemMonitor"], path: "Tests/MonitorProbe",
            swiftSettings: swiftSettings),
        tests("SystemMonitorTests", ["CLinux", "SystemMonitor", "monitor-probe"]),
        tests("DirectoryWatchTests", ["DirectoryWatch", "SystemMonitor"]),
        tests("ExamplesTests", ["watch-things"]),
    ]
)
