// swift-tools-version: 6.2
import PackageDescription

let swiftSettings: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]
let system = Target.Dependency.product(name: "SystemPackage", package: "swift-system")

let package = Package(
    name: "photo-inbox",
    products: [],
    dependencies: [
        .package(url: "https://github.com/apple/swift-system", from: "1.5.0")
    ],
    targets: [
        .target(name: "CLinux"),
        .target(name: "FileValues", swiftSettings: swiftSettings),
        .target(name: "LinuxKernel", dependencies: ["CLinux", "FileValues", system], swiftSettings: swiftSettings),
        .target(
            name: "TestSupport", dependencies: ["FileValues", system], path: "Tests/TestSupport",
            swiftSettings: swiftSettings),
        .testTarget(name: "FileValuesTests", dependencies: ["FileValues"], swiftSettings: swiftSettings),
        .testTarget(
            name: "LinuxKernelTests", dependencies: ["FileValues", "LinuxKernel", system, "TestSupport"],
            swiftSettings: swiftSettings),
    ]
)
