import ControlProtocol
import DaemonSupport
import FileValues
import LinuxKernel

/// What each hook is doing, by its name.
typealias HookStatus = StatusTable<String, DaemonState.Hook>

extension HookStatus {
    convenience init() { self.init { DaemonState.Hook(name: $0, since: FileTime.now.rfc3339) } }

    func enter(_ name: String, _ phase: String) {
        change(name) {
            if $0.phase == phase { return }
            $0.phase = phase
            $0.since = FileTime.now.rfc3339
        }
    }
}
