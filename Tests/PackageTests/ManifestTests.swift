import Foundation
import TestSupport
import Testing

@Suite("Package.swift separates the library from the daemon", .timeLimit(.minutes(60)))
struct ManifestTests {
    /// The allowed dependencies of each product: own targets, and products of other packages.
    static let allowed: [String: (targets: Set<String>, products: Set<String>)] = [
        "SystemMonitor": (["CLinux", "FileValues", "LinuxKernel", "SystemMonitor"], ["SystemPackage"]),
        "DirectoryWatch": (
            ["CLinux", "DirectoryWatch", "FileValues", "LinuxKernel", "SystemMonitor", "WatchCore"], ["SystemPackage"]
        ),
        "Systemd": (["CLinux", "FileValues", "LinuxKernel", "Systemd"], ["Logging", "SystemPackage"]),
    ]
    /// Packages for all clients.
    static let shared: Set<String> = ["swift-log", "swift-system"]

    /// Read once, since SwiftPM compiles it each time.
    private static let reading = Task { try await aside { try Checkout.manifest() } }
    let manifest: JSONTree

    init() async throws { manifest = try await Self.reading.value }

    @Test("Library products depend only on the library", arguments: allowed.keys.sorted())
    func libraryProducts(name: String) throws {
        let product = try #require(manifest["products"].items.first { $0["name"].text == name })
        #expect(!product["type"]["library"].items.isEmpty)
        let (targets, products) = closure(of: product["targets"].items.compactMap(\.text))
        #expect(targets == Self.allowed[name]?.targets)
        #expect(products == Self.allowed[name]?.products)
    }

    @Test("Programs alone have unsafe flags, with which SwiftPM would refuse the library as a dependency")
    func unsafeFlags() {
        let targets = manifest["targets"].items.filter { target in
            target["settings"].items.contains { $0["kind"]["unsafeFlags"] != .null }
        }
        let names = Set(targets.compactMap { $0["name"].text })
        #expect(
            names == [
                "photoinbox", "photoinboxd", "photoinbox-decoder", "photoinbox-fetch", "photoinbox-web",
                "photoinbox-drop",
            ])
    }

    @Test("Tests of the library depend only on the library")
    func libraryTests() throws {
        let makefile = try String(contentsOf: Checkout.directory.appending(path: "Makefile"), encoding: .utf8)
        let line = try #require(makefile.split(separator: "\n").first { $0.hasPrefix("LIBRARY_TESTS :=") })
        let tests = line.split(separator: " ").dropFirst(2).map(String.init)
        #expect(Set(tests).isSuperset(of: Self.allowed.keys.map { "\($0)Tests" }))
        let (targets, products) = closure(of: tests)
        // Besides the library: the tests, their programs and the examples.
        let others = targets.subtracting(Self.allowed.values.reduce(into: []) { $0.formUnion($1.targets) })
        let paths = manifest["targets"].items.filter { others.contains($0["name"].text ?? "") }.map { target in
            target["path"].text ?? "Tests/\(target["name"].text ?? "")"
        }
        #expect(paths.allSatisfy { $0.hasPrefix("Tests/") || $0.hasPrefix("Examples/") }, "\(paths)")
        #expect(paths.count == others.count)
        #expect(products == ["Logging", "SystemPackage"])
    }

    @Test("Packages of the daemon are fetched only for its trait")
    func traits() {
        for target in manifest["targets"].items {
            for dependency in target["dependencies"].items {
                let parts = dependency["product"].items
                guard parts.count == 4, let product = parts[0].text, let package = parts[1].text else { continue }
                if Self.shared.contains(package) { continue }
                #expect(
                    parts[3]["traits"].items == [.string("Daemon")],
                    "\(product) of \(package), for \(target["name"].text ?? "?")")
            }
        }
        let defaults = manifest["traits"].items.first { $0["name"].text == "default" }
        #expect(defaults?["enabledTraits"].items == [.string("Daemon")])
    }

    @Test(
        "Sources of the library do not import Foundation",
        arguments: ["CLinux", "FileValues", "LinuxKernel", "SystemMonitor", "DirectoryWatch", "WatchCore", "Systemd"])
    func foundation(target: String) throws {
        let sources = try Checkout.files(below: "Sources/\(target)", suffix: ".swift")
        for (path, text) in sources {
            let imports = text.split(separator: "\n").filter { $0.contains("import Foundation") }
            #expect(imports.isEmpty, "\(path)")
        }
    }

    /// The targets that `names` depend on, including themselves, and the products of other packages that these use.
    private func closure(of names: [String]) -> (targets: Set<String>, products: Set<String>) {
        var pending = names
        var targets: Set<String> = []
        var products: Set<String> = []
        while let name = pending.popLast() {
            guard targets.insert(name).inserted else { continue }
            let target = manifest["targets"].items.first { $0["name"].text == name }
            for dependency in target?["dependencies"].items ?? [] {
                if let own = dependency["byName"].items.first?.text ?? dependency["target"].items.first?.text {
                    pending.append(own)
                } else if let product = dependency["product"].items.first?.text {
                    products.insert(product)
                }
            }
        }
        return (targets, products)
    }
}
