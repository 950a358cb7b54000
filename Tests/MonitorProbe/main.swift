// A program of its own for what tests cannot do in theirs: block signals before any thread exists, keep the main thread
// from unblocking them, and count the whole process's descriptors, threads and memory.
import Dispatch
import Glibc
import SystemMonitor

// Nobody waits for a probe that hangs.
alarm(1_200)
switch CommandLine.arguments.dropFirst().first {
case "signals": reportSignals { ProcessSignals.parkMainThread() }
case "signals-dispatch-main": reportSignals { dispatchMain() }
case "own-signal": signalItself()
case "churn": churn(CommandLine.arguments.dropFirst(2).first ?? "")
case "release": release(CommandLine.arguments.dropFirst(2).first ?? "")
case "block-too-late": blockTooLate()
case "dispatch-main": leaveMainThreadOpen()
case "owners": claimTwice()
default: exit(64)
}
