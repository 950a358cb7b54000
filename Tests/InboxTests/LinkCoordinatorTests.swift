import Catalogue
import ControlProtocol
import Fetching
import FileValues
import Foundation
import Glibc
import LinuxKernel
import QueueActors
import Settings
import SystemMonitor
import TestSupport
import Testing

@testable import DaemonSupport
@testable import Ingest
@testable import Links

/// A desk with a catalogue, an inbox and a service that does as a test says.
private final class LinkHouse {
    let scratch: ScratchDirectory
    let log = KeptLog()
    let problems: ProblemReporter
    let writer: Catalogue
    private let catalogue: CatalogueFile

    init() throws {
        // In memory: what is written down is synced, and dozens of files of links would keep a disk busy for others.
        problems = ProblemReporter(log: log.daemonLog)
        scratch = try ScratchDirectory(below: ScratchDirectory.quiet)
        for name in ["inbox", "library", "state", "run"] { mkdir(scratch.appending(name), 0o755) }
        catalogue = try CatalogueFile.openForWriting(scratch.appending("catalogue.sqlite"), now: .now)
        writer = Catalogue(
            catalogue,
            subsystem: Subsystem(name: "catalogue", queue: MonitorQueue(label: "test.catalogue"), isVital: false))
    }

    func coordinator() -> LinkCoordinator {
        LinkCoordinator(
            catalogue: writer, log: log.daemonLog, problems: problems, isManaged: true,
            program: LinkRun.standardProgram, patience: 0.01)
    }

    func settings(_ links: String = "yes") throws -> Settings {
        var builder = SettingsBuilder(context: .ofProcess())
        let text = """
            library = "\(scratch.path)/library"
            state = "\(scratch.path)/state"
            runtime = "\(scratch.path)/run"
            [inbox.web]
            path = "\(scratch.path)/inbox"
            [fetch]
            links = "\(links)"
            """
        builder.addFile(Array(text.utf8), path: "photoinbox.toml")
        return try builder.build()
    }

    /// Writes a file of links, and what the pipeline would record of it.
    @discardableResult
    func drop(_ name: String, _ text: String) async throws -> EndedArrival {
        let inbox = BytePath(scratch.appending("inbox"))
        try Data(text.utf8).write(to: URL(filePath: "\(inbox)/\(name)"))
        let identity = try FileStatus(of: BytePath(name), beneath: openDirectory(inbox)).identity
        var ended = EndedArrival(
            key: ArrivalKey(inbox: "web", path: BytePath(name)), outcome: .ignored, reason: "not a photo", ended: .now,
            firstSeen: .now)
        ended.operation = try await writer.record(ended, photo: nil, sha256: nil, kept: identity)
        return ended
    }

    func names(_ directory: String = "inbox") -> Set<String> {
        Set((try? FileManager.default.contentsOfDirectory(atPath: scratch.appending(directory))) ?? [])
    }

    /// Answers as many connections as there are answers; the addresses that were asked for, connection by connection. With
    /// `holding` one without an outcome is held until the other side ends it.
    func serve(
        _ answers: [@Sendable (FetchRequest) -> [FetchReport]], holding: Bool = false
    ) throws -> Task<[[String]], any Error> {
        let listener = try listen(at: BytePath(scratch.appending("run/fetch")), mode: 0o600).take()
        _ = fcntl(listener, F_SETFL, 0)
        return Task {
            try await aside {
                defer { close(listener) }
                return try answers.map { answer in
                    let connection = try descriptorCall("accept") { accept(listener, nil, nil) }
                    var frames = FrameReader(limit: FetchRequest.longest)
                    var buffer = [UInt8](repeating: 0, count: 4_096)
                    while true {
                        let count = recv(connection.raw, &buffer, buffer.count, 0)
                        guard count > 0 else { return [] }
                        frames.add(Array(buffer[..<count]))
                        guard let request = try frames.next().flatMap({ FetchRequest(json: $0) }) else { continue }
                        for report in answer(request) {
                            let frame = report.frame
                            send(connection.raw, frame, frame.count, Int32(MSG_NOSIGNAL))
                        }
                        while holding, recv(connection.raw, &buffer, buffer.count, 0) > 0 {}
                        return request.addresses
                    }
                }
            }
        }
    }
}

/// All have arrived.
private let all: @Sendable (FetchRequest) -> [FetchReport] = { request in
    request.addresses.indices.map { .ended($0, FetchEnd(.arrived, "fetch-1/x.jpg")) } + [.outcome(FetchOutcome())]
}

@Suite("Files of links are fetched once each", .timeLimit(.minutes(60)))
struct LinkCoordinatorTests {
    @Test func whatIsOverIsSetAsideAndToldOnce() async throws {
        let house = try LinkHouse()
        let service = try house.serve([all])
        let coordinator = house.coordinator()
        await coordinator.prepare(try house.settings())
        coordinator.ended(try await house.drop("a.links", "http://a.org/1\nhttp://a.org/2\nhttp://a.org/1\n"))
        #expect(await house.log.line(holding: "2 arrived, 0 failed; it lies in .fetched/a.links now") != nil)
        #expect(try await service.value == [["http://a.org/1", "http://a.org/2"]])
        #expect(house.names() == [".fetched"] && house.names("state/links") == ["ledger.json"])
        #expect(coordinator.status.all?.open.isEmpty == true && coordinator.status.all?.past.first?.arrived == 2)
        await coordinator.stop(hurrying: false)
    }

    @Test func anotherLifeGoesOnWhereTheOneBeforeWas() async throws {
        let house = try LinkHouse()
        // The first connection ends in the middle.
        let service = try house.serve(
            [{ _ in [.ended(1, FetchEnd(.arrived, "")), .ended(0, FetchEnd(.failed, "status 404"))] }, all],
            holding: true)
        let first = house.coordinator()
        await first.prepare(try house.settings())
        let dropped = try await house.drop("a.links", "http://a.org/1\nhttp://a.org/2\nhttp://a.org/3\n")
        first.ended(dropped)
        // What ended is written down before anything is said of it.
        #expect(await house.log.line(holding: "2 of 3 have ended") != nil)
        await first.stop(hurrying: true)
        let second = house.coordinator()
        await second.prepare(try house.settings())
        #expect(await house.log.line(holding: "2 arrived, 1 failed; a.links.failed says what to do") != nil)
        #expect(try await service.value.last == ["http://a.org/3"])
        await second.stop(hurrying: false)
        // A third finds nothing to do: nobody listens any more, and it says nothing of having to wait.
        let third = house.coordinator()
        await third.prepare(try house.settings())
        third.ended(dropped)
        await third.stop(hurrying: false)
        #expect(house.names() == [".fetched", "a.links.failed"])
    }

    @Test func whatWasRecordedRightBeforeACrashIsFound() async throws {
        let house = try LinkHouse()
        let first = house.coordinator()
        await first.prepare(try house.settings())
        // Nobody tells this one: the daemon died.
        await first.stop(hurrying: true)
        try await house.drop("a.url", "[InternetShortcut]\nURL=http://a.org/1\n")
        let service = try house.serve([all])
        let second = house.coordinator()
        await second.prepare(try house.settings())
        #expect(await house.log.line(holding: "1 arrived, 0 failed") != nil)
        #expect(try await service.value == [["http://a.org/1"]])
        await second.stop(hurrying: false)
    }

    @Test func aServiceThatDiesUnderAFileEachTimeIsGivenUp() async throws {
        let house = try LinkHouse()
        let service = try house.serve(Array(repeating: { _ in [] }, count: LinkCoordinator.mostLost))
        let coordinator = house.coordinator()
        await coordinator.prepare(try house.settings())
        coordinator.ended(try await house.drop("a.links", "http://a.org/1\n"))
        #expect(await house.log.line(holding: "have to wait: photoinbox-fetch ended without a result") != nil)
        #expect(await house.log.line(holding: "0 arrived, 1 failed; a.links.failed says what to do") != nil)
        #expect(try await service.value.count == LinkCoordinator.mostLost)
        await coordinator.stop(hurrying: false)
    }

    @Test func thatNobodyFetchesIsAProblemUntilSomebodyDoes() async throws {
        let house = try LinkHouse()
        let coordinator = house.coordinator()
        await coordinator.prepare(try house.settings())
        coordinator.ended(try await house.drop("a.links", "http://a.org/1\n"))
        #expect(await house.log.line(holding: "PI-212 nothing is downloaded into web: ") != nil)
        #expect(house.problems.rows(now: .now).map(\.code) == ["PI-212"])
        let service = try house.serve([all])
        #expect(await house.log.line(holding: "PI-212 is over for web") != nil)
        _ = try await service.value
        // One that is let go leaves nothing behind that would wait.
        coordinator.ended(try await house.drop("b.links", "http://a.org/2\n"))
        #expect(await house.log.line(holding: "PI-212 nothing is downloaded into web: ") != nil)
        await coordinator.prepare(try house.settings("no"))
        #expect(await house.log.line(holding: "PI-212 is over for web") != nil)
        await coordinator.stop(hurrying: false)
        #expect(house.problems.rows(now: .now).isEmpty)
    }

    @Test func aFileThatWasChangedIsAnotherOne() async throws {
        let house = try LinkHouse()
        let coordinator = house.coordinator()
        await coordinator.prepare(try house.settings())
        let old = try await house.drop("a.links", "http://a.org/old\n")
        let service = try house.serve([all])
        let new = try await house.drop("a.links", "http://a.org/new\nhttp://a.org/old\n")
        coordinator.ended(old)
        coordinator.ended(new)
        #expect(await house.log.line(holding: "2 arrived, 0 failed") != nil)
        #expect(try await service.value == [["http://a.org/new", "http://a.org/old"]])
        await coordinator.stop(hurrying: false)
        #expect(house.log.lines.contains { $0.contains("let go: it was changed; what it is now counts") })
    }

    @Test func whatWasThereBeforeItWasSwitchedOnIsLeft() async throws {
        let house = try LinkHouse()
        let old = try await house.drop("old.links", "http://a.org/old\n")
        let coordinator = house.coordinator()
        await coordinator.prepare(try house.settings("no"))
        coordinator.ended(old)
        #expect(coordinator.status.all == nil)
        await coordinator.prepare(try house.settings())
        let service = try house.serve([all])
        coordinator.ended(try await house.drop("new.links", "http://a.org/new\n"))
        #expect(await house.log.line(holding: "1 arrived, 0 failed") != nil)
        #expect(try await service.value == [["http://a.org/new"]])
        await coordinator.stop(hurrying: false)
        #expect(house.names() == ["old.links", ".fetched"])
    }

    @Test func aBurstWaitsInTheCatalogueAndAllOfItIsFetched() async throws {
        let house = try LinkHouse()
        let count = LinkCoordinator.most + 20
        let coordinator = house.coordinator()
        await coordinator.prepare(try house.settings())
        var last: EndedArrival?
        for number in 0..<count { last = try await house.drop("\(number).links", "http://a.org/\(number)\n") }
        if let last { coordinator.ended(last) }
        // Nobody listens yet.
        #expect(await house.log.line(holding: "photoinboxd-fetch.socket is not started") != nil)
        #expect(coordinator.status.all?.open.count == LinkCoordinator.most)
        let service = try house.serve(Array(repeating: all, count: count))
        for _ in 0..<count { #expect(await house.log.line(holding: "1 arrived, 0 failed") != nil) }
        #expect(Set(try await service.value).count == count)
        await coordinator.stop(hurrying: false)
        #expect(house.names() == [".fetched"] && house.names("inbox/.fetched").count == count)
    }

    @Test func aFileWithoutAnAddressIsRefusedWithItsLines() async throws {
        let house = try LinkHouse()
        let coordinator = house.coordinator()
        await coordinator.prepare(try house.settings())
        coordinator.ended(try await house.drop("a.links", "# mine\nftp://a.org/1\n"))
        let line = await house.log.line(holding: "nothing is fetched: it holds no address that can be fetched; line 2")
        #expect(line?.contains("a.links.failed says what to do") == true, "\(line ?? "")")
        await coordinator.stop(hurrying: false)
        #expect(house.names() == ["a.links", "a.links.failed"])
    }
}
