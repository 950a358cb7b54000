import Catalogue
import ControlProtocol
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
@testable import Hooks

/// A catalogue, and hooks that are told what is recorded in it.
final class HookHouse {
    let scratch: ScratchDirectory
    let log = KeptLog()
    let problems: ProblemReporter
    let catalogue: CatalogueFile
    let writer: Catalogue
    let coordinator: HookCoordinator

    init(grace: Duration = .seconds(5)) throws {
        scratch = try ScratchDirectory()
        problems = ProblemReporter(log: log.daemonLog)
        catalogue = try CatalogueFile.openForWriting(scratch.appending("catalogue.sqlite"), now: .now)
        let writer = Catalogue(
            catalogue,
            subsystem: Subsystem(name: "catalogue", queue: MonitorQueue(label: "test.catalogue"), isVital: false))
        self.writer = writer
        coordinator = HookCoordinator(
            catalogue: writer, log: log.daemonLog, problems: problems, isManaged: false, grace: grace)
        writer.whenOutcomesAreRecorded { [coordinator] in coordinator.outcomesRecorded() }
    }

    /// The settings with these hooks; a script by its name and keys.
    func settings(_ hooks: String) throws -> Settings {
        var builder = SettingsBuilder(context: .ofProcess())
        builder.trustPrograms(of: [0, geteuid()])
        builder.addFile(
            Array(
                """
                library = "\(scratch.path)/library"
                [inbox.card]
                path = "\(scratch.path)/inbox"
                [inbox.phones]
                path = "\(scratch.path)/phones"
                \(hooks)
                """.utf8), path: "photoinbox.toml")
        return try builder.build()
    }

    /// Has a shell script as its only hook from now on, called `hook`.
    func adopt(_ script: String, on events: String = "", more: String = "") async throws {
        await coordinator.prepare(
            try settings("[hook.hook]\ncommand = ['/bin/sh', '-c', '''\(script)''']\non = [\(events)]\n\(more)"))
    }

    func asked() { coordinator.perform(.hook("hook"), asker: "test") }

    /// Records a file that was set aside, as the worker does; the operation.
    @discardableResult
    func quarantine(_ name: String, inbox: String = "card") async throws -> Int64 {
        let outcome = OutcomeRecord(
            at: .now, inbox: inbox, path: BytePath(name), outcome: .quarantined, reason: "test", sha256: nil,
            photoID: nil, destination: BytePath("/q/\(name)"))
        return try await writer.record(outcome, kept: nil)
    }

    var entry: DaemonState.Hook? { coordinator.status.all.first { $0.name == "hook" } }
}
