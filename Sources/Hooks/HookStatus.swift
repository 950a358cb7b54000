import ControlProtocol
import FileValues
import LinuxKernel

/// What each hook is doing, for the state dump. Any thread.
final class HookStatus: Sendable {
    private let hooks = Locked<[String: DaemonState.Hook]>([:])

    func change(_ name: String, _ body: (inout DaemonState.Hook) -> Void) {
        hooks.withLock { hooks in
            var hook = hooks[name] ?? DaemonState.Hook(name: name, since: FileTime.now.rfc3339)
            body(&hook)
            hooks[name] = hook
        }
    }

    func enter(_ name: String, _ phase: String) {
        change(name) {
            if $0.phase == phase { return }
            $0.phase = phase
            $0.since = FileTime.now.rfc3339
        }
    }

    func remove(_ name: String) { hooks.withLock { $0[name] = nil } }

    /// By name.
    var all: [DaemonState.Hook] { hooks.withLock { $0.values.sorted { $0.name < $1.name } } }
}
