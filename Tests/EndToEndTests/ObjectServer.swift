import FileValues
import Foundation
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport

/// SeaweedFS with its S3, on loopback, and its own store of files, through which tests look at objects behind S3's back.
final class ObjectServer: Sendable {
    /// Which scripts/deps fetches.
    static let program =
        String(#filePath.dropLast("Tests/EndToEndTests/ObjectServer.swift".count)) + ".build/tools/weed"
    static let isThere = access(program, X_OK) == 0
    static let (name, secret) = ("desk", "photo/secret+1")

    private let house: House
    private let ports = Locked(0)
    private var port: Int { ports.withLock { $0 } }
    private let running = Locked<RunningProgram?>(nil)
    private let commands = Locked<[RunningProgram]>([])

    /// Starts one that keeps its objects in `house`.
    init(in house: House) async throws {
        self.house = house
        let identity = """
            {"identities": [{"name": "desk", "credentials": [{"accessKey": "\(Self.name)", "secretKey": "\(Self.secret)"}],
              "actions": ["Admin", "Read", "Write", "List"]}]}
            """
        try write(Data(identity.utf8), to: house.path("s3.json"))
        try makeDirectory(house.path("objects"))
        // It listens after seconds: until then another program can have one of its ports, and it ends.
        for isLast in [false, false, true] {
            let port = try Self.freePort()
            ports.withLock { $0 = port }
            do {
                try await start()
                return
            } catch let error as DidNotStart where !isLast && error.hasEnded {}
        }
    }

    /// The address of a bucket, or of what begins with it.
    func address(_ bucket: String) -> String { "http://127.0.0.1:\(port)/\(bucket)" }

    /// Starts it, and waits until it takes objects; fails with what it logged if it ends before that.
    func start() async throws {
        // Each of its servers has one more port for itself, 10,000 above.
        let weed = try house.launch(
            path: Self.program,
            [
                "-logtostderr=true", "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-dir=\(house.path("objects"))",
                "-s3", "-s3.port=\(port)", "-s3.config=\(house.path("s3.json"))", "-master.port=\(port + 1)",
                "-volume.port=\(port + 2)", "-filer.port=\(port + 3)", "-master.volumeSizeLimitMB=64", "-volume.max=40",
                "-s3.iam=false", "-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false",
                "-filer.localSocket=\(house.path("filer.sock"))",
                "-s3.localSocket=\(house.path("s3.sock"))",
            ])
        running.withLock { $0 = weed }
        do {
            let status = try await poll {
                weed.hasEnded ? nil : try await self.run("test", self.address("first")).status
            } until: {
                $0 == nil || $0 == 0
            }
            guard status != nil else { throw DidNotStart(hasEnded: true, log: weed.lines) }
        } catch let error as PollTimedOut {
            throw DidNotStart(hasEnded: false, log: weed.lines + ["\(error)"])
        }
    }

    /// It ended, or took no object.
    struct DidNotStart: Error, CustomStringConvertible {
        let hasEnded: Bool
        let log: [String]
        var description: String { "SeaweedFS takes no objects:\n" + log.suffix(60).joined(separator: "\n") }
    }

    func kill() async throws {
        guard let weed = running.withLock({ $0.take() }) else { return }
        weed.signal(SIGKILL)
        _ = try await weed.ending()
    }

    /// How `photoinbox store` ends with its credentials, and what it writes.
    func run(_ words: String..., secret: String? = nil) async throws -> (status: Int32, lines: [String]) {
        let text = "[default]\naws_access_key_id = \(Self.name)\naws_secret_access_key = \(secret ?? Self.secret)\n"
        let file = house.path("key-\(UUID())")
        try write(Data(text.utf8), to: file)
        chmod(file, 0o600)
        let program = try RunningProgram(
            [BuiltPrograms.path("photoinbox"), "store"] + words
                + ["--credentials", file, "--config", house.path("photoinbox.toml")])
        commands.withLock { $0.append(program) }
        guard case .status(let status) = try await program.ending() else { return (-1, program.lines) }
        return (status, program.lines)
    }

    /// Kills what ``run(_:secret:)`` waits for.
    func killCommands() { for program in commands.withLock({ $0 }) { program.killIfRunning() } }

    // MARK: - Behind S3's back

    /// The bytes of the object with this key; nil if there is none.
    func object(_ key: String) async throws -> Data? {
        let (data, status) = try await ask(key)
        return status == 200 ? data : nil
    }

    func put(_ data: Data, as key: String) async throws { _ = try await ask(key, method: "PUT", data) }

    func remove(_ key: String) async throws { _ = try await ask(key, method: "DELETE") }

    private func ask(
        _ key: String, method: String = "GET", _ body: Data? = nil
    ) async throws -> (body: Data, status: Int) {
        let path = key.split(separator: "/").map { percentEncoded($0.utf8) }.joined(separator: "/")
        let file = house.path("body-\(UUID())")
        if let body { try write(body, to: file) }
        defer { unlink(file) }
        return try await Self.request(
            "http://127.0.0.1:\(port + 3)/buckets/\(path)", ["-X", method] + (body == nil ? [] : ["-T", file]))
    }

    /// An answer to curl. `URLSession` is not used: requests to a server that was killed sometimes never ended.
    static func request(
        _ address: String, _ options: [String] = []
    ) async throws -> (body: Data, status: Int) {
        let scratch = try ScratchDirectory()
        let body = scratch.appending("body")
        let program = try RunningProgram(
            ["/usr/bin/curl", "-sS", "--max-time", "60", "-o", body, "-w", "%{http_code}\\n"] + options
                + [address])
        guard try await program.ending() == .status(0), let status = Int(program.lines.last ?? "") else {
            throw DidNotAnswer(lines: program.lines)
        }
        return (FileManager.default.contents(atPath: body) ?? Data(), status)
    }

    struct DidNotAnswer: Error {
        let lines: [String]
    }

    /// The last four ports that were tried, from a random place on: no two servers of this process have the same.
    private static let tried = Locked(Int.random(in: 0..<2_500))

    /// The first of four ports that are free now, as are those 10,000 above.
    private static func freePort() throws -> Int {
        for _ in 0..<200 {
            let first = tried.withLock { tried in
                tried = (tried + 1) % 2_500
                return 10_000 + tried * 4
            }
            let all = (first..<first + 4).flatMap { [$0, $0 + 10_000] }
            if all.allSatisfy({ isFree($0) }) { return first }
        }
        throw Errno(rawValue: EADDRINUSE)
    }

    private static func isFree(_ port: Int) -> Bool {
        let probe = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(probe) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(probe, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
