import FileValues
import Filing
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

/// Whether leases are reliable on the file system of the scratch directories.
private let leasesDecide: Bool = {
    guard let stage = try? Stage(), let status = try? FileSystemStatus(of: stage.inbox) else { return false }
    return status.kind.leases == .decides
}()

private struct Unexpected: Error {}

@Suite("Detection of writers by leases")
struct WriterProbeTests {
    @Test("Open and mapped writers are detected", .enabled(if: leasesDecide, "skipped: leases do not decide in TMPDIR"))
    func writers() async {
        await #expect(processExitsWith: .success) {
            signal(SIGIO, SIG_IGN)
            let stage = try Stage()
            try stage.drop("a.jpg", someBytes())
            let source = try stage.source("a.jpg")
            func expect(_ verdict: WriterVerdict) throws {
                guard stage.probe.probe(source) == verdict else { throw Unexpected() }
            }
            try expect(.noWriter)
            do {
                let writer = try stage.inbox.openBeneath("a.jpg", .readWrite)
                try expect(.writerOpen)
                _ = try writer.close()
            }
            try expect(.noWriter)
            let mapped = try stage.inbox.openBeneath("a.jpg", .readWrite)
            let memory = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, mapped.raw, 0)
            try mapped.close()
            try expect(.writerOpen)
            munmap(memory, 4096)
            try expect(.noWriter)
        }
    }

    @Test("A process that SIGIO would end requests no lease")
    func unsafe() async {
        await #expect(processExitsWith: .success) {
            signal(SIGIO, SIG_DFL)
            // Threads of Dispatch block every signal, and this may be one.
            var signals = sigset_t()
            sigaddset(&signals, SIGIO)
            pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            let stage = try Stage()
            try stage.drop("a.jpg", [1])
            guard stage.probe.probe(try stage.source("a.jpg")) == .unknown(.signalNotBlocked) else {
                throw Unexpected()
            }
        }
    }

    @Test(
        "The verdict on another user's file without CAP_LEASE is unknown",
        .enabled(if: isRoot, "skipped: needs root to give a file away"))
    func otherOwner() async {
        await #expect(processExitsWith: .success) {
            signal(SIGIO, SIG_IGN)
            let stage = try Stage()
            try stage.drop("a.jpg", [1])
            chmod(stage.scratch.path, 0o755)
            chmod(stage.path("inbox/a.jpg"), 0o644)
            chown(stage.path("inbox/a.jpg"), 4242, 4242)
            guard setuid(65534) == 0 else { throw Unexpected() }
            let verdict = stage.probe.probe(try stage.source("a.jpg"))
            guard verdict == .unknown(.otherOwner) || !leasesDecide else { throw Unexpected() }
        }
    }

    @Test("A granted lease counts only on file systems where leases are reliable")
    func trust() {
        func verdict(_ answer: LeaseAnswer, _ kind: FileSystemKind) -> WriterVerdict {
            WriterProbe.verdict(on: answer, kind: kind)
        }
        let ext4 = FileSystemKind(magic: 0xEF53)
        #expect(verdict(.granted, ext4) == .noWriter)
        #expect(verdict(.refusedForWriter, ext4) == .writerOpen)
        #expect(verdict(.unavailable(.permissionDenied), ext4) == .unknown(.otherOwner))
        #expect(verdict(.unavailable(.noLocks), ext4) == .unknown(.refused(.noLocks)))
        for kind in [FileSystemKind(magic: 0x794C_7630), FileSystemKind(magic: 7)] {
            #expect(verdict(.granted, kind) == .unknown(.fileSystem(kind)))
            #expect(verdict(.refusedForWriter, kind) == .writerOpen)
        }
    }

    @Test("In an exported directory a granted lease proves nothing, and a refused one shows a writer")
    func exported() async {
        await #expect(processExitsWith: .success) {
            signal(SIGIO, SIG_IGN)
            let stage = try Stage()
            try systemCall("mkdir") { mkdir(stage.path("inbox/a b"), 0o755) }
            try stage.drop("a b/c.jpg", someBytes())
            let list = stage.path("etab")
            let table =
                "# Version 1.1\n" + stage.path("elsewhere") + "\t*(ro)\n" + stage.path("inbox/a\\040b") + "\t*(rw)\n"
            let file = fopen(list, "w")
            fputs(table, file)
            fclose(file)
            let probe = WriterProbe(exports: ExportedTrees(lists: [BytePath(list), "/nowhere/exports"]))
            let source = try stage.source("a b/c.jpg")
            guard probe.probe(source) == .unknown(.exported(BytePath(stage.path("inbox/a b")))) else {
                throw Unexpected()
            }
            if leasesDecide {
                let writer = try stage.inbox.openBeneath("a b/c.jpg", .readWrite)
                guard probe.probe(source) == .writerOpen else { throw Unexpected() }
                try writer.close()
            }
            // Outside of it, nothing changes.
            try stage.drop("d.jpg", someBytes())
            let beside = try stage.source("d.jpg")
            guard probe.probe(beside) == stage.probe.probe(beside) else { throw Unexpected() }
        }
    }

    @Test func writingProcessIsFound() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", [1])
        let path = BytePath(stage.path("inbox/a.jpg"))
        let reader = try stage.inbox.openBeneath("a.jpg", .read)
        #expect(!findWriters(of: path).contains { $0.pid == getpid() })
        let writer = try stage.inbox.openBeneath("a.jpg", .write)
        #expect(findWriters(of: path).contains { $0.pid == getpid() })
        _ = (reader.raw, writer.raw)
    }
}
