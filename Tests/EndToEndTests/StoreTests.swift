import ControlProtocol
import FileValues
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

extension EndToEnd {
    /// Copies of the library in a bucket of a real server.
    @Suite(
        "photoinbox store", .enabled(if: ObjectServer.isThere, "skipped: needs SeaweedFS (make test-deps)"),
        .timeLimit(.minutes(60)))
    struct Storing {
        static let configuration = """
            library = "@library"
            state = "@st"
            [inbox.inbox]
            path = "@inbox"

            """

        /// A house with photos in its library, and what these are by their paths.
        private func house(_ photos: [String: Data]) async throws -> (House, [String: Data]) {
            let house = try House()
            for (name, photo) in photos { try house.drop(photo, as: name) }
            let daemon = try await house.start(
                configuration: Self.configuration, reporting: photos.map { _ in "filed inbox/" })
            try await daemon.stop()
            let library = house.files(in: house.library).filter { !$0.key.hasPrefix(".") }
            #expect(library.count == photos.count)
            return (house, library)
        }

        /// The last line is the sum.
        func expect(
            _ run: (status: Int32, lines: [String]), ends status: Int32, with sum: String,
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            #expect(run.status == status && run.lines.last == sum, "\(run.lines)", sourceLocation: sourceLocation)
        }

        private func expect(
            _ server: ObjectServer, _ bucket: String, has library: [String: Data],
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            for (path, photo) in library {
                #expect(
                    try await server.object("\(bucket)/\(path)") == photo, "\(path)", sourceLocation: sourceLocation)
            }
        }

        @Test("Each photo is copied once, and only if its bytes are those that were filed; nothing is replaced")
        func copies() async throws {
            let names = ["a b+c~%é.jpg", "plain.jpg", "third.jpg"]
            let (house, library) = try await house(
                Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, try! Photos.unique($0)) }))
            let server = try await ObjectServer(in: house)
            let bucket = server.address("photos/desk")
            let paths = library.keys.sorted()
            // Copied, and the second time known.
            expect(try await server.run("put", bucket), ends: 0, with: "3 copied, 0 were there")
            try await expect(server, "photos/desk", has: library)
            expect(try await server.run("put", bucket), ends: 0, with: "0 copied, 3 were there")
            expect(try await server.run("verify", bucket), ends: 0, with: "3 are there, with the recorded SHA-256")
            // What is gone is reported, and copied again.
            try await server.remove("photos/desk/\(paths[1])")
            let missing = try await server.run("verify", bucket)
            expect(missing, ends: 3, with: "2 are there, with the recorded SHA-256, 1 not")
            #expect(missing.lines.contains("missing  \(paths[1])"), "\(missing.lines)")
            expect(try await server.run("put", bucket), ends: 0, with: "1 copied, 2 were there")
            // Another object with the key of a photo stays, and is reported.
            try await server.put(Data("other".utf8), as: "taken/\(paths[0])")
            let taken = try await server.run("put", "--json", server.address("taken"))
            #expect(taken.status == 3 && taken.lines.contains { $0.contains("has its key") }, "\(taken.lines)")
            #expect(try await server.object("taken/\(paths[0])") == Data("other".utf8))
            #expect(try await server.object("taken/\(paths[1])") == library[paths[1]])
            // A photo that was damaged in the library is refused by the server.
            let damaged = "\(house.library)/\(paths[2])"
            var bytes = try #require(library[paths[2]])
            bytes[bytes.count / 2] ^= 1
            try overwrite(damaged, with: bytes)
            let refused = try await server.run("put", server.address("second"))
            expect(refused, ends: 3, with: "2 copied, 0 were there, 1 not")
            #expect(
                refused.lines.contains { $0.hasPrefix("skipped  \(paths[2]): its bytes are not those") },
                "\(refused.lines)")
            #expect(try await server.object("second/\(paths[2])") == nil)
            // Nor is one that is missing, or of another size, taken for a photo.
            unlink(damaged)
            #expect(try await server.run("put", server.address("third")).status == 3)
            #expect(try await server.object("third/\(paths[2])") == nil)
        }

        @Test("Wrong credentials, open ones, none and a server that is away are reported, and copy nothing")
        func refusals() async throws {
            let (house, library) = try await house(["a.jpg": try Photos.unique(1)])
            let server = try await ObjectServer(in: house)
            let wrong = try await server.run("put", server.address("photos"), secret: "another")
            #expect(wrong.status == 69 && wrong.lines.contains { $0.contains("status 403") }, "\(wrong.lines)")
            let store = [BuiltPrograms.path("photoinbox"), "store", "put", "--config", house.path("photoinbox.toml")]
            let none = try RunningProgram(
                ["/usr/bin/env", "-u", "AWS_ACCESS_KEY_ID"] + store + [server.address("photos")])
            #expect(try await none.ending() == .status(78), "\(none.lines)")
            let file = house.path("open")
            try write(Data("aws_access_key_id = a\naws_secret_access_key = b\n".utf8), to: file)
            chmod(file, 0o644)
            let open = try RunningProgram(store + ["--credentials", file, server.address("photos")])
            #expect(try await open.ending() == .status(78), "\(open.lines)")
            #expect(open.lines.joined().contains("everybody can read the credentials"))
            let absent = try RunningProgram(store + ["--credentials", house.path("absent"), server.address("photos")])
            #expect(try await absent.ending() == .status(78), "\(absent.lines)")
            #expect(absent.lines.joined().contains("\(house.path("absent")) does not exist"))
            // The command that is proposed has the same options.
            chmod(file, 0o600)
            symlink(file, house.path("link"))
            let denied = try RunningProgram(store + ["--credentials", house.path("link"), server.address("photos")])
            #expect(try await denied.ending() == .status(69), "\(denied.lines)")
            #expect(
                denied.lines.joined().contains("store test --credentials \(house.path("link")) http"), "\(denied.lines)"
            )
            let nowhere = try await server.run("verify", server.address("photo"))
            #expect(
                nowhere.status == 69 && nowhere.lines.joined().contains("there is no bucket photo"), "\(nowhere.lines)")
            try await server.kill()
            let away = try await server.run("put", server.address("photos"))
            #expect(away.status == 75 && away.lines.joined().contains("connect"), "\(away.lines)")
            try await server.start()
            #expect(try await server.object("photos/\(library.keys.first ?? "")") == nil)
        }

        @Test(
            "After SIGKILL to the command or to the server, each photo is whole in the bucket, or not there; then all are"
        )
        func kills() async throws {
            let photos = try Dictionary(
                uniqueKeysWithValues: (0..<24).map { ("\($0).jpg", try Photos.large($0, bytes: 400_000)) })
            let (house, library) = try await house(photos)
            let server = try await ObjectServer(in: house)
            for (round, strikesServer) in [false, true, false, true].enumerated() {
                let bucket = "round\(round)"
                async let run = server.run("put", server.address(bucket))
                // In the middle: after the first object and before the last.
                _ = try await poll {
                    try await present(of: library, in: bucket, server)
                } until: {
                    $0 > round
                }
                if strikesServer {
                    try await server.kill()
                    try await server.start()
                } else {
                    server.killCommands()
                }
                _ = try await run
                for (path, photo) in library {
                    let found = try await server.object("\(bucket)/\(path)")
                    #expect(found == nil || found == photo, "\(path)")
                }
                let after = try await server.run("put", server.address(bucket))
                #expect(after.status == 0, "\(after.lines)")
                try await expect(server, bucket, has: library)
                #expect(try await server.run("verify", server.address(bucket)).status == 0)
            }
        }

        @Test("What is lost in the library is brought back from the bucket, and filed in its old place")
        func returns() async throws {
            let names = ["a.jpg", "b.jpg", "c.jpg", "d.jpg"]
            let (house, library) = try await house(
                Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, try! Photos.unique($0)) }))
            let server = try await ObjectServer(in: house)
            let bucket = server.address("photos")
            expect(try await server.run("put", bucket), ends: 0, with: "4 copied, 0 were there")
            expect(try await server.run("get", bucket), ends: 0, with: "0 brought back")
            func place(_ name: String) -> String { "\(house.library)/\(Photos.day)/\(name)" }
            var modified: [String: FileTime] = [:]
            for name in names { modified[name] = try FileStatus(at: BytePath(place(name))).identity.modified }
            // Missing; cut off; damaged, which only reading shows; and one that the bucket has lost, too.
            unlink(place("a.jpg"))
            try overwrite(place("b.jpg"), with: Data("cut".utf8))
            var bytes = try #require(library["\(Photos.day)/c.jpg"])
            bytes[bytes.count / 2] ^= 1
            try overwrite(place("c.jpg"), with: bytes)
            unlink(place("d.jpg"))
            try await server.put(Data("other".utf8), as: "photos/\(Photos.day)/d.jpg")
            let daemon = try await house.start(configuration: Self.configuration)
            let verify = try RunningProgram([
                BuiltPrograms.path("photoinbox"), "verify", "--config", house.path("photoinbox.toml"),
            ])
            #expect(try await verify.ending() == .status(3), "\(verify.lines)")
            // It reads them again, and records which are damaged.
            try await daemon.lines(holding: names.map { "damage in the library: \(Photos.day)/\($0)" })
            try await daemon.stop()
            let got = try await server.run("get", bucket)
            #expect(got.status == 3 && got.lines.contains("3 brought back, 1 not"), "\(got.lines)")
            #expect(got.lines.contains("missing  \(Photos.day)/d.jpg"), "\(got.lines)")
            #expect(got.lines.last?.contains("photoinboxd is not running") == true, "\(got.lines)")
            // With the time by which a photo without a date is filed.
            for path in house.files(in: house.inbox).keys {
                let status = try FileStatus(at: BytePath("\(house.inbox)/\(path)"))
                #expect(status.identity.modified == modified[path.split(separator: "/").last.map(String.init) ?? ""])
            }
            let last = try await house.start(
                configuration: Self.configuration,
                reporting: ["a", "b", "c"].map { "/\($0).jpg as \(Photos.day)/\($0)" })
            try await last.stop()
            let after = house.files(in: house.library)
            for name in ["a.jpg", "b.jpg", "c.jpg"] {
                #expect(after.contains { $0.value == library["\(Photos.day)/\(name)"] }, "\(name)")
            }
            house.expectNoTemporaries()
        }

        @Test("Photos of one name on several days come back with their own sidecars")
        func namesakes() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: Self.configuration)
            for day in 1...3 {
                let at = Date(timeIntervalSince1970: 1_500_000_000 + Double(day) * 100 * 86_400)
                let sidecar = "<x:xmpmeta xmlns:x='adobe:ns:meta/'><!-- \(day) --></x:xmpmeta>\n"
                for (content, name) in [
                    (try Photos.unique(day, of: "plain.jpg"), "IMG_1.jpg"), (Data(sidecar.utf8), "IMG_1.xmp"),
                ] {
                    let path = house.path(name)
                    try write(content, to: path)
                    try FileManager.default.setAttributes([.modificationDate: at], ofItemAtPath: path)
                    rename(path, "\(house.inbox)/\(name)")
                }
                try await daemon.lines(holding: ["filed inbox/IMG_1.jpg", "filed inbox/IMG_1.xmp"])
            }
            let library = house.files(in: house.library).filter { !$0.key.hasPrefix(".") }
            #expect(library.count == 6 && library.keys.allSatisfy { $0.contains("/IMG_1.") }, "\(library.keys)")
            let server = try await ObjectServer(in: house)
            let bucket = server.address("photos")
            expect(try await server.run("put", bucket), ends: 0, with: "6 copied, 0 were there")
            for path in library.keys { unlink("\(house.library)/\(path)") }
            expect(try await server.run("get", bucket), ends: 0, with: "6 brought back")
            try await daemon.lines(holding: library.keys.map { "/\($0) as \($0)" })
            let after = house.files(in: house.library).filter { !$0.key.hasPrefix(".") }
            #expect(after == library, "\(after.keys)")
            try await daemon.stop()
        }

        @Test(
            "An object that the server refuses is reported, and the others are copied",
            .enabled(if: LyingServer.isThere))
        func oneRefused() async throws {
            let photos = Dictionary(uniqueKeysWithValues: (1...12).map { ("\($0).jpg", try! Photos.unique($0)) })
            let (house, _) = try await house(photos)
            let program = try await LyingServer(in: house).store("put", "partly", of: house.path("photoinbox.toml"))
            #expect(try await program.ending() == .status(3), "\(program.lines)")
            #expect(program.lines.contains("11 copied, 0 were there, 1 not"), "\(program.lines)")
            #expect(program.lines.contains { $0.hasPrefix("skipped  \(Photos.day)/7.jpg: the server refuses it") })
        }

        @Test(
            "As a hook it is run again for as long as the server refuses all; one that is refused alone is skipped",
            .enabled(if: LyingServer.isThere))
        func oneRefusedInAHook() async throws {
            let house = try House()
            let server = try await LyingServer(in: house)
            func command(_ kind: String) throws -> [String] {
                try server.command("put", kind, of: house.path("photoinbox.toml")) + ["--hook"]
            }
            let words = try command("partly").map { "\"\($0)\"" }.joined(separator: ", ")
            let daemon = try await house.start(
                configuration: Self.configuration + "[hook.store]\ncommand = [\(words)]\non = [\"filed\"]\n")
            try house.drop(try Photos.unique(7), as: "7.jpg")
            try await daemon.line(holding: "filed inbox/7.jpg")
            // Nothing else is in the run, as in the last one before it is skipped.
            try write(Data(#"{"event": "filed", "photo": 1}"#.utf8), to: house.path("event"))
            for (kind, status) in [("partly", 3), ("forbidden", 69), ("readonly", 69), ("expired", 69)] {
                let program = try RunningProgram(
                    ["/bin/sh", "-c", "exec \"$@\" <\(house.path("event"))", "sh"] + command(kind))
                #expect(try await program.ending() == .status(Int32(status)), "\(kind): \(program.lines)")
            }
            try house.drop(try Photos.unique(8), as: "8.jpg")
            try await daemon.lines(holding: ["filed inbox/8.jpg", "hook store exited with status 0"])
            let state = try await house.state(of: daemon) { $0.hooks?.first?.waiting == 0 }
            #expect(state.problems.map(\.code) == ["PI-114"], "\(state.problems)")
            #expect(state.problems.first?.what.contains("/\(Photos.day)/7.jpg") == true, "\(state.problems)")
            try await daemon.stop()
        }

        private func present(of library: [String: Data], in bucket: String, _ server: ObjectServer) async throws -> Int
        {
            var count = 0
            for path in library.keys where try await server.object("\(bucket)/\(path)") != nil { count += 1 }
            return count
        }

        @Test("As a hook it copies what is filed, also what was filed while the server was away")
        func hook() async throws {
            let house = try House()
            let server = try await ObjectServer(in: house)
            let key = house.path("key")
            try write(
                Data("aws_access_key_id=\(ObjectServer.name)\naws_secret_access_key=\(ObjectServer.secret)".utf8),
                to: key)
            chmod(key, 0o600)
            let daemon = try await house.start(
                configuration: Self.configuration + """
                    [hook.store]
                    command = ["\(BuiltPrograms.path("photoinbox"))", "store", "put", "--hook", "--config", "@photoinbox.toml",
                      "--credentials", "@key", "\(server.address("photos"))"]
                    on = ["filed", "set-complete"]

                    """)
            try house.drop(try Photos.unique(1), as: "1.jpg")
            try await daemon.lines(holding: ["filed inbox/1.jpg", "hook store exited with status 0"])
            #expect(try await server.object("photos/\(Photos.day)/1.jpg") == Photos.unique(1))
            try await server.kill()
            for number in 2...4 { try house.drop(try Photos.unique(number), as: "\(number).jpg") }
            try await daemon.lines(
                holding: (2...4).map { "filed inbox/\($0).jpg" } + ["hook store exited with status 75", "connect"])
            let state = try await house.state(of: daemon) { state in
                state.problems.contains { $0.code == "PI-103" && $0.subject == "store" }
            }
            #expect(state.hooks?.first?.waiting ?? 0 > 0)
            try await server.start()
            try await daemon.lines(holding: ["hook store exited with status 0"])
            for number in 2...4 {
                #expect(try await server.object("photos/\(Photos.day)/\(number).jpg") == Photos.unique(number))
            }
            try await daemon.stop()
        }
    }

    /// Servers that answer as S3 does, and do not do what was asked.
    @Suite("photoinbox store test", .enabled(if: LyingServer.isThere, "skipped: Python is not installed"))
    struct TestingStores {
        @Test(
            "A server that replaces, that stores other bytes, or that knows no SHA-256 is refused, with the reason",
            arguments: [
                ("replaces", "replaces an object although"), ("careless", "bytes that differ from the SHA-256"),
                ("silent", "does not say which SHA-256"), ("forbidden", "status 403 (AccessDenied"),
                ("elsewhere", "another region: --region eu-west-1"), ("skewed", "the clock of this machine"),
                ("unlisted", "must also be able to list the bucket"),
            ])
        func refused(_ kind: String, _ reason: String) async throws {
            let house = try House()
            let server = try await LyingServer(in: house)
            let program = try server.store("test", kind)
            #expect(try await program.ending() == .status(69), "\(program.lines)")
            #expect(program.lines.joined().contains(reason), "\(program.lines)")
        }

        @Test("A server that does all of it is usable")
        func usable() async throws {
            let house = try House()
            let server = try await LyingServer(in: house)
            let program = try server.store("test", "honest")
            #expect(try await program.ending() == .status(0), "\(program.lines)")
        }
    }
}

/// A server of S3's answers whose buckets each have a fault: a Python process.
final class LyingServer: Sendable {
    static let isThere = AwkwardServer.isThere

    private let house: House
    private let port: Int

    init(in house: House) async throws {
        self.house = house
        let script = house.path("lying.py")
        try write(Data(Self.script.utf8), to: script)
        let program = try house.launch(path: AwkwardServer.python, ["-u", script, house.library])
        port = Int(try await program.line(holding: "port ").split(separator: " ").last ?? "") ?? 0
    }

    func store(
        _ action: String, _ bucket: String, of configuration: String? = nil, _ options: String...
    ) throws -> RunningProgram {
        try RunningProgram(try command(action, bucket, of: configuration) + options)
    }

    func command(_ action: String, _ bucket: String, of configuration: String? = nil) throws -> [String] {
        let key = house.path("key")
        try write(Data("aws_access_key_id = a\naws_secret_access_key = b\n".utf8), to: key)
        chmod(key, 0o600)
        return [
            BuiltPrograms.path("photoinbox"), "store", action, "--credentials", key,
            "http://127.0.0.1:\(port)/\(bucket)",
        ] + (configuration.map { ["--config", $0] } ?? [])
    }

    private static let script = #"""
        import base64, hashlib, http.server, os, sys
        objects, read = {}, set()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def log_message(self, *words): pass

            def end(self, status, code=None, length=0, **fields):
                body = f"<Error><Code>{code}</Code><Message>no &lt;</Message></Error>".encode() if code else b""
                self.send_response(status)
                for name, value in fields.items(): self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body) or length))
                self.end_headers()
                if self.command != "HEAD": self.wfile.write(body)

            def kind(self): return self.path.split("/")[1]

            def is_alias(self): return self.kind() == "alias" or self.kind() == "nested" and self.path.count("/") > 2

            def file(self): return os.path.join(sys.argv[1], *self.path.split("/")[2:])

            def refused(self):
                kind = self.kind()
                if kind == "forbidden" or kind == "partly" and self.path.endswith("/7.jpg"): self.end(403, "AccessDenied")
                elif kind == "elsewhere": self.end(301, "PermanentRedirect", x_amz_bucket_region="eu-west-1")
                elif kind == "skewed": self.end(403, "RequestTimeTooSkewed")
                elif kind == "readonly": self.end(403, "AccessDenied")
                elif kind == "expired": self.end(400, "ExpiredToken")
                return kind in ("forbidden", "elsewhere", "skewed", "readonly", "expired") or kind == "partly" and self.path.endswith("/7.jpg")

            def do_PUT(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.refused(): return
                digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
                if self.kind() != "careless" and self.headers["x-amz-checksum-sha256"] != digest:
                    return self.end(400, "BadDigest")
                if self.kind() != "replaces" and self.headers["If-None-Match"] == "*" and self.path in objects:
                    return self.end(412, "PreconditionFailed")
                objects[self.path] = (digest, body)
                if self.is_alias(): open(self.file(), "wb").write(body)
                self.end(200, x_amz_checksum_sha256=digest)

            def do_HEAD(self):
                if self.path.count("/") == 2 and self.path.endswith("/"): return self.end(200)
                if self.kind() == "expired": return self.end(400)
                if self.path not in objects: return self.end(403 if self.kind() == "unlisted" else 404)
                if self.kind() == "silent": return self.end(200)
                digest, body = objects[self.path]
                # An object is read before its file is removed, and looked at behind that.
                if self.kind() in ("fickle", "away") and self.path in read: return self.end(403 if self.kind() == "fickle" else 503)
                self.end(200, length=len(body), x_amz_checksum_sha256=digest)

            def do_GET(self):
                body = bytearray(objects[self.path][1])
                read.add(self.path)
                if self.kind() == "rotten": body[len(body) // 2] ^= 1
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[:len(body) // 2] if self.kind() == "cut" else body)
                if self.kind() == "cut": self.close_connection = True

            def do_DELETE(self):
                objects.pop(self.path, None)
                if self.is_alias() and os.path.exists(self.file()): os.unlink(self.file())
                self.end(204)

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print("port", server.server_address[1], flush=True)
        server.serve_forever()
        """#
}
