import Glibc
import SystemMonitor

// Signals are blocked before the process has a second thread, so that only the monitor receives them.
ProcessSignals.block([.int, .term])

let queue = MonitorQueue(label: "org.example.ticker")
let timer = try TimerMonitor(.every(.seconds(1)), label: "timer", queue: queue)
let signals = try SignalMonitor([.int, .term], label: "signals", queue: queue)

// A monitor is used on its own queue only. Handlers run there too.
queue.async {
    timer.setEventHandler { print("ticks since the last event: \($0.expirations)") }
    signals.setEventHandler { event in
        print("\(event.signal) from process \(event.sender)")
        timer.invalidate { signals.invalidate { exit(0) } }
    }
    timer.activate()
    signals.activate { print("running; stop with Ctrl-C") }
}
ProcessSignals.parkMainThread()
