import Foundation
import TestSupport
import Testing

/// `make release` built it; a build that is not linked with Swift's runtime is another one.
private let release = Checkout.directory.appending(path: ".build/release").path
private let obstacle: String? = {
    for name in ["photoinbox", "photoinbox-decoder"] {
        guard let dynamic = try? output(of: "readelf --dynamic '\(release)/\(name)'") else {
            return "skipped: there is no release build, or no readelf"
        }
        if dynamic.contains("libswift") { return "skipped: \(name) in .build/release was not built by make release" }
    }
    return nil
}()

@Suite("The release build", .enabled(if: obstacle == nil, Comment(rawValue: obstacle ?? "")))
struct ReleaseTests {
    @Test("The programs are hardened", arguments: ["photoinbox", "photoinbox-decoder"])
    func hardening(name: String) throws {
        let parts = "--file-header --program-headers --dynamic --dyn-syms"
        #expect(Self.weaknesses(in: try output(of: "readelf --wide \(parts) '\(release)/\(name)'")) == [])
    }

    @Test("The C targets protect stacks", arguments: ["CLinux", "CPictures", "CTransfers"])
    func stacks(target: String) throws {
        let symbols = try output(of: "nm --undefined-only '\(release)/\(target).build/'*.o")
        #expect(symbols.contains("__stack_chk_fail"))
    }

    @Test("A weak program is found")
    func weakness() {
        #expect(Self.weaknesses(in: "").count == 5)
        #expect(Self.weaknesses(in: " 0x1d (RUNPATH)  Library runpath: [$ORIGIN]").count == 6)
    }

    @Test("The command starts without the libraries of the journal and of downloads")
    func libraries() throws {
        let dynamic = try output(of: "readelf --dynamic '\(release)/photoinbox'")
        let needed = Set(dynamic.matches(of: /\(NEEDED\).*\[(\w+)/).map { String($0.1) })
        #expect(
            needed.isSubset(of: ["ld", "libc", "libdl", "libgcc_s", "libm", "libpthread", "libsqlite3", "libstdc"]))
        #expect(needed.contains("libsqlite3"))
    }

    @Test(
        "The package has at most 25 MB, and 90 MB when it is installed",
        .enabled(if: access("/usr/bin/dpkg-shlibdeps", X_OK) == 0, "skipped: dpkg-dev is not installed"),
        .tags(.heavy), .timeLimit(.minutes(60)))
    func sizes() async throws {
        let scratch = try ScratchDirectory()
        let deb = "'\(Checkout.directory.path)/scripts/deb' --programs '\(release)' --output '\(scratch.path)'"
        let package = try await aside { try output(of: "package=$(\(deb)) && printf %s \"$package\"") }
        let size = try #require(URL(filePath: package).resourceValues(forKeys: [.fileSizeKey]).fileSize)
        let installed = try output(of: "dpkg-deb --field '\(package)' Installed-Size | tr -d '\\n'")
        let kibibytes = try #require(Int(installed))
        #expect((1_000_000...25_000_000).contains(size))
        #expect((1_000_000...90_000_000).contains(kibibytes * 1_024))
    }

    /// What a program lacks, by readelf(1).
    private static func weaknesses(in text: String) -> [String] {
        let signs: [(String, Regex<Substring>)] = [
            ("position independence", #/Flags: .*\bPIE\b/#), ("immediate binding", #/Flags: .*\bNOW\b/#),
            ("read-only relocations", #/\bGNU_RELRO\b/#), ("a stack that is no code", #/GNU_STACK .* RW +0/#),
            ("checked lengths", #/\b__\w+_chk\b/#),
        ]
        let missing = signs.filter { text.firstMatch(of: $0.1) == nil }.map(\.0)
        return missing + (text.contains(#/\((RPATH|RUNPATH)\)/#) ? ["no search path of its own"] : [])
    }
}

/// The standard output of a shell command that must succeed.
private func output(of command: String) throws -> String {
    let scratch = try ScratchDirectory()
    try runProgram(["/bin/sh", "-c", "{ \(command); } >'\(scratch.appending("output"))' 2>/dev/null"])
    return try String(contentsOfFile: scratch.appending("output"), encoding: .utf8)
}
