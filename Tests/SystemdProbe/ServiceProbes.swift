import Glibc
import LinuxKernel
import Systemd

func notifyManager() {
    let manager = ServiceManager.takeFromEnvironment()
    print("present=\(manager.isPresent)\nwatchdog=\(manager.watchdogInterval.map { "\($0)" } ?? "none")")
    for complaint in manager.ignoredVariables { print("complaint=\(complaint)") }
    for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS"] where getenv(name) != nil {
        print("inherited=\(name)")
    }
    do {
        try manager.ready(status: "filing\nREADY=0")
        try manager.status("2 arriving")
        try manager.reloading(status: "reading the configuration")
        try manager.extendTimeout(by: .milliseconds(1_500))
        try manager.ping()
        try manager.stopping(status: "bye")
        print("sent=true")
    } catch {
        print("sent=\(error)")
    }
}

func takeActivated() {
    let manager = ServiceManager.takeFromEnvironment()
    for item in manager.activatedDescriptors {
        guard let descriptor = item.take() else { fatalError("not there") }
        let flags = fcntl(descriptor.raw, F_GETFD)
        print("\(item.name)=\(descriptor.raw) closeOnExec=\(flags == FD_CLOEXEC) again=\(item.take() != nil)")
    }
    print("count=\(manager.activatedDescriptors.count)")
}
