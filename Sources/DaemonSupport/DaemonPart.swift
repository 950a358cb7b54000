package import ControlProtocol
package import Ingest
package import LinuxKernel
package import QueueActors
package import Settings

/// A feature or a duty of the daemon that can be left out. The daemon holds its parts in one list and calls them in its
/// order; see `Daemon.init`.
///
/// Functions are called on any thread. Those that are not asynchronous must not wait.
package protocol DaemonPart: AnyObject, Sendable {
    /// Its queues, which the watchdog asks to answer.
    var subsystems: [Subsystem] { get }

    /// A configuration comes into force; nothing is filed until this returns, so no outcome is missed.
    func prepare(_ settings: Settings) async
    /// A configuration is in force, and photos are filed.
    func adopt(_ settings: Settings) async
    /// The first configuration is in force; called once.
    func start()
    /// Begins to end, while photos are still filed. The function that it returns is called when nothing is filed any more,
    /// and returns when nothing of this part is left.
    func end(hurrying: Bool) async -> @Sendable () async -> Void
    /// Somebody asked once more to stop: the end that has begun is to be faster.
    func hurry()

    /// An arrival has its outcome.
    func ended(_ arrival: EndedArrival)
    /// Outcomes were recorded in the catalogue.
    func outcomesRecorded()
    /// The mount table has changed, or is read for the first time.
    func mounted(_ table: MountTable)
    /// The watchdog wakes the daemon, which otherwise sleeps: a few seconds have passed.
    func tick()
    /// Performs an action that a signal, a timer or a command FIFO asked for, if it is this part's.
    func perform(_ action: Action, asker: String)
    /// Tries once more what it has given up, unless `isDryRun`; returns how many files that are.
    func giveAgain(isDryRun: Bool) async -> Int
    /// Writes its section of the state.
    func describe(in state: inout DaemonState)
}

extension DaemonPart {
    package var subsystems: [Subsystem] { [] }
    package func prepare(_ settings: Settings) async {}
    package func adopt(_ settings: Settings) async {}
    package func start() {}
    package func end(hurrying: Bool) async -> @Sendable () async -> Void { {} }
    package func hurry() {}
    package func ended(_ arrival: EndedArrival) {}
    package func outcomesRecorded() {}
    package func mounted(_ table: MountTable) {}
    package func tick() {}
    package func perform(_ action: Action, asker: String) {}
    package func giveAgain(isDryRun: Bool) async -> Int { 0 }
    package func describe(in state: inout DaemonState) {}
}
