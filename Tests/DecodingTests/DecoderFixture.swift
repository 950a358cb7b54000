import FileValues
import Glibc
import LinuxKernel
import SystemMonitor
import TestSupport
import Testing

@testable import Decoding

/// A client with a decoder program, and a directory for pictures.
struct DecoderFixture {
    let client: DecoderClient
    let scratch: ScratchDirectory

    init(_ program: String = "photoinbox-decoder", _ change: (inout DecoderClient.Options) -> Void = { _ in }) throws {
        scratch = try ScratchDirectory()
        var options = DecoderClient.Options(program: BytePath(BuiltPrograms.path(program)))
        options.deadline *= Int(slowness)
        options.startDeadline *= Int(slowness)
        // Beside many others, a test may be long away between two pictures.
        options.idle = .seconds(3600)
        change(&options)
        client = try DecoderClient(options, queue: MonitorQueue(label: "test.decoder"))
    }

    /// Runs `body` with a client, then stops it.
    static func with(
        _ program: String = "photoinbox-decoder", change: (inout DecoderClient.Options) -> Void = { _ in },
        _ body: (DecoderFixture) async throws -> Void
    ) async throws {
        let fixture = try DecoderFixture(program, change)
        do { try await body(fixture) } catch {
            await fixture.client.stop()
            throw error
        }
        await fixture.client.stop()
        #expect(fixture.client.snapshot().process == nil)
    }

    func make(
        _ sizes: [UInt32] = [512], of path: String, kind: DecoderRequest.Kind = .picture,
        limits: DecoderRequest.Limits = .init()
    ) async throws -> DecoderOutcome {
        let picture = HeldDescriptor(try Self.open(path))
        return await client.make(sizes, of: picture, kind: kind, limits: limits)
    }

    func make(
        _ sizes: [UInt32] = [512], of bytes: [UInt8], limits: DecoderRequest.Limits = .init()
    ) async throws -> DecoderOutcome {
        let path = scratch.appending("picture")
        try Self.write(bytes, to: path)
        return try await make(sizes, of: path, limits: limits)
    }

    /// Has a compromised decoder attempt the operation `word`.
    func attempt(_ word: String, limits: DecoderRequest.Limits = .init()) async throws -> DecoderOutcome {
        try await make(of: Array(word.utf8), limits: limits)
    }

    static func open(_ path: String) throws -> OwnedDescriptor {
        try descriptorCall("open") { Glibc.open(path, O_RDONLY | O_CLOEXEC) }
    }

    static func write(_ bytes: [UInt8], to path: String) throws {
        let raw = try systemCall("open") { Glibc.open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600) }
        let file = OwnedDescriptor(taking: raw)
        try file.write(bytes, at: 0)
    }

    static func read(_ path: String) throws -> [UInt8] {
        let file = try open(path)
        var bytes = [UInt8](repeating: 0, count: Int(try FileStatus(of: file).identity.size))
        let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        #expect(count == bytes.count)
        return bytes
    }

    /// The path of a picture: of the project's, or of those of this target alone.
    static func path(_ name: String) -> String {
        let own =
            "\(#filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/"))"
        let path = "\(own)/Pictures/\(name)"
        return access(path, R_OK) == 0 ? path : "\(picturesPath)/\(name)"
    }

    /// How the picture with this name is decoded.
    static func kind(_ name: String) -> DecoderRequest.Kind {
        switch name.split(separator: ".").last {
        case "dng", "nef", "raf": .raw
        case "mp4", "mov", "mkv", "avi", "mts": .film
        default: .picture
        }
    }

    /// The directory of the project's small pictures.
    static let picturesPath =
        "\(#filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(2).joined(separator: "/"))/Fixtures"
}

extension DecoderOutcome {
    var picture: DecodedPicture? { if case .made(let picture) = self { picture } else { nil } }
    var refusal: DecoderRefusal? { if case .refused(let refusal) = self { refusal } else { nil } }
    var fatal: String? { if case .fatal(let reason) = self { reason } else { nil } }
    var trouble: DecoderTrouble? { if case .unavailable(let trouble) = self { trouble } else { nil } }
}
