import FileValues
import LinuxKernel

extension SourceFile {
    /// The address that the file says it was downloaded from; nil where it says none, or something else. Only for the
    /// record: whoever may write the file may write this.
    package var origin: String? {
        guard let bytes = content.attribute(originAttribute, most: 4_096), !bytes.isEmpty,
            bytes.allSatisfy({ (0x21..<0x7F).contains($0) })
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
