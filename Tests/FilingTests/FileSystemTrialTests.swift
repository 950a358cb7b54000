import FileValues
import Filing
import Glibc
import LinuxKernel
import TestSupport
import Testing

@Suite("Trials of file systems")
struct FileSystemTrialTests {
    @Test func localDiskSupportsBothCallsAndEveryByte() throws {
        let stage = try Stage()
        let library = try stage.library()
        let trial = try FileSystemTrial(in: library.descriptor, path: library.path)
        #expect(trial.means == [.link, .renameNoReplace])
        #expect(trial.forbidden.isEmpty && !trial.trimsEnds && !trial.foldsCase)
        #expect(trial.fitting("a:b?.") == "a:b?.")
        #expect(try stage.files("library").isEmpty, "the trial leaves nothing")
        #expect(try names(in: library.descriptor).isEmpty)
    }

    @Test("A trial removes the leftovers of a killed one, but not a locked directory")
    func leftovers() throws {
        let stage = try Stage()
        let library = try stage.library()
        for name: BytePath in [".photo-inbox-trial-dead", ".photo-inbox-trial-alive"] {
            let made = try library.openDirectory(name)
            try made.openBeneath("new-1", [.write, .createNew]).write([0], at: 0)
        }
        let alive = try openDirectory(BytePath(stage.path("library/.photo-inbox-trial-alive")))
        #expect(flock(alive.raw, LOCK_EX | LOCK_NB) == 0)
        _ = try FileSystemTrial(in: library.descriptor, path: library.path)
        #expect(try names(in: library.descriptor) == [".photo-inbox-trial-alive"])
    }

    @Test(
        "A trial of a read-only file system fails with that kind", .enabled(if: isRoot, "skipped: needs root to mount"))
    func readOnly() throws {
        let mounted = try MountedScratch(size: "4m")
        let stage = try Stage(below: mounted.scratch.path)
        let library = try stage.library()
        try mounted.remount("ro")
        do {
            _ = try FileSystemTrial(in: library.descriptor, path: library.path)
            Issue.record("tried on a read-only file system")
        } catch { #expect(error.kind == .readOnly) }
    }
}
