import Catalogue
import FileValues
import Filing
import Glibc
import LinuxKernel
import TestSupport
import Testing

/// The path of filing-probe, beside the test program.
private let program: String = {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = max(0, readlink("/proc/self/exe", &buffer, buffer.count))
    let own = BytePath(buffer[..<count].map { UInt8(bitPattern: $0) })
    return String(decoding: own.parent.appending("filing-probe").bytes, as: UTF8.self)
}()

private let strace: String? = ["/usr/bin/strace", "/bin/strace"].first { access($0, X_OK) == 0 }

/// Whether this process may trace its children.
private let canTrace: Bool = {
    guard let strace else { return false }
    return (try? runProgram([strace, "-o", "/dev/null", "/bin/true"])) != nil
}()

/// An inbox with one photo, a library and a catalogue for filing-probe.
private struct Trial {
    let stage = Result { try Stage() }
    let bytes = someBytes(200_000)

    func prepared() throws -> Stage {
        let stage = try stage.get()
        try stage.drop("a.jpg", bytes)
        return stage
    }

    /// Checks the state after recovery: the photo is in exactly one of inbox and library, with one row if it is filed;
    /// there is no pending intent and no other file.
    func check(_ stage: Stage) throws {
        let inbox = try stage.files("inbox")
        let library = try stage.files("library")
        let catalogue = try CatalogueFile.openForReading(stage.path("catalogue.db"))
        let photos = try catalogue.photos(matching: PhotoFilter(), limit: 10)
        #expect(try catalogue.pendingIntents().isEmpty)
        if photos.isEmpty {
            #expect(inbox == ["a.jpg": bytes])
            #expect(library.isEmpty)
        } else {
            #expect(inbox.isEmpty)
            #expect(library == ["2026/11/a.jpg": bytes])
            #expect(photos.map(\.photo.libraryPath) == ["2026/11/a.jpg"])
            #expect(try catalogue.recentOutcomes(limit: 10).map(\.outcome.outcome) == [.filed])
        }
    }
}

@Suite("Recovery after a kill during filing")
struct CrashTests {
    static let steps: [FilingStep] = [
        .hashSource, .openDestination, .makeTemporary, .copy, .setAttributes, .syncCopy, .verifyCopy, .checkSource,
        .nameCopy, .syncDestination, .record, .setSourceAside, .checkSourceAgain, .seeCopy, .removeSource, .syncSource,
    ]

    @Test(
        "A filing killed at any step is recovered, and a second recovery changes nothing", arguments: steps,
        [[], ["--named"]])
    func killed(step: FilingStep, options: [String]) throws {
        let trial = Trial()
        let stage = try trial.prepared()
        #expect("the program was not killed") {
            try runProgram([program, "file", stage.scratch.path, "a.jpg", "--kill-at", step.rawValue] + options)
        } throws: { error in
            (error as? ProgramFailed)?.status == SIGKILL
        }
        // A complete copy exists at the moment of the crash.
        let everywhere = Array(try stage.files("inbox").values) + Array(try stage.files("library").values)
        #expect(everywhere.contains(trial.bytes))
        try runProgram([program, "recover", stage.scratch.path])
        try trial.check(stage)
        let library = try stage.files("library")
        try runProgram([program, "recover", stage.scratch.path])
        try trial.check(stage)
        #expect(try stage.files("library") == library)
        // After the commit the photo is filed; before the copy is named it is not.
        if let at = Self.steps.firstIndex(of: step) {
            let recorded = Self.steps.firstIndex(of: .record).map { at > $0 } ?? false
            let named = Self.steps.firstIndex(of: .nameCopy).map { at > $0 } ?? false
            if recorded { #expect(!library.isEmpty) }
            if !named { #expect(library.isEmpty) }
        }
    }
}

@Suite(
    "Filing where a system call is unsupported", .enabled(if: canTrace, "skipped: strace is missing or may not trace"))
struct LackingTests {
    private func file(_ stage: Stage, _ injection: [String], _ options: [String] = []) throws {
        let log = stage.path("log")
        try runProgram(
            [try #require(strace), "-f", "-o", log] + injection + [program, "file", stage.scratch.path, "a.jpg"]
                + options)
    }

    private let noFlags = ["-e", "inject=renameat2:error=EINVAL"]

    @Test("Without RENAME_NOREPLACE the source is still set aside")
    func plainRename() throws {
        let trial = Trial()
        let stage = try trial.prepared()
        try file(stage, noFlags)
        try trial.check(stage)
        #expect(try stage.files("inbox").isEmpty)
    }

    @Test("Without RENAME_NOREPLACE a write before the last check of the source is not lost")
    func savedMeanwhile() throws {
        let stage = try Trial().prepared()
        #expect(throws: ProgramFailed.self) {
            try file(stage, noFlags, ["--save-at", FilingStep.checkSourceAgain.rawValue])
        }
        var saved = Trial().bytes
        saved[0] = 7
        #expect(try stage.files("inbox") == ["a.jpg": saved])
    }

    @Test("A directory without fsync is synced with its file system")
    func noDirectorySync() throws {
        let trial = Trial()
        let stage = try trial.prepared()
        let paths = ["library", "library/2026", "library/2026/11", "inbox"].flatMap { ["-P", stage.path($0)] }
        try file(stage, paths + ["-e", "inject=fsync:error=EINVAL"])
        try trial.check(stage)
        #expect(try stage.files("inbox").isEmpty)
        let log = try content(of: openDirectory(stage.scratch.bytePath).openBeneath("log", .read))
        #expect(String(decoding: log, as: UTF8.self).contains("syncfs"))
    }
}

@Suite("The order of system calls of filing")
struct OrderTests {
    @Test(
        "The copy is synced before it is named, named before it is recorded, recorded before the source is removed",
        .enabled(if: canTrace, "skipped: strace is missing"),
        arguments: [[], ["--named"]])
    func order(options: [String]) throws {
        let stage = try Trial().prepared()
        let log = stage.path("log")
        let calls = "openat,fsync,fdatasync,linkat,renameat2,unlinkat,fadvise64,fchmod,utimensat,pwrite64"
        try runProgram(
            [try #require(strace), "-f", "-y", "-o", log, "-e", "trace=\(calls)", program, "file", stage.scratch.path]
                + ["a.jpg"] + options)
        let lines = try content(of: openDirectory(stage.scratch.bytePath).openBeneath("log", .read))
            .split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
        var position = 0
        func expectNext(_ what: String, _ matches: (String) -> Bool) {
            guard let found = lines[position...].firstIndex(where: matches) else {
                Issue.record("\(what) does not follow line \(position): \(lines[..<position].last ?? "")")
                return
            }
            position = found + 1
        }
        let temporary = options.isEmpty ? "O_TMPFILE" : ".part"
        expectNext("intent row") { $0.contains("fdatasync") && $0.contains("catalogue.db-wal") }
        expectNext("temporary") { $0.contains("openat") && $0.contains(temporary) }
        expectNext("mode") { $0.contains("fchmod") }
        expectNext("time") { $0.contains("utimensat") }
        expectNext("sync of the copy") { $0.contains("fsync") && $0.contains("library/2026/11/") }
        expectNext("cache dropped") { $0.contains("POSIX_FADV_DONTNEED") }
        expectNext("name") { $0.contains("linkat") && $0.contains("\"a.jpg\"") }
        expectNext("sync of the directory") { $0.contains("fsync") && $0.contains("library/2026/11>") }
        expectNext("commit") { $0.contains("fdatasync") && $0.contains("catalogue.db-wal") }
        expectNext("source aside") { $0.contains("renameat2") && $0.contains(".aside.part") }
        expectNext("copy opened by its path") { line in
            line.contains("openat") && line.contains("library/2026/11>") && line.contains("\"a.jpg\"")
        }
        expectNext("source removed") { $0.contains("unlinkat") && $0.contains(".aside.part") }
        expectNext("sync of the inbox") { $0.contains("fsync") && $0.contains("/inbox>") }
        // No unlink in the inbox before the row is durable.
        let removal = try #require(lines.firstIndex { $0.contains(".aside.part") })
        #expect(!lines[..<removal].contains { $0.contains("unlink") && $0.contains("/inbox>") })
    }
}
