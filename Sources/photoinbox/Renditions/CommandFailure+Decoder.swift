import CommandContact
import CommandSupport
import Decoding
import Dispatch
import LinuxKernel
import QueueActors
import Reporting
import SystemPackage

extension CommandFailure {
    /// The failure to make pictures.
    init(_ trouble: DecoderTrouble) {
        switch trouble {
        case .cannotBeKept(let error) where [.permissionDenied, .notPermitted].contains(error.code):
            let reason = error.path.map { permissionDenied(to: $0) } ?? "permission denied"
            self.init(.permission, "cannot write thumbnails: \(reason)", action: Self.asOwner)
        case .cannotBeKept: self.init(.failed, "\(trouble)")
        case .cannotStart, .cannotBeConfined, .stopped:
            self.init(
                .unavailable, "\(trouble)",
                action: "See confinement and decoder under [pictures] in photoinbox.toml(5).")
        }
    }
}

/// Waits on the main thread for an asynchronous function.
func waitFor<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Value {
    let result = Locked<Value?>(nil)
    let done = DispatchSemaphore(value: 0)
    TaskQueue.start {
        let value = await body()
        result.withLock { $0 = value }
        done.signal()
    }
    done.wait()
    guard let value = result.withLock({ $0 }) else { preconditionFailure("signalled without a result") }
    return value
}
