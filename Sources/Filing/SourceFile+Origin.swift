import FileValues
import LinuxKernel

extension SourceFile {
    /// The download address in the file's attributes, if it is plain ASCII. Not trustworthy, since every writer of the
    /// file can set it.
    package var origin: String? {
        guard let bytes = content.attribute(originAttribute, most: 4_096), !bytes.isEmpty,
            bytes.allSatisfy({ (0x21..<0x7F).contains($0) })
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
