/// An open descriptor that several hold, on any thread; closed with the last of them.
package final class HeldDescriptor: Sendable {
    package let descriptor: OwnedDescriptor

    package init(_ descriptor: consuming OwnedDescriptor) { self.descriptor = descriptor }
}
