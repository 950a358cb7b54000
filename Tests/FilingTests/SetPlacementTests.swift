import FileValues
import Filing
import Glibc
import LinuxKernel
import Testing

@Suite("A set is placed with one number, or not at all")
struct SetPlacementTests {
    private static let names: [BytePath] = ["a.jpg", "a.nef", "a.nef.xmp"]

    private func members(_ stage: Stage) throws -> [SetMember] {
        for (index, name) in Self.names.enumerated() { try stage.drop(name, someBytes(seed: UInt8(index + 1))) }
        return try Self.names.map { name in
            let source = try stage.source(name)
            let plan = PlacementPlan(
                directory: "2026/11", name: name, hash: try source.hash(), numberAfter: 1)
            return SetMember(source: source, plan: plan)
        }
    }

    private func expected(_ number: String) -> [BytePath: [UInt8]] {
        var files: [BytePath: [UInt8]] = [:]
        for (index, ending) in [".jpg", ".nef", ".nef.xmp"].enumerated() {
            files[BytePath("2026/11/a\(number)\(ending)")] = someBytes(seed: UInt8(index + 1))
        }
        return files
    }

    @Test("A set is placed with every set of system calls", arguments: PlacementTests.everyMeans)
    func allAtOnce(means: PlacementMeans) throws {
        let stage = try Stage()
        let placed = try place(try members(stage), in: stage.library(means))
        #expect(placed.map(\.path) == Self.names.map { BytePath("2026/11").appending($0) })
        #expect(try stage.files("library") == expected(""))
        #expect(try stage.files("inbox").count == 3, "sources are only read")
    }

    @Test("A set of which one name is taken gets the next number", arguments: PlacementTests.everyMeans)
    func taken(means: PlacementMeans) throws {
        let stage = try Stage()
        let library = try stage.library(means)
        let directory = try library.openDirectory("2026/11")
        try directory.openBeneath("a.nef.xmp", [.write, .createNew]).write([7], at: 0)
        try directory.openBeneath("a-2.nef", [.write, .createNew]).write([8], at: 0)
        _ = try place(try members(stage), in: library)
        var files = expected("-3")
        files["2026/11/a.nef.xmp"] = [7]
        files["2026/11/a-2.nef"] = [8]
        #expect(try stage.files("library") == files)
    }

    @Test("A set of which a name is taken during naming is named again", arguments: PlacementTests.everyMeans)
    func takenMeanwhile(means: PlacementMeans) throws {
        let stage = try Stage()
        let library = try stage.library(means)
        let members = try members(stage)
        let directory = try library.openDirectory("2026/11")
        var named = 0
        let work = FileWork(willEnter: { step in
            guard step == .nameCopy else { return }
            named += 1
            if named == 3 { try? directory.openBeneath("a.nef.xmp", [.write, .createNew]).write([7], at: 0) }
        })
        _ = try place(members, in: library, work: work)
        var files = expected("-2")
        files["2026/11/a.nef.xmp"] = [7]
        #expect(try stage.files("library") == files)
    }

    @Test(
        "An equal file under a wanted name counts as the copy, and the set gets no number",
        arguments: PlacementTests.everyMeans
    )
    func adopted(means: PlacementMeans) throws {
        let stage = try Stage()
        let library = try stage.library(means)
        let directory = try library.openDirectory("2026/11")
        try directory.openBeneath("a.nef", [.write, .createNew]).write(someBytes(seed: 2), at: 0)
        let placed = try place(try members(stage), in: library)
        #expect(placed.map(\.wasThere) == [false, true, false])
        #expect(try stage.files("library") == expected(""))
    }

    @Test("A set of which a source disappears leaves no file", arguments: PlacementTests.everyMeans, 1...3)
    func failures(means: PlacementMeans, failing: Int) throws {
        let stage = try Stage()
        let members = try members(stage)
        var checked = 0
        let work = FileWork(willEnter: { step in
            guard step == .checkSource else { return }
            checked += 1
            if checked == failing { _ = unlink(stage.path("inbox/\(Self.names[failing - 1])")) }
        })
        #expect(throws: FilingError.self) { try place(members, in: stage.library(means), work: work) }
        #expect(try stage.files("library").isEmpty)
        #expect(try stage.files("inbox").count == 2)
    }

    @Test func copyIsRemovedOnlyIfItsSourceExists() throws {
        let stage = try Stage()
        let library = try stage.library()
        let members = try members(stage)
        let placed = try place(members, in: library)
        let recovery = Recovery(probe: stage.probe)
        func pending(_ index: Int) -> PendingFiling {
            let (source, plan) = (members[index].source, members[index].plan)
            return PendingFiling(
                token: plan.token, source: source.path, identity: source.identity, hash: plan.hash,
                destination: plan.path, isRecorded: false, numberAfter: plan.numberAfter)
        }
        #expect(unlink(stage.path("inbox/a.jpg")) == 0)
        try stage.inbox.openBeneath("a.nef", .write).write([7], at: 0)
        func takeBack(_ index: Int) throws -> Bool {
            try recovery.takeBack(pending(index), at: placed[index].path, inbox: stage.inbox, in: library)
        }
        #expect(try !takeBack(0))
        #expect(try !takeBack(1), "other bytes")
        #expect(try stage.files("library").count == 3)
        for _ in 0..<2 {
            #expect(try takeBack(2))
            #expect(try stage.files("library").keys.sorted() == ["2026/11/a.jpg", "2026/11/a.nef"])
        }
        // A file with other content is not its copy.
        try stage.library().openDirectory("2026/11").openBeneath("a.nef.xmp", [.write, .createNew]).write([9], at: 0)
        _ = try takeBack(2)
        #expect(try stage.files("library").count == 3)
    }

    @Test("A number follows the common stem of a set, and names are cut to 255 bytes")
    func numbers() {
        #expect(FileNames.candidate("a.nef.xmp", attempt: 1, numberAfter: 1) == "a-2.nef.xmp")
        #expect(FileNames.candidate("a.nef.xmp", attempt: 0, numberAfter: 1) == "a.nef.xmp")
        let long = BytePath(String(repeating: "x", count: 240) + ".nef.xmp")
        let name = FileNames.candidate(long, attempt: 11, numberAfter: 240)
        #expect(name.bytes.count <= 255 && name.bytes.suffix(11).elementsEqual("-12.nef.xmp".utf8))
    }
}
