import Glibc
public import LinuxKernel

/// A descriptor opened by the service manager: a listening socket, a FIFO, or one from the descriptor store.
///
/// A shared handle to a descriptor with one owner: the first ``take()`` gets it; otherwise it is closed with the
/// handle. Safe on any thread.
public final class ActivatedDescriptor: Sendable {
    /// FileDescriptorName= of its unit; `unknown` if it has none.
    public let name: String

    private let number: Locked<Int32?>

    init(name: String, number: Int32) {
        self.name = name
        self.number = Locked(number)
    }

    deinit { _ = take() }

    /// Transfers the close-on-exec descriptor, once; nil afterwards.
    public func take() -> OwnedDescriptor? {
        let taken = number.withLock { $0.take() }
        guard let taken else { return nil }
        return OwnedDescriptor(taking: taken)
    }
}
