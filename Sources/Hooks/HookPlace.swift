import FileValues
import LinuxKernel
import Settings
import SystemMonitor

/// Where hooks run.
enum HookPlace: Hashable, Sendable {
    /// As children of this process, where no service manager has confined it.
    case child
    /// In a unit of their own, which is asked by this socket: a child would inherit the daemon's confinement.
    case unit(BytePath)

    /// The socket's name in the runtime directory.
    static let socket: BytePath = "hooks"

    init(_ settings: Settings, isManaged: Bool) {
        let unit = HookPlace.unit(settings.runtime.appending(Self.socket))
        switch settings.hookPlace {
        case .auto: self = isManaged ? unit : .child
        case .unit: self = unit
        case .child: self = .child
        }
    }

    /// Starts a run; nil if it could not be started. `done` is called on the queue in both cases, when the run has ended and
    /// nothing of ours is left of it. On the queue.
    func start(
        _ order: HookChild.Order, queue: MonitorQueue, done: @escaping @Sendable (HookResult) -> Void
    ) -> (any HookRun)? {
        do {
            switch self {
            case .child: return try HookChild.start(order, queue: queue, done: done)
            case .unit(let socket): return try HookConnection(order, at: socket, queue: queue, done: done)
            }
        } catch {
            queue.async { done(.refused("could not be started: \(error)")) }
            return nil
        }
    }
}
