import FileValues
import Filing
import Glibc
import LinuxKernel
import PhotoModel
import TestSupport
import Testing

@testable import Catalogue
@testable import Ingest

private let day = "2024/01/2024-01-31"

@Suite("A set is filed as one, or not at all", .tags(.campaign), .serialized)
struct SetFilingTests {
    private func house(_ extra: String = "") throws -> (ScratchDirectory, WorkerHouse) {
        let scratch = try ScratchDirectory()
        return (scratch, try WorkerHouse(scratch.path, extra: extra))
    }

    private func photos(_ house: WorkerHouse) throws -> [StoredPhoto] {
        try house.catalogue.photos(matching: PhotoFilter(), limit: 100)
    }

    @Test func allAreFiledUnderOneNumber() async throws {
        let (scratch, house) = try house()
        try house.drop()
        let conclusions = await house.file(WorkerHouse.set.keys)
        #expect(conclusions.allSatisfy { $0.verdict == .ended(.filed) }, "\(conclusions.map(\.verdict))")
        let library = house.files("library")
        for (name, fixture) in WorkerHouse.set {
            #expect(library["\(day)/\(name)"] == (try WorkerHouse.content(fixture)))
        }
        #expect(house.files("inbox").isEmpty && library.count == 3)
        let rows = try photos(house)
        #expect(Set(rows.map(\.setID)).count == 1 && rows.allSatisfy { $0.setID != nil })
        #expect(Set(rows.map(\.photo.part.role)) == ["picture", "raw", "sidecar"])
        #expect(try house.catalogue.pendingIntents().isEmpty)
        withExtendedLifetime(scratch) {}
    }

    @Test("A name that is taken gives all the same number")
    func collision() async throws {
        let (scratch, house) = try house()
        try runProgram(["/bin/mkdir", "-p", "\(house.root)/library/\(day)"])
        try runProgram(["/bin/cp", "/etc/hostname", "\(house.root)/library/\(day)/IMG_1.nef"])
        try house.drop()
        await house.file(WorkerHouse.set.keys)
        let names = house.files("library").keys.sorted()
        #expect(
            names
                == ["IMG_1-2.jpg", "IMG_1-2.nef", "IMG_1-2.nef.xmp", "IMG_1.nef"].map { "\(day)/\($0)" })
        withExtendedLifetime(scratch) {}
    }

    @Test("A late sidecar whose name is taken gets a number of its own, and the photos that come with it none")
    func lateSidecars() async throws {
        let (scratch, house) = try house()
        try house.drop(["IMG_1.jpg": "exif.jpg"])
        await house.file(["IMG_1.jpg"])
        for name in ["IMG_1.jpg.xmp", "IMG_1.jpg-3.xmp"] {
            try runProgram(["/bin/cp", "/etc/hostname", "\(house.root)/library/\(day)/\(name)"])
        }
        let late = ["IMG_1.nef": "mosaic.nef", "IMG_1.jpg.xmp": "<x:xmpmeta></x:xmpmeta>", "IMG_1.jpg-3.xmp": "<a/>"]
        try house.drop(late)
        let conclusions = await house.file(late.keys)
        #expect(conclusions.allSatisfy { $0.verdict == .ended(.filed) }, "\(conclusions.map(\.verdict))")
        let rows = try photos(house)
        #expect(
            rows.map { $0.photo.libraryPath.name }.sorted()
                == ["IMG_1.jpg", "IMG_1.jpg-2.xmp", "IMG_1.jpg-4.xmp", "IMG_1.nef"])
        #expect(Set(rows.map(\.setID)).count == 1 && rows.allSatisfy { $0.setID != nil })
        withExtendedLifetime(scratch) {}
    }

    @Test("A member that the library has is a duplicate by itself; the others go beside its photo")
    func duplicateMember() async throws {
        let (scratch, house) = try house()
        try house.drop(["first.jpg": "exif.jpg"])
        await house.file(["first.jpg"])
        try house.drop()
        let conclusions = await house.file(WorkerHouse.set.keys)
        let outcomes = Dictionary(
            uniqueKeysWithValues: conclusions.compactMap { $0.record }.map { ($0.key.path.escaped, $0.outcome) })
        #expect(outcomes == ["IMG_1.jpg": .duplicate, "IMG_1.nef": .filed, "IMG_1.nef.xmp": .filed])
        #expect(conclusions.flatMap(\.symptoms).isEmpty)
        let names = house.files("library").keys.sorted()
        #expect(names == ["IMG_1.nef", "IMG_1.nef.xmp", "first.jpg"].map { "\(day)/\($0)" })
        #expect(Set(try photos(house).map(\.setID)).count == 1)
        #expect(house.files("duplicates").count == 1 && house.files("inbox").isEmpty)
        withExtendedLifetime(scratch) {}
    }

    @Test("Two photos may have sidecars of the same bytes; one photo has them once")
    func equalSidecars() async throws {
        let (scratch, house) = try house()
        let text = "<x:xmpmeta></x:xmpmeta>"
        try house.drop(["a.jpg": "exif.jpg", "a.xmp": text, "b.jpg": "rocket.jpg", "b.xmp": text])
        await house.file(["a.jpg", "a.xmp"])
        await house.file(["b.jpg", "b.xmp"])
        #expect(house.files("library").count == 4 && house.files("duplicates").isEmpty)
        try house.drop(["a.xmp": text])
        let again = await house.file(["a.xmp"])
        #expect(again.map(\.verdict) == [.ended(.duplicate)])
        try house.drop(["a.xmp": "<x:xmpmeta>newer</x:xmpmeta>"])
        await house.file(["a.xmp"])
        #expect(house.files("library").keys.filter { $0.hasSuffix(".xmp") }.count == 3, "nothing is overwritten")
        try house.drop(["a.jpg.xmp": text])
        let other = await house.file(["a.jpg.xmp"])
        #expect(other.map(\.verdict) == [.ended(.filed)], "the other spelling is another sidecar")
        withExtendedLifetime(scratch) {}
    }

    @Test("A sidecar whose copy is lost is filed again in its place")
    func lostSidecar() async throws {
        let (scratch, house) = try house()
        try house.drop()
        await house.file(WorkerHouse.set.keys)
        unlink("\(house.root)/library/\(day)/IMG_1.nef.xmp")
        try house.drop()
        let conclusions = await house.file(WorkerHouse.set.keys)
        #expect(Set(conclusions.map(\.verdict)) == [.ended(.duplicate), .ended(.filed)])
        #expect(house.files("library").count == 3 && house.files("inbox").isEmpty)
        let rows = try photos(house)
        #expect(rows.count == 3 && Set(rows.map(\.setID)).count == 1, "\(rows.map(\.photo.libraryPath))")
        withExtendedLifetime(scratch) {}
    }

    @Test("A sidecar that comes after its photos were set aside as duplicates is one, too, or is filed beside theirs")
    func lateSidecarOfDuplicates() async throws {
        let (scratch, house) = try house()
        try house.drop()
        await house.file(WorkerHouse.set.keys)
        let again = ["copy.jpg": "exif.jpg", "copy.nef": "mosaic.nef"]
        try house.drop(again)
        #expect(await house.file(again.keys).allSatisfy { $0.verdict == .ended(.duplicate) })
        try house.drop(["copy.xmp": "<edited/>"])
        #expect(await house.file(["copy.xmp"]).map(\.verdict) == [.ended(.filed)])
        try house.drop(["copy.xmp": "<edited/>"])
        #expect(await house.file(["copy.xmp"]).map(\.verdict) == [.ended(.duplicate)])
        let rows = try photos(house)
        #expect(rows.count == 4 && Set(rows.map(\.setID)).count == 1, "\(rows.map(\.photo.libraryPath))")
        withExtendedLifetime(scratch) {}
    }

    @Test("Of a set that is known, no photo is set aside before its sidecars are: alone they would be taken for strays")
    func duplicateSidecarFails() async throws {
        let (scratch, house) = try house()
        try house.drop()
        await house.file(WorkerHouse.set.keys)
        try house.drop()
        let sidecar = "IMG_1.nef.xmp".utf8.map { String($0, radix: 16) }.joined()
        try house.catalogue.write("failing") { db in
            try db.run(
                """
                CREATE TRIGGER fails BEFORE INSERT ON move WHEN hex(NEW.path) = upper('\(sidecar)')
                BEGIN SELECT RAISE(ABORT, 'no move of this'); END
                """)
        }
        for conclusion in await house.file(WorkerHouse.set.keys) {
            guard case .defer(let reason) = conclusion.verdict, reason.contains("no move of this") else {
                Issue.record("\(conclusion.verdict)")
                continue
            }
        }
        #expect(house.files("inbox").count == 3 && house.files("duplicates").isEmpty)
        try house.catalogue.write("healing") { db in try db.run("DROP TRIGGER fails") }
        let conclusions = await house.file(WorkerHouse.set.keys)
        #expect(conclusions.map(\.verdict) == Array(repeating: .ended(.duplicate), count: 3))
        #expect(house.files("inbox").isEmpty && house.files("duplicates").count == 3)
        withExtendedLifetime(scratch) {}
    }

    @Test("A sidecar without its photo stays, unrecorded, and goes with it later")
    func loneSidecar() async throws {
        let (scratch, house) = try house()
        try house.drop(["IMG_1.nef.xmp": "<x:xmpmeta></x:xmpmeta>"])
        let lone = await house.file(["IMG_1.nef.xmp"])
        #expect(lone.map(\.verdict) == [.ended(.ignored)])
        #expect(house.files("inbox").count == 1 && house.files("library").isEmpty)
        try house.drop()
        await house.file(WorkerHouse.set.keys)
        #expect(house.files("library").count == 3)
        withExtendedLifetime(scratch) {}
    }

    @Test("Another shot of the same name is no late member")
    func wrappedNumbers() async throws {
        let (scratch, house) = try house()
        try house.drop(["IMG_1.jpg": "exif.jpg"])
        await house.file(["IMG_1.jpg"])
        // The film's clock says the same moment, the other picture's is of the same format.
        try house.drop(["IMG_1.jpg": "rocket.jpg"])
        await house.file(["IMG_1.jpg"])
        try house.drop(["IMG_1.mov": "live.mov"])
        await house.file(["IMG_1.mov"])
        let rows = try photos(house).sorted { $0.id < $1.id }
        #expect(rows.map(\.setID) == [nil, rows[1].id, rows[1].id], "the film joins the newest of that name")
        withExtendedLifetime(scratch) {}
    }

    @Test("With copies of which one cannot be made, nothing is filed")
    func failureBeforeTheCommit() async throws {
        let (scratch, house) = try house()
        try house.drop()
        // The RAW is gone when its copy is compared with it.
        let root = house.root
        let seen = Locked(0)
        let conclusions = await house.file(WorkerHouse.set.keys) { step in
            guard step == FilingStep.verifyCopy.words,
                seen.withLock({
                    $0 += 1; return $0
                }) == 2
            else { return }
            unlink("\(root)/inbox/IMG_1.nef")
        }
        #expect(conclusions.allSatisfy { if case .defer = $0.verdict { true } else { false } })
        #expect(house.files("library").isEmpty && house.files("inbox").count == 2)
        #expect(try photos(house).isEmpty)
        // The intents stay until recovery has seen that nothing is left.
        _ = await house.worker.recover()
        #expect(try house.catalogue.pendingIntents().isEmpty && photos(house).isEmpty)
        #expect(house.files("library").isEmpty && house.files("inbox").count == 2)
        withExtendedLifetime(scratch) {}
    }

    @Test("Killed before any step, recovered twice: all of the set or nothing of it")
    func killedAtEachStep() async throws {
        let counted = Locked(0)
        do {
            let (scratch, house) = try house()
            try house.drop()
            await house.file(WorkerHouse.set.keys) { _ in counted.withLock { $0 += 1 } }
            withExtendedLifetime(scratch) {}
        }
        let steps = counted.withLock { $0 }
        #expect(steps > 30, "three files, each with its own steps")
        var undone = 0
        for step in 1...steps {
            let scratch = try ScratchDirectory()
            let root = scratch.path
            _ = try WorkerHouse(root).drop()
            await #expect(processExitsWith: .signal(SIGKILL)) { [root = root as String, step = step as Int] in
                let house = try WorkerHouse(root)
                let left = Locked(step)
                await house.file(WorkerHouse.set.keys) { _ in
                    if left.withLock({
                        $0 -= 1; return $0
                    }) == 0 {
                        kill(getpid(), SIGKILL)
                    }
                }
            }
            let house = try WorkerHouse(root)
            var whole = Array(house.files("inbox").values) + Array(house.files("library").values)
            for fixture in WorkerHouse.set.values {
                #expect(whole.contains(try WorkerHouse.content(fixture)), "\(fixture) at step \(step)")
            }
            for _ in 0..<2 {
                #expect(await house.worker.recover().isEmpty)
                let (inbox, library) = (house.files("inbox"), house.files("library"))
                let rows = try photos(house)
                #expect(try house.catalogue.pendingIntents().isEmpty)
                #expect(
                    inbox.count == 3 && library.isEmpty && rows.isEmpty
                        || inbox.isEmpty && library.count == 3 && rows.count == 3,
                    "step \(step): \(inbox.keys.sorted()), \(library.keys.sorted()), \(rows.count) rows")
                #expect(Set(rows.map(\.setID)).count <= 1)
                whole = Array(inbox.values) + Array(library.values)
                #expect(Set(whole) == Set(try WorkerHouse.set.values.map { try WorkerHouse.content($0) }))
            }
            if try photos(house).isEmpty {
                undone += 1
                await house.file(WorkerHouse.set.keys)
                #expect(house.files("library").keys.sorted() == WorkerHouse.set.keys.sorted().map { "\(day)/\($0)" })
            }
        }
        #expect(undone > 20 && undone < steps, "\(undone) of \(steps)")
    }

    @Test("Undone, a copy whose source is gone stays and is recorded")
    func onlyCopyLeft() async throws {
        let (scratch, house) = try house()
        try house.drop()
        let root = house.root
        // As if killed with two names given: the third is missing.
        await #expect(processExitsWith: .signal(SIGKILL)) { [root = root as String] in
            let house = try WorkerHouse(root)
            let named = Locked(0)
            await house.file(WorkerHouse.set.keys) { step in
                guard step == FilingStep.nameCopy.words else { return }
                if named.withLock({
                    $0 += 1; return $0
                }) == 3 {
                    kill(getpid(), SIGKILL)
                }
            }
        }
        #expect(house.files("library").count == 2)
        unlink("\(root)/inbox/IMG_1.jpg")
        for _ in 0..<2 {
            _ = await house.worker.recover()
            #expect(house.files("library").keys.sorted() == ["\(day)/IMG_1.jpg"])
            #expect(house.files("inbox").keys.sorted() == ["IMG_1.nef", "IMG_1.nef.xmp"])
            #expect(try photos(house).map(\.photo.originalName) == ["IMG_1.jpg"])
            #expect(try house.catalogue.pendingIntents().isEmpty)
        }
        withExtendedLifetime(scratch) {}
    }

    @Test(
        "Killed while a photo takes the place of one whose copy is lost, recovered twice: one copy, and its row",
        arguments: [
            ["again.jpg": "exif.jpg"],  // of the same content
            ["first.jpg": "live.jpg"],  // of the same name
            WorkerHouse.set.merging(["first.jpg": "live.jpg"]) { $1 },
        ], [true, false])
    func replacementKilledAtEachStep(_ later: [String: String], isKept: Bool) async throws {
        /// Files a photo, and takes its copy out of the library behind the catalogue's back.
        @Sendable func lose(_ house: WorkerHouse) async throws {
            try house.drop(["first.jpg": "exif.jpg"])
            await house.file(["first.jpg"])
            #expect(unlink("\(house.root)/library/\(day)/first.jpg") == 0)
            try house.drop(later)
        }
        let reached = Locked<[String]>([])
        do {
            let (scratch, house) = try house()
            try await lose(house)
            await house.file(later.keys) { step in reached.withLock { $0.append(step) } }
            withExtendedLifetime(scratch) {}
        }
        let steps = reached.withLock { $0 }
        let named = try #require(steps.firstIndex(of: FilingStep.nameCopy.words))
        let contents = try later.mapValues { try WorkerHouse.content($0) }
        for step in named + 1...steps.count {
            let scratch = try ScratchDirectory()
            let root = scratch.path
            try await lose(try WorkerHouse(root))
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [root = root as String, step = step as Int, names = Array(later.keys) as [String]] in
                let house = try WorkerHouse(root)
                let left = Locked(step)
                await house.file(names) { _ in
                    if left.withLock({
                        $0 -= 1; return $0
                    }) == 0 {
                        kill(getpid(), SIGKILL)
                    }
                }
            }
            let house = try WorkerHouse(root)
            // Whoever brought it may take it away again, as soon as there is a copy.
            if !isKept {
                for name in house.files("library").keys { unlink("\(root)/inbox/\(name.dropFirst(day.count + 1))") }
            }
            for _ in 0..<2 {
                #expect(await house.worker.recover().isEmpty)
                let (inbox, library) = (house.files("inbox"), house.files("library"))
                let rows = try photos(house).map(\.photo.libraryPath.escaped).filter { library[$0] != nil }
                #expect(try house.catalogue.pendingIntents().isEmpty)
                let known = "step \(step): \(inbox.keys), \(library.keys), rows \(rows)"
                #expect(Set(rows) == Set(library.keys) && rows.count == library.count, "\(known)")
                var places = inbox
                for (path, content) in library {
                    #expect(
                        places.updateValue(content, forKey: String(path.dropFirst(day.count + 1))) == nil, "\(known)")
                }
                #expect(places == contents, "\(known)")
            }
        }
    }
}
