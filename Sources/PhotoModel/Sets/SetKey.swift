// `_nfc` is the standard library's normalization, which Foundation uses too; there is no public API without Foundation.
package import FileValues
@_spi(_Unicode) import Swift

/// The key by which files of one inbox are grouped into a set: their directory and the common stem of their names,
/// folded in case and normalization.
///
/// Cameras write `DSC_1.NEF` and `DSC_1.JPG`, phones and converters `dsc_1.jpg`; macOS stores names in another
/// normalization than typed ones.
package struct SetKey: Hashable, Sendable {
    /// `DIRECTORY/STEM`, the stem folded; stored in the catalogue, so the folding never changes.
    package let bytes: [UInt8]

    /// The key of `stem` in `directory`, which is relative to the inbox and compared byte by byte.
    package init(directory: BytePath, stem: some Collection<UInt8>) {
        bytes = directory.bytes + [UInt8(ascii: "/")] + Self.folded(stem)
    }

    /// `bytes` in lower case and in NFC; without valid UTF-8, only with ASCII letters in lower case.
    package static func folded(_ bytes: some Collection<UInt8>) -> [UInt8] {
        if bytes.allSatisfy({ $0 < 0x80 }) { return bytes.map(\.asciiLowercased) }
        guard let text = String(validating: bytes, as: UTF8.self) else { return bytes.map(\.asciiLowercased) }
        // Twice: the lower case may not be normalized.
        return Array(String(String.UnicodeScalarView(text._nfc)).lowercased().nfcBytes)
    }
}

extension String {
    fileprivate var nfcBytes: [UInt8] { Array(String(String.UnicodeScalarView(_nfc)).utf8) }
}
