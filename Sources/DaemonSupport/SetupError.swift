/// Why a part of the daemon, or a run of another program, cannot be set up.
package struct SetupError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
