// `_nfc` is the standard library's own normalization, which Foundation's is made of too; nothing public gives it without
// Foundation.
package import FileValues
@_spi(_Unicode) import Swift

/// Under what files of one inbox are looked for as a set: their directory, and the stem that their names share, in a
/// spelling in which case and normalization make no difference.
///
/// Cameras write `DSC_1.NEF` and `DSC_1.JPG`, phones and converters `dsc_1.jpg`; macOS gives the names that it stores in
/// another normalization than those that are typed.
package struct SetKey: Hashable, Sendable {
    /// `DIRECTORY/STEM`, the stem folded; stored in the catalogue, so what folding means never changes.
    package let bytes: [UInt8]

    /// The key of `stem` in `directory`, which is relative to the inbox and compared byte by byte.
    package init(directory: BytePath, stem: some Collection<UInt8>) {
        bytes = directory.bytes + [UInt8(ascii: "/")] + Self.folded(stem)
    }

    /// `bytes` in lower case and in NFC; what is not UTF-8 has only its ASCII letters changed.
    package static func folded(_ bytes: some Collection<UInt8>) -> [UInt8] {
        if bytes.allSatisfy({ $0 < 0x80 }) { return bytes.map(lowercased) }
        guard let text = String(validating: bytes, as: UTF8.self) else { return bytes.map(lowercased) }
        // Twice: what lower case gives need not be normal.
        return Array(String(String.UnicodeScalarView(text._nfc)).lowercased().nfcBytes)
    }
}

extension String {
    fileprivate var nfcBytes: [UInt8] { Array(String(String.UnicodeScalarView(_nfc)).utf8) }
}
