/// A quick check of a file's first bytes.
package enum FirstBytes {
    /// The number of bytes for ``mayBePhoto(_:)``; fewer if the file is shorter.
    package static let count = Container.headerSize

    /// Whether `bytes` begin a file of a format that is filed. Pure.
    package static func mayBePhoto(_ bytes: [UInt8]) -> Bool { Container.detect(bytes) != nil }
}
