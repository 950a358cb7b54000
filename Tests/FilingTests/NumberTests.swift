import FileValues
import Filing
import Glibc
import LinuxKernel
import TestSupport
import Testing

@Suite("Thousands of files of one name", .timeLimit(.minutes(60)))
struct NumberTests {
    private let directory: BytePath = "2026/11"

    /// A library with `count` files that differ from `someBytes(64)`: `a.jpg`, `a-2.jpg` and so on.
    private func library(_ stage: Stage, holding count: Int, named name: BytePath = "a.jpg") throws -> DestinationRoot {
        let library = try stage.library()
        let place = try library.openDirectory(directory)
        for number in 0..<count { try make(FileNames.candidate(name, attempt: number), in: place) }
        return library
    }

    private func make(_ name: BytePath, in place: borrowing OwnedDescriptor) throws {
        try place.openBeneath(name, [.write, .createNew]).write(someBytes(64, seed: 0xFF), at: 0)
    }

    @Test("Each of 3,000 photos of one name and size is compared with one file and gets the next number")
    func linear() throws {
        let stage = try Stage(below: ScratchDirectory.quiet)
        let library = try stage.library()
        let count = 3_000
        // The reads of a comparison: one for each megabyte and one for the end of the file.
        var reads = 0
        var step = FilingStep.copy
        let work = FileWork {
            step = $0
        } shouldStop: {
            if step == .nameCopy { reads += 1 }
            return false
        }
        for number in 0..<count {
            try stage.drop("a.jpg", withUnsafeBytes(of: number) { Array($0) } + someBytes(64))
            let source = try stage.source("a.jpg")
            let placed = try place(source, by: stage.plan(source, directory: directory), in: library, work: work)
            #expect(placed.path == directory.appending(FileNames.candidate("a.jpg", attempt: number)))
            #expect(!placed.wasThere)
            #expect(unlink(stage.path("inbox/a.jpg")) == 0)
        }
        #expect(reads == 2 * (count - 1), "a comparison reads the bytes, and the end")
        #expect(try Set(stage.files("library").values).count == count)
    }

    @Test("A free number is found with few checks, wherever files were removed")
    func fewChecks() throws {
        var generator = SystemRandomNumberGenerator()
        for count in [1, 2, 3, 1_000, 1_000_000] {
            for removed in [0, 50, 2_000] {
                let free = Set((0..<removed).map { _ in Int.random(in: 1...count, using: &generator) })
                var checks = 0
                let isTaken = { (number: Int) in number <= count && !free.contains(number) }
                let number = FileNames.withFreeNumber {
                    isTaken($0) || $0 == 0 ? nil : $0
                } isFree: { number in
                    checks += 1
                    return !isTaken(number)
                }
                let found = try #require(number)
                #expect(!isTaken(found) && found <= count + 1)
                #expect(removed > 0 || found == count + 1)
                #expect(checks <= 42, "\(checks) of \(count)")
            }
        }
    }

    @Test("The search ends despite names created to defeat it, and despite programs that take free names first")
    func adversary() throws {
        // Doubling checks 1, 3, 7 and so on.
        let isTaken = { (number: Int) in (number + 1).nonzeroBitCount == 1 }
        let drawn = FileNames.withFreeNumber {
            isTaken($0) ? nil : $0
        } isFree: {
            !isTaken($0)
        }
        #expect(try #require(drawn) > 1_000_000)
        var rivals = 0
        let late = FileNames.withFreeNumber { (number: Int) -> Int? in
            rivals += 1
            return rivals > 20 ? number : nil
        } isFree: { _ in
            true
        }
        #expect(late == 20, "a taken number is not tried again")
        let never = FileNames.withFreeNumber { (_: Int) -> Int? in
            nil
        } isFree: { _ in
            true
        }
        #expect(never == nil)
    }

    @Test("An unrecorded copy with a large number is found, whatever lower numbers were removed")
    func recovery() throws {
        let stage = try Stage(below: ScratchDirectory.quiet)
        let library = try library(stage, holding: 1_500)
        try stage.drop("a.jpg", someBytes(64))
        let source = try stage.source("a.jpg")
        let plan = try stage.plan(source, directory: directory)
        let pending = PendingFiling(
            token: plan.token, source: source.path, identity: source.identity, hash: plan.hash, destination: plan.path,
            isRecorded: false)
        let recovery = Recovery(probe: stage.probe)
        #expect(try recovery.recover(pending, inbox: stage.inbox, library: library) == .undone)
        #expect(try place(source, by: plan, in: library).path == "2026/11/a-1501.jpg")
        for number in 20..<1_400 {
            #expect(unlink(stage.path("library/2026/11/\(FileNames.candidate("a.jpg", attempt: number))")) == 0)
        }
        for _ in 0..<2 {
            let found = try recovery.recover(pending, inbox: stage.inbox, library: library)
            #expect(found == .placed("2026/11/a-1501.jpg"))
        }
        let recorded = PendingFiling(
            token: plan.token, source: source.path, identity: source.identity, hash: plan.hash,
            destination: "2026/11/a-1501.jpg", isRecorded: true)
        #expect(try recovery.recover(recorded, inbox: stage.inbox, library: library) == .finished)
        #expect(try stage.files("library")["2026/11/a-1501.jpg"] == someBytes(64))
        #expect(try stage.files("inbox").isEmpty)
    }

    @Test("A sidecar's copy with a number before both extensions is found, also if its name was cut")
    func numbersInOtherPlaces() throws {
        let long = BytePath(String(repeating: "x", count: 247) + ".nef.xmp")
        for (name, after) in [("a.nef.xmp" as BytePath, 1), (long, 247)] {
            let stage = try Stage(below: ScratchDirectory.quiet)
            let library = try stage.library()
            let place = try library.openDirectory(directory)
            let stored = FileNames.candidate(name, attempt: 1_233, numberAfter: after)
            try stage.drop("a", someBytes(64))
            let source = try stage.source("a")
            try place.openBeneath(stored, [.write, .createNew]).write(someBytes(64), at: 0)
            // Others with the same extension.
            for other in ["-12.nef.xmp", "a-012.nef.xmp", "b-99.nef.xmp", "a-9999999999999999999999.nef.xmp"] {
                try make(BytePath(other), in: place)
            }
            let pending = PendingFiling(
                token: "t", source: source.path, identity: source.identity, hash: try source.hash(),
                destination: directory.appending(name), isRecorded: false, numberAfter: after)
            let found = try Recovery(probe: stage.probe).recover(pending, inbox: stage.inbox, library: library)
            #expect(found == .placed(directory.appending(stored)))
        }
    }

    @Test("A set gets one common number above a thousand")
    func set() throws {
        let stage = try Stage(below: ScratchDirectory.quiet)
        let library = try library(stage, holding: 1_200, named: "a.nef")
        let members = try (["a.jpg", "a.nef"] as [BytePath]).enumerated().map { index, name in
            try stage.drop(name, someBytes(64, seed: UInt8(index + 1)))
            let source = try stage.source(name)
            let plan = PlacementPlan(directory: directory, name: name, hash: try source.hash(), numberAfter: 1)
            return SetMember(source: source, plan: plan)
        }
        #expect(try place(members, in: library).map(\.path) == ["2026/11/a-1201.jpg", "2026/11/a-1201.nef"])
    }

    @Test("Names in quarantine, names of reason files, and restored names get numbers above a thousand")
    func elsewhere() throws {
        let stage = try Stage(below: ScratchDirectory.quiet)
        let root = try stage.quarantine()
        let card = try root.openDirectory("card")
        for number in 0..<1_200 { try make(FileNames.candidate("a.jpg", attempt: number), in: card) }
        #expect(try root.freeName(like: "a.jpg", in: "card", butNot: ["a-1201.jpg"]) == "a-1202.jpg")
        for number in 0..<1_200 { try make(FileNames.reason(for: "a.jpg", attempt: number), in: card) }
        let note = QuarantineNote(
            what: "x", why: "y", when: FileTime(seconds: 0, nanoseconds: 0), origin: "/inbox/a.jpg", advice: "z")
        #expect(try writeReason(note, besides: "card/a.jpg", in: root) == "card/a.jpg.reason-1201.txt")

        try stage.drop("a.jpg", someBytes(64))
        let source = try stage.source("a.jpg")
        guard case .moved(let moved) = try source.move(to: root, subdirectory: "card", probe: stage.probe) else {
            Issue.record("not moved")
            return
        }
        #expect(moved == "card/a-1201.jpg")

        for number in 0..<1_200 { try make(FileNames.candidate("b.jpg", attempt: number), in: stage.inbox) }
        try stage.inbox.openBeneath(FileNames.aside("t"), [.write, .createNew]).write(someBytes(64), at: 0)
        try Recovery(probe: stage.probe).bringBack("b.jpg", "t", in: stage.inbox)
        #expect(try stage.files("inbox")["b-1201.jpg"] == someBytes(64))
    }
}
