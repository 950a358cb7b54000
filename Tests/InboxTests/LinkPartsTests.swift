import ControlProtocol
import Fetching
import FileValues
import Filing
import Foundation
import Glibc
import HTTPValues
import LinuxKernel
import Settings
import TestSupport
import Testing

@testable import Links

@Suite("What is kept and written of files of links")
struct LinkPartsTests {
    private let scratch: ScratchDirectory
    private var inbox: BytePath { BytePath(scratch.path) }

    init() throws { scratch = try ScratchDirectory() }

    private let identity = FileIdentity(
        inode: .max, size: 7, modified: FileTime(seconds: -1, nanoseconds: 5),
        changed: FileTime(seconds: 9, nanoseconds: 999_999_999))

    private func write(_ text: String, _ name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: scratch.appending(name)))
    }

    private func text(_ name: BytePath) -> String? {
        try? String(contentsOfFile: "\(scratch.path)/\(name)", encoding: .utf8)
    }

    @Test func progressComesBackAsItWasWritten() {
        var progress = LinkProgress(identity: identity, total: 4)
        var bytes = progress.head
        bytes += progress.note(2, FetchEnd(.arrived, "fetch-1/a.jpg"))
        bytes += progress.note(0, FetchEnd(.failed, "status 404\n3 arrived"))
        #expect(progress.note(1, FetchEnd(.cancelled, "cancelled")).isEmpty)
        #expect(progress.note(4, FetchEnd(.arrived, "")).isEmpty)
        #expect(LinkProgress(bytes) == progress)
        #expect(progress.arrived == 1 && progress.failed == 1 && !progress.isComplete)
        // A line that a crash has cut off says nothing, wherever it was cut.
        let whole = bytes.count
        bytes += progress.note(3, FetchEnd(.arrived, ""))
        for length in whole..<bytes.count { #expect(LinkProgress(Array(bytes[..<length]))?.ends[3] == nil) }
        #expect(LinkProgress(bytes)?.ends[3] == .arrived)
    }

    @Test func hostileProgressIsNoneOrBounded() {
        var generator = SystemRandomNumberGenerator()
        var progress = LinkProgress(identity: identity, total: 3)
        let sound = progress.head + progress.note(1, FetchEnd(.failed, "x")) + progress.note(0, FetchEnd(.arrived, ""))
        for _ in 0..<3_000 {
            var bytes = sound
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            guard let read = LinkProgress(bytes) else { continue }
            #expect((0...FetchLimits.mostAddresses).contains(read.total) && read.ends.count <= read.total)
        }
        #expect(LinkProgress([]) == nil && LinkProgress(Array("1 2 3\n".utf8)) == nil)
        #expect(LinkLedger(json: Array("{}".utf8)) == nil && LinkLedger(json: [0xFF]) == nil)
    }

    @Test func theStoreKeepsWhatItIsGiven() throws {
        let store = LinkStore(state: inbox)
        #expect(try store.ledger() == nil && store.progress(1) == nil)
        var ledger = LinkLedger(place: 8)
        ledger.open = [LinkItem(operation: 8, inbox: "web", path: [0xFF, 0x2F, 0x61])]
        try store.save(ledger)
        #expect(try store.ledger() == ledger)
        var progress = LinkProgress(identity: identity, total: 2)
        try store.begin(8, progress)
        try store.begin(9, progress)
        try store.add(progress.note(1, FetchEnd(.arrived, "")), to: 8)
        try store.add(Array("0 arr".utf8), to: 8)
        #expect(try store.progress(8) == progress)
        // What was cut off is not joined by what comes after it.
        try store.add(progress.note(0, FetchEnd(.failed, "y")), to: 8)
        #expect(try store.progress(8) == progress)
        store.removeAll(but: [8])
        #expect(try store.progress(9) == nil && store.progress(8) != nil && store.ledger() != nil)
        store.removeAll(but: nil)
        #expect(try store.progress(8) == nil && store.ledger() == nil)
    }

    @Test func aNoteIsAListOfWhatFailed() throws {
        let address = try WebAddress("http://a.org/1.jpg")
        let note = LinkNote(
            "trip.links", failed: [(address, "status 404")], [LinkOrder.Refusal(line: 3, reason: "not http or https")])
        let lines = try LinkFile.links.read(Array(note.text.utf8))
        #expect(try lines.map { try $0.address.get() } == [address])
        #expect(note.text.contains("# status 404\n") && note.text.contains("# line 3: not http or https\n"))
        let refusal = LinkNote(refusing: BytePath([0x1B, 0x5B]), "it contains no address")
        #expect(refusal.text.utf8.allSatisfy { $0 == 0x0A || $0 >= 0x20 })
        #expect(throws: LinkFileRefusal.self) { try LinkFile.links.read(Array(refusal.text.utf8)) }
    }

    @Test func notesOfOthersAreNotOverwritten() throws {
        let note = LinkNote(refusing: "a.url", "it contains no address")
        try write("mine", "a.url.failed")
        #expect(try LinkEnd.write(note, besides: "a.url", in: inbox) == "a-2.url.failed")
        // Once more, after a crash.
        #expect(try LinkEnd.write(note, besides: "a.url", in: inbox) == "a-2.url.failed")
        #expect(text("a.url.failed") == "mine" && text("a-2.url.failed") == note.text)
        let long = BytePath(String(repeating: "x", count: 250) + ".url")
        #expect(try LinkEnd.write(note, besides: long, in: inbox) == "long-name.url.failed")
    }

    @Test func whatIsSetAsideGoesOutOfSightUnchanged() throws {
        mkdir(scratch.appending("day"), 0o755)
        try write("one", "day/a.links")
        try write("two", "a.links")
        let first = try FileStatus(of: "day/a.links", beneath: openDirectory(inbox)).identity
        let second = try FileStatus(of: "a.links", beneath: openDirectory(inbox)).identity
        #expect(try LinkEnd.setAside("day/a.links", as: second, in: inbox) == nil)
        #expect(try LinkEnd.setAside("day/a.links", as: first, in: inbox) == ".fetched/a.links")
        #expect(try LinkEnd.setAside("a.links", as: second, in: inbox) == ".fetched/a-2.links")
        #expect(text(".fetched/a.links") == "one" && text(".fetched/a-2.links") == "two")
    }

    @Test func aLinkInThePlaceOfTheDirectoryIsNotFollowed() throws {
        mkdir(scratch.appending("elsewhere"), 0o755)
        symlink("elsewhere", scratch.appending(".fetched"))
        try write("one", "a.links")
        let identity = try FileStatus(of: "a.links", beneath: openDirectory(inbox)).identity
        #expect(throws: SystemCallError.self) { try LinkEnd.setAside("a.links", as: identity, in: inbox) }
        #expect(text("a.links") == "one" && text("elsewhere/a.links") == nil)
    }

    @Test func onlyPlainFilesAreRead() throws {
        func read(_ name: BytePath) throws -> String {
            switch try LinkReading.read(name, in: inbox, probe: WriterProbe()) {
            case .order(let order): "\(order.addresses.count) addresses, \(order.refusals.map(\.line))"
            case .refused(let reason, _): "refused: \(reason)"
            case .gone(let why): "gone: \(why)"
            case .busy: "busy"
            }
        }
        try write("http://a.org/1\nx\nhttp://a.org/1\n", "a.links")
        symlink("a.links", scratch.appending("b.links"))
        mkfifo(scratch.appending("c.links"), 0o600)
        mkdir(scratch.appending("d.links"), 0o755)
        try write(String(repeating: " ", count: LinkReading.longest + 1), "e.links")
        try write("URL=http://a.org/", "f.url")
        #expect(try read("a.links") == "1 addresses, [2]")
        #expect(try read("b.links") == "gone: it is a symbolic link")
        #expect(try read("c.links") == "gone: it is a FIFO")
        #expect(try read("d.links") == "gone: it is a directory")
        #expect(try read("e.links").hasPrefix("refused: it is larger than 1048576 bytes"))
        #expect(try read("f.url") == "refused: it contains no address")
        #expect(try read("none.url") == "gone: it is gone")
        link(scratch.appending("f.url"), scratch.appending("g.url"))
        #expect(try read("g.url") == "gone: it has 2 names (hard links)")
        #expect(throws: (any Error).self) { try LinkReading.read("../a.links", in: inbox, probe: WriterProbe()) }
    }
}
