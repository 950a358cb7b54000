/// A rule of the monitors' lifecycle; the raw value is the text of its trap message.
public enum LifecycleRule: String, Error, Sendable, CaseIterable {
    case activatedOnce = "a monitor is activated once"
    case propertiesAreSetBeforeActivation = "properties are set before activation"
    case onlyActiveOnesAreSuspended = "only an active monitor is suspended"
    case resumeBalancesSuspend = "each resume balances one suspend"
    case onlyDisabledOnesAreReenabled = "only a monitor that its handler's error disabled is enabled again"
    case noUseAfterInvalidation = "a monitor is not used after it was invalidated"
    case invalidatedBeforeRelease = "an activated monitor is invalidated before its last reference is released"
    case onItsQueue = "a monitor is touched on its own queue only"
    case valueOnItsQueue = "a value bound to a queue is touched on that queue only"
    case noSyncOnOwnQueue = "nothing waits for a queue on the queue itself"
}
