import LinuxKernel

/// An open descriptor that several may hold; closed with the last of them.
final class SharedDescriptor: Sendable {
    let descriptor: OwnedDescriptor

    init(_ descriptor: consuming OwnedDescriptor) { self.descriptor = descriptor }
}
