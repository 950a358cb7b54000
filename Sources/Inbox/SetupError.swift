/// Why a part of the daemon, or a run of another program, cannot be set up.
struct SetupError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
