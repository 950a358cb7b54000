/// What the first bytes of a file say about whether it is a photo at all, for those who have not read more of it.
package enum FirstBytes {
    /// How many bytes ``mayBePhoto(_:)`` wants; fewer will do where the file is shorter.
    package static let count = Container.headerSize

    /// Whether `bytes` begin a file of a format that is filed. Pure.
    package static func mayBePhoto(_ bytes: [UInt8]) -> Bool { Container.detect(bytes) != nil }
}
