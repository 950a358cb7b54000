import FileValues
import Filing
import Glibc
import LinuxKernel
import Testing

@Suite("Only a regular file with one name is a source")
struct SourceFileTests {
    func refusal(_ path: BytePath, _ stage: Stage) -> SourceRefusal? {
        do throws(FilingError) {
            _ = try SourceFile(path, beneath: stage.inbox)
            return nil
        } catch {
            guard case .refused(let refusal) = error.cause else { return nil }
            return refusal
        }
    }

    @Test func entriesOfOtherKindsAreRefusedWithTheirKind() throws {
        let stage = try Stage()
        try stage.drop("photo.jpg", [1])
        try stage.drop("two.jpg", [2])
        #expect(link(stage.path("inbox/two.jpg"), stage.path("inbox/three.jpg")) == 0)
        #expect(symlink("photo.jpg", stage.path("inbox/link.jpg")) == 0)
        #expect(symlink(".", stage.path("inbox/way")) == 0)
        #expect(mkfifo(stage.path("inbox/fifo.jpg"), 0o600) == 0)
        #expect(mkdir(stage.path("inbox/directory.jpg"), 0o700) == 0)
        #expect(refusal("two.jpg", stage) == .hardLinks(2))
        #expect(refusal("link.jpg", stage) == .symbolicLink)
        #expect(refusal("fifo.jpg", stage) == .fifo)
        #expect(refusal("directory.jpg", stage) == .directory)
        #expect(refusal("nothing.jpg", stage) == .gone)
        #expect(refusal("way/photo.jpg", stage) != nil)
        #expect(refusal("photo.jpg/x", stage) == .gone)
        #expect(try stage.source("photo.jpg").identity.size == 1)
    }

    @Test func devicesAreRefusedUnopened() throws {
        let devices = try openDirectory("/dev")
        #expect(throws: FilingError(.openSource, .source, .refused(.device), path: "null")) {
            _ = try SourceFile("null", beneath: devices)
        }
    }

    @Test(
        "Every change after opening is detected", arguments: ["write", "mode", "rename", "replace", "link", "unlink"])
    func changes(how: String) throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        let source = try stage.source("a.jpg")
        try source.requireUnchanged(.checkSource)
        let path = stage.path("inbox/a.jpg")
        switch how {
        case "write": try stage.inbox.openBeneath("a.jpg", .write).write([9], at: 10_000)
        case "mode": #expect(chmod(path, 0o600) == 0)
        case "rename": #expect(rename(path, path + "x") == 0)
        case "replace":
            try stage.drop("b.jpg", someBytes())
            #expect(rename(stage.path("inbox/b.jpg"), path) == 0)
        case "link": #expect(link(path, path + "x") == 0)
        default: #expect(unlink(path) == 0)
        }
        do {
            try source.requireUnchanged(.checkSource)
            Issue.record("not detected: \(how)")
        } catch {
            guard case .sourceChanged = error.cause else {
                Issue.record(error)
                return
            }
            #expect(error.isTransient)
        }
    }

    @Test func hashOfAGrowingFileFails() throws {
        let stage = try Stage()
        try stage.drop("a.jpg", someBytes())
        let source = try stage.source("a.jpg")
        let file = try stage.inbox.openBeneath("a.jpg", .write)
        let work = FileWork(shouldStop: {
            try? file.write([1], at: 10_000)
            return false
        })
        #expect(throws: FilingError(.hashSource, .source, .sourceChanged("its size"), path: "a.jpg")) {
            _ = try source.hash(work)
        }
    }

    @Test func hashesAreSHA256() throws {
        let stage = try Stage()
        try stage.drop("abc", Array("abc".utf8))
        try stage.drop("empty", [])
        #expect(
            try stage.source("abc").hash().description
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            try stage.source("empty").hash().description
                == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    }
}
