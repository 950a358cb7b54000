import SystemPackage
import Testing

@testable import Settings

struct DefaultFileTests {
    @Test("units/photoinbox.toml is the default file of this version; `make config` writes it")
    func installedFileIsTheDefaultFile() throws {
        let installed = FilePath(#filePath).removingLastComponent().removingLastComponent().removingLastComponent()
            .appending("units/photoinbox.toml")
        let file = try FileDescriptor.open(installed, .readOnly)
        let text = try file.closeAfter {
            var bytes: [UInt8] = []
            var block = [UInt8](repeating: 0, count: 65_536)
            while case let count = try block.withUnsafeMutableBytes({ try file.read(into: $0) }), count > 0 {
                bytes += block[..<count]
            }
            return String(decoding: bytes, as: UTF8.self)
        }
        #expect(text == Settings.defaultFileText())
    }
}
