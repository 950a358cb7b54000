import ArgumentParser
import Settings

extension ByteSize: ExpressibleByArgument {
    /// As in the configuration: 50M, 2G.
    public init?(argument: String) {
        guard let size = ByteSize(argument) else { return nil }
        self = size
    }
}
