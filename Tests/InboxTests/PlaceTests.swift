import Catalogue
import FileValues
import Filing
import Glibc
import LibraryCare
import LinuxKernel
import TestSupport
import Testing

@testable import Ingest

@Suite("Places: whose they are, and where")
struct PlaceTests {
    @Test("A lock is one for each place and process, and over with its last holder unless it is held for good")
    func locks() async throws {
        let scratch = try ScratchDirectory()
        let directory = try openDirectory(scratch.bytePath)
        /// A program that another test starts has all open files for a moment, and so the lock of one that was closed just now.
        func hold(_ locks: PlaceLocks, forGood: Bool) async throws {
            try await poll {
                do { _ = try locks.hold(directory, at: "a", forGood: forGood) } catch { return "\(error)" }
                return nil
            } until: { (failure: String?) in
                failure == nil
            }
        }
        // flock(2) goes by open file, so one process can stand for two.
        let (ours, theirs) = (PlaceLocks(), PlaceLocks())
        do {
            let held = try ours.hold(directory, at: "a", forGood: false)
            #expect(try ours.hold(directory, at: "a", forGood: false) === held)
            let taken = #expect(throws: PlaceLock.Taken.self) { try theirs.hold(directory, at: "a", forGood: true) }
            #expect(taken?.process == getpid())
            withExtendedLifetime(held) {}
        }
        try await hold(theirs, forGood: true)
        #expect(throws: PlaceLock.Taken.self) { try ours.hold(directory, at: "a", forGood: false) }
        theirs.release(allBut: ["a"])
        #expect(throws: PlaceLock.Taken.self) { try ours.hold(directory, at: "a", forGood: false) }
        theirs.release(allBut: [])
        try await hold(ours, forGood: false)
    }

    @Test(
        "A library is locked by several daemons if all share a catalogue, and against others", arguments: [0, 5, .max])
    func sharedLocks(_ number: UInt64) throws {
        let scratch = try ScratchDirectory()
        let directory = try openDirectory(scratch.bytePath)
        let (one, other, alone) = (PlaceLocks(), PlaceLocks(), PlaceLocks())
        _ = try one.hold(directory, at: "a", forGood: true, sharing: number)
        _ = try other.hold(directory, at: "a", forGood: true, sharing: number)
        #expect(throws: PlaceLock.Taken.self) { try alone.hold(directory, at: "a", forGood: true) }
        for number in [number &+ 4, number &- 4] {
            let taken = #expect(throws: PlaceLock.Taken.self) {
                try alone.hold(directory, at: "a", forGood: true, sharing: number)
            }
            #expect(taken?.description == "photoinboxd uses it with another catalogue")
        }
    }

    @Test("A place on a file system that is not mounted is not made, and a move into it is not forgotten")
    func placeAway() async throws {
        let scratch = try ScratchDirectory()
        let house = try WorkerHouse(scratch.path)
        let quarantine = house.worker.places.quarantine
        try house.catalogue.remember(
            KnownLibrary(path: quarantine, fileSystemType: 0x6969, fileSystem: 0, inode: 1), at: Moment.now.wall)
        let move = MoveRecord(
            token: "t", since: Moment.now.wall, inbox: "card", path: "a.jpg", root: quarantine,
            destination: "card/a.jpg", outcome: .quarantined, reason: "cut short",
            sha256: Array(repeating: 7, count: 32), photoID: nil,
            identity: FileIdentity(
                inode: 1, size: 1, modified: FileTime(seconds: 1, nanoseconds: 0),
                changed: FileTime(seconds: 1, nanoseconds: 0)))
        _ = try house.catalogue.beginMove(move)
        _ = await house.worker.recover()
        #expect(try house.catalogue.pendingMoves(inbox: "card").count == 1)
        #expect(throws: SystemCallError.self) { try FileStatus(at: quarantine) }
        // On somebody's word it is another one from now on.
        try house.catalogue.forgetLibrary(at: quarantine)
        _ = await house.worker.recover()
        #expect(try house.catalogue.pendingMoves(inbox: "card").isEmpty)
    }

    @Test("A place that was never there is not made while the library is away")
    func newPlace() throws {
        let scratch = try ScratchDirectory()
        let house = try WorkerHouse(scratch.path)
        let libraryGuard = LibraryGuard(house.catalogue)
        let (library, place) = (BytePath("\(scratch.path)/library"), BytePath("\(scratch.path)/q"))
        #expect(try libraryGuard.checkPlace(place, toBeMadeBeside: library) == nil)
        #expect(rmdir("\(scratch.path)/library") == 0)
        #expect(throws: LibraryGuard.PlaceAway.self) { try libraryGuard.checkPlace(place, toBeMadeBeside: library) }
    }
}
