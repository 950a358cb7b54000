import ControlProtocol
import FileValues
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

extension EndToEnd.Storing {
    /// A daemon with photos of 2017 and 2018 in its library, and what these are by their paths.
    private func house(_ photos: [(name: String, year: Int, content: Data)]) async throws
        -> (House, RunningProgram, [String: Data])
    {
        let house = try House()
        let daemon = try await house.start(configuration: Self.configuration)
        for photo in photos { try drop(photo, into: house) }
        try await daemon.lines(holding: photos.map { "filed inbox/\($0.name) as" })
        return (house, daemon, library(of: house))
    }

    private func drop(_ photo: (name: String, year: Int, content: Data), into house: House) throws {
        let path = house.path(photo.name)
        try write(photo.content, to: path)
        // In July.
        let seconds = Double(photo.year - 1970) * 365.25 * 86_400 + 190 * 86_400
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: seconds)], ofItemAtPath: path)
        #expect(rename(path, "\(house.inbox)/\(photo.name)") == 0)
    }

    private func library(of house: House) -> [String: Data] {
        house.files(in: house.library).filter { !$0.key.hasPrefix(".") }
    }

    private func undated(_ seed: Int) throws -> Data { try Photos.unique(seed, of: "plain.jpg") }

    @Test("Photos that are moved are in the bucket alone, stay in the catalogue, and come back when they are wanted")
    func moves() async throws {
        let sidecar = Data("<x:xmpmeta xmlns:x='adobe:ns:meta/'><!-- 1 --></x:xmpmeta>\n".utf8)
        let (house, daemon, before) = try await house([
            ("a.jpg", 2017, try undated(1)), ("b.jpg", 2017, try undated(2)), ("b.xmp", 2017, sidecar),
            ("c.jpg", 2018, try undated(3)),
        ])
        func path(_ name: String) -> String { before.keys.first { $0.hasSuffix("/\(name)") } ?? name }
        let server = try await ObjectServer(in: house)
        let bucket = server.address("photos/desk")
        #expect(try await server.run("move", bucket).status == 64)
        #expect(library(of: house) == before)
        expect(try await server.run("move", "--until", "2017", bucket), ends: 0, with: "3 moved")
        let left = library(of: house)
        #expect(Set(left.keys) == [path("c.jpg")])
        for name in ["a.jpg", "b.jpg", "b.xmp"] {
            #expect(try await server.object("photos/desk/\(path(name))") == before[path(name)])
        }
        #expect(try await server.object("photos/desk/\(path("c.jpg"))") == nil)
        // Nothing is missing, and each is known with its place.
        let verified = try await house.ask("verify")
        #expect(verified.status == 0, "\(verified.lines)")
        expect(
            try await server.run("verify", "--until", "2017", bucket), ends: 0,
            with: "3 are there, with the recorded SHA-256")
        let other = try await server.run("verify", server.address("photos"))
        #expect(other.lines.contains { $0.contains("3 photos were moved to \(bucket): give that") }, "\(other.lines)")
        #expect(try await house.ask("status").status == 0)
        let explained = try await house.ask("explain", "inbox/a.jpg")
        #expect(explained.text.contains("\(bucket)/\(path("a.jpg"))"), "\(explained.lines)")
        #expect(explained.text.contains("to a bucket"), "\(explained.lines)")
        #expect(
            explained.text.contains("--from 2017-07-09 --until 2017-07-09 --credentials FILE \(bucket)"),
            "\(explained.lines)")
        #expect(!explained.text.contains("photoinbox undo"), "\(explained.lines)")
        // A set is taken back as a whole, or not at all.
        let part = try await house.ask("undo", "inbox/b.jpg", "--yes")
        #expect(part.status == 1 && part.text.contains("photoinbox explain"), "\(part.lines)")
        #expect(library(of: house) == left)
        let undone = try await house.ask("undo", "inbox/a.jpg", "--yes")
        #expect(undone.status == 1 && undone.text.contains("photoinbox explain"), "\(undone.lines)")
        expect(try await server.run("move", "--until", "2017", bucket), ends: 0, with: "0 moved")
        // Another photo gets the free name, and is not moved over the first one.
        try drop(("a.jpg", 2017, try undated(4)), into: house)
        try await daemon.line(holding: "filed inbox/a.jpg as \(path("a.jpg"))")
        let taken = try await server.run("move", "--until", "2017", bucket)
        #expect(
            taken.status == 3 && taken.lines.contains { $0.hasPrefix("different  \(path("a.jpg"))") }, "\(taken.lines)")
        #expect(try await server.object("photos/desk/\(path("a.jpg"))") == before[path("a.jpg")])
        #expect(library(of: house)[path("a.jpg")] == (try undated(4)))
        // Without a time nothing comes back, since nothing is lost; with one both do.
        expect(try await server.run("get", bucket), ends: 0, with: "0 brought back")
        expect(try await server.run("get", "--until", "2017", bucket), ends: 0, with: "3 brought back")
        try await daemon.lines(holding: [
            "/\(path("b.xmp")) as \(path("b.xmp"))", "/\(path("b.jpg")) as \(path("b.jpg"))", "/\(path("a.jpg")) as ",
        ])
        let after = library(of: house)
        #expect(after.count == 5)
        for (path, content) in before { #expect(after.values.contains(content), "\(path)") }
        expect(try await server.run("get", "--until", "2017", bucket), ends: 0, with: "0 brought back")
        // Once more: the set is there as one, its sidecar too.
        expect(
            try await server.run("move", "--until", "2017", bucket), ends: 3, with: "3 moved, 1 not")
        expect(
            try await server.run("get", "--until", "2017", bucket), ends: 0, with: "3 brought back")
        try await daemon.lines(holding: ["b.xmp as \(path("b.xmp"))", "b.jpg as \(path("b.jpg"))", "/a-2.jpg as "])
        #expect(library(of: house) == after)
        let last = try await house.ask("status")
        #expect(last.status == 0, "\(last.lines)")
        try await daemon.stop()
        house.expectNoTemporaries()
        // What another program copies back is adopted where it lies.
        let second = try await house.start(configuration: Self.configuration)
        expect(try await server.run("move", "--from", "2018", bucket), ends: 0, with: "1 moved")
        try await second.stop()
        try write(try #require(before[path("c.jpg")]), to: "\(house.library)/\(path("c.jpg"))")
        let adopted = try await house.ask("adopt", house.library)
        #expect(adopted.status == 0, "\(adopted.lines)")
        let again = try await house.ask("explain", "inbox/c.jpg")
        #expect(again.text.contains("\(house.library)/\(path("c.jpg"))"), "\(again.lines)")
    }

    @Test(
        "A photo that was moved and comes again is filed in the library again, as no loss; a rebuilt catalogue has it, too"
    )
    func comesAgain() async throws {
        let photo = (name: "a.jpg", year: 2017, content: try undated(1))
        let (house, daemon, before) = try await house([photo])
        let server = try await ObjectServer(in: house)
        let bucket = server.address("photos")
        try drop(photo, into: house)
        try await daemon.line(holding: "duplicate inbox/a.jpg")
        expect(try await server.run("move", "--until", "2017", bucket), ends: 0, with: "1 moved")
        // Nothing is deleted for which the bucket's copy would have to be read.
        let discarded = try await house.ask("discard", "2", "--yes")
        #expect(discarded.status == 1 && discarded.text.contains("was moved to \(bucket)"), "\(discarded.lines)")
        #expect(library(of: house).isEmpty)
        try drop(photo, into: house)
        try await daemon.line(holding: "filed inbox/a.jpg as")
        #expect(library(of: house) == before)
        #expect(daemon.count(of: "damage") == 0, "\(daemon.lines)")
        expect(try await server.run("move", "--until", "2017", bucket), ends: 0, with: "1 moved")
        try await daemon.stop()
        // A catalogue that is made anew from the library has it too.
        let rebuilt = try await house.ask("rebuild", "--yes")
        #expect(rebuilt.status == 0, "\(rebuilt.lines)")
        let verified = try await house.ask("verify")
        #expect(verified.status == 0 && verified.text.contains("1 photo is in \(bucket)"), "\(verified.lines)")
        let explained = try await house.ask("explain", "inbox/a.jpg")
        #expect(explained.text.contains("to a bucket"), "\(explained.lines)")
        let last = try await house.start(configuration: Self.configuration)
        expect(try await server.run("get", "--until", "2017", bucket), ends: 0, with: "1 brought back")
        try await last.line(holding: "as \(before.keys.first ?? "")")
        #expect(library(of: house) == before)
        try await last.stop()
    }

    @Test(
        "A set of which one file was edited stays as a whole; a library whose photos were all moved is known all the same"
    )
    func wholeSets() async throws {
        let sidecar = Data("<x:xmpmeta xmlns:x='adobe:ns:meta/'><!-- 1 --></x:xmpmeta>\n".utf8)
        let (house, daemon, before) = try await house([
            ("a.jpg", 2017, try undated(1)), ("b.jpg", 2017, try undated(2)), ("b.xmp", 2017, sidecar),
        ])
        let server = try await ObjectServer(in: house)
        let bucket = server.address("photos")
        let edited = try #require(before.keys.first { $0.hasSuffix("/b.xmp") })
        let changed = Data("<x:xmpmeta xmlns:x='adobe:ns:meta/'><!-- 22 --></x:xmpmeta>\n".utf8)
        try overwrite("\(house.library)/\(edited)", with: changed)
        let part = try await server.run("move", "--until", "2017", bucket)
        #expect(part.status == 3 && part.lines.contains("1 moved, 2 not"), "\(part.lines)")
        #expect(part.lines.contains { $0.hasSuffix("b.jpg: another file of its set stays") }, "\(part.lines)")
        #expect(library(of: house).keys.map { String($0.suffix(5)) }.sorted() == ["b.jpg", "b.xmp"])
        try overwrite("\(house.library)/\(edited)", with: sidecar)
        expect(try await server.run("move", "--until", "2017", bucket), ends: 0, with: "2 moved")
        #expect(library(of: house).isEmpty)
        try await daemon.stop()
        // As where its disk is not mounted.
        rename(house.library, house.path("away"))
        try makeDirectory(house.library)
        let other = try await house.start(configuration: Self.configuration)
        try drop(("c.jpg", 2018, try undated(3)), into: house)
        _ = try await house.state(of: other) { state in state.problems.contains { $0.code == "PI-406" } }
        #expect(library(of: house).isEmpty && house.files(in: house.inbox).count == 1)
        rmdir(house.library)
        rename(house.path("away"), house.library)
        try await other.line(holding: "filed inbox/c.jpg as")
        try await other.stop()
    }

    @Test(
        "The pages have the pictures of a photo that was moved, and send a download of it to the bucket for some minutes"
    )
    func pages() async throws {
        let house = try House()
        let daemon = try await house.start(configuration: Self.configuration + "[pictures]\nenabled = \"yes\"\n")
        let photo = try Photos.named("live.jpg")
        let name = "Säntis 1+2.jpg"
        try house.drop(photo, as: name)
        try await daemon.lines(holding: ["filed inbox/\(name)", ".jpg made"])
        let server = try await ObjectServer(in: house)
        let bucket = server.address("photos/desk")
        expect(try await server.run("move", "--from", "2000", bucket), ends: 0, with: "1 moved")
        let shown = try await house.ask("explain", "inbox/\(name)", "--json").text
        let mark = try #require(shown.firstMatch(of: #/"sha256":"([0-9a-f]{8})/#)?.1)
        let key = "1-\(mark)"
        let pages = try house.pages()
        let client = try await pages.client()
        try await client.signIn(with: try await pages.link())
        #expect(try await client.content("t/\(key)").status == 200)
        #expect(try await client.content("p/\(key)").status == 200)
        // Without credentials it is said where the original is.
        let gone = try await client.content("o/\(key)")
        #expect(gone.status == 410 && String(decoding: gone.bytes, as: UTF8.self).contains("photoinbox store get"))
        let file = house.path("web.bucket")
        let keys =
            "[default]\naws_access_key_id = \(ObjectServer.name)\naws_secret_access_key = \(ObjectServer.secret)\n"
        try write(Data("\(keys)region = eu-central-2\n".utf8), to: file)
        chmod(file, 0o644)
        #expect(try await client.content("o/\(key)").status == 503)
        chmod(file, 0o600)
        let link = try await client.content("o/\(key)")
        let text = String(decoding: link.bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(link.status == 307 && text.contains("eu-central-2%2Fs3"), "\(text)")
        let got = try await ObjectServer.request(text)
        #expect(got.status == 200 && got.body == photo, "\(got.status)")
        let other = text.replacing("X-Amz-Expires=600", with: "X-Amz-Expires=601")
        #expect(try await ObjectServer.request(other).status == 403)
        try await daemon.stop()
    }

    @Test(
        "A file that was altered in the library stays there, and so does one whose object is not what the server says")
    func stays() async throws {
        let (house, daemon, before) = try await house([
            ("a.jpg", 2017, try undated(1)), ("b.jpg", 2017, try undated(2)),
        ])
        let server = try await ObjectServer(in: house)
        let bucket = server.address("photos")
        expect(try await server.run("put", bucket), ends: 0, with: "2 copied, 0 were there")
        let altered = try #require(before.keys.first { $0.hasSuffix("/a.jpg") })
        var bytes = try #require(before[altered])
        bytes[bytes.count / 2] ^= 1
        try overwrite("\(house.library)/\(altered)", with: bytes)
        let moved = try await server.run("move", "--until", "2017", bucket)
        #expect(moved.status == 3 && moved.lines.contains("1 moved, 1 not"), "\(moved.lines)")
        #expect(
            moved.lines.contains { $0.contains("stays: its file in the library has other bytes") }, "\(moved.lines)")
        #expect(library(of: house) == [altered: bytes])
        try overwrite("\(house.library)/\(altered)", with: try #require(before[altered]))
        let lying = try await LyingServer(in: house)
        for kind in ["rotten", "cut"] {
            let program = try lying.store("move", kind, of: house.path("photoinbox.toml"), "--until", "2017")
            let end = try await program.ending()
            #expect(end != .status(0) && program.lines.contains("0 moved, 1 not"), "\(kind): \(program.lines)")
            #expect(library(of: house) == [altered: try #require(before[altered])], "\(kind)")
        }
        // What "store test" refuses gets no only copy: one that replaces objects, and one that shows the library's own files.
        for (kind, reason) in [
            ("replaces", "replaces an object"), ("alias", "are the library's own files"),
            ("nested", "are the library's own files"),
        ] {
            let program = try lying.store("move", kind, of: house.path("photoinbox.toml"), "--until", "2017")
            #expect(try await program.ending() == .status(69), "\(kind): \(program.lines)")
            #expect(program.lines.contains { $0.contains(reason) }, "\(kind): \(program.lines)")
            #expect(library(of: house) == [altered: try #require(before[altered])], "\(kind)")
        }
        // The photo has another path by now than the object that was read.
        let renamed = "\(altered).renamed.jpg"
        rename("\(house.library)/\(altered)", "\(house.library)/\(renamed)")
        #expect(try await house.ask("verify", "--repair", "--yes").text.contains("moved"))
        let shown = try await house.ask("explain", "inbox/a.jpg", "--json").text
        let hash = try #require(shown.firstMatch(of: #/"sha256":"([0-9a-f]{64})/#)?.1)
        let content = FileValues.bytes(ofHexadecimal: hash.utf8) ?? []
        let late = ControlRequest(
            .store(
                photo: 1, path: BytePath(altered), bucket: BytePath(bucket),
                sha256: content))
        let refused = try await house.exchange(framed(late.json()))
        #expect(refused?.status == 75, "\(refused?.message ?? "")")
        #expect(library(of: house).keys.sorted() == [renamed])
        rename("\(house.library)/\(renamed)", "\(house.library)/\(altered)")
        #expect(try await house.ask("verify", "--repair", "--yes").text.contains("moved"))
        let honest = try lying.store("move", "honest", of: house.path("photoinbox.toml"), "--until", "2017")
        #expect(try await honest.ending() == .status(0), "\(honest.lines)")
        #expect(library(of: house).isEmpty)
        try await daemon.stop()
        // Without a daemon nothing is copied for nothing.
        let none = try lying.store("move", "none", of: house.path("photoinbox.toml"), "--from", "2000")
        #expect(try await none.ending() == .status(69), "\(none.lines)")
    }

    @Test("A set of which one file cannot be moved stays whole")
    func setsStay() async throws {
        let sidecar = Data("<x:xmpmeta xmlns:x='adobe:ns:meta/'><!-- 1 --></x:xmpmeta>\n".utf8)
        let (house, daemon, before) = try await house([
            ("a.jpg", 2017, try undated(1)), ("a.xmp", 2017, sidecar), ("b.jpg", 2017, try undated(2)),
        ])
        let server = try await ObjectServer(in: house)
        let bucket = server.address("photos")
        expect(try await server.run("put", bucket), ends: 0, with: "3 copied, 0 were there")
        let photo = try #require(before.keys.first { $0.hasSuffix("/a.jpg") })
        let path = "\(house.library)/\(photo)"
        // Altered since it was copied, then with a second name.
        var bytes = try #require(before[photo])
        bytes[bytes.count / 2] ^= 1
        try overwrite(path, with: bytes)
        let altered = try await server.run("move", "--until", "2017", bucket)
        #expect(altered.status == 3 && altered.lines.contains("1 moved, 2 not"), "\(altered.lines)")
        #expect(altered.lines.contains { $0.contains("a.xmp: another file of its set stays") }, "\(altered.lines)")
        try overwrite(path, with: try #require(before[photo]))
        #expect(Glibc.link(path, house.path("second")) == 0)
        let linked = try await server.run("move", "--until", "2017", bucket)
        #expect(linked.status == 3 && linked.lines.contains("0 moved, 2 not"), "\(linked.lines)")
        let sets = before.filter { !$0.key.hasSuffix("/b.jpg") }
        #expect(library(of: house) == sets)
        unlink(house.path("second"))
        expect(try await server.run("move", "--until", "2017", bucket), ends: 0, with: "2 moved")
        #expect(library(of: house).isEmpty)
        try await daemon.stop()
    }

    @Test("Where the first object cannot be seen once its file is removed, no other photo is moved")
    func stopsAtTheFirst() async throws {
        let (house, daemon, before) = try await house(
            try (0..<20).map { ("\($0).jpg", 2017, try undated($0)) })
        let lying = try await LyingServer(in: house)
        for (kind, left) in [("fickle", 19), ("away", 18)] {
            let program = try lying.store("move", kind, of: house.path("photoinbox.toml"), "--until", "2017")
            let end = try await program.ending()
            #expect(end != .status(0) && program.lines.contains("1 moved, 1 not, stopped"), "\(kind): \(program.lines)")
            #expect(program.lines.contains { $0.contains("it is moved, and cannot be seen") }, "\(program.lines)")
            let there = library(of: house)
            #expect(there.count == left && there.allSatisfy { before[$0.key] == $0.value }, "\(kind)")
        }
        try await daemon.stop()
    }

    @Test(
        "After SIGKILL to the daemon, the command or the server, each photo is in the library or the bucket, where the catalogue has it; then all are moved"
    )
    func killsMoving() async throws {
        let photos = try (0..<24).map { (name: "\($0).jpg", year: 2017, content: try Photos.large($0, bytes: 200_000)) }
        let (house, first, before) = try await house(photos)
        let server = try await ObjectServer(in: house)
        var daemon = first
        enum Victim: CaseIterable { case daemon, command, server }
        for round in 0..<9 {
            let victim = Victim.allCases[round % 3]
            let bucket = "photos/round\(round)"
            async let run = server.run("move", "--until", "2024", server.address(bucket))
            _ = try await poll {
                library(of: house).count
            } until: {
                $0 <= 22 - round
            }
            switch victim {
            case .daemon:
                daemon.signal(SIGKILL)
                #expect(try await daemon.ending() == .signal(SIGKILL))
            case .command: server.killCommands()
            case .server:
                try await server.kill()
                try await server.start()
            }
            _ = try await run
            let there = library(of: house)
            for (path, photo) in before {
                let local = there[path] ?? there.first { $0.key.contains(".photo-inbox") && $0.value == photo }?.value
                if local != photo {
                    #expect(try await server.object("\(bucket)/\(path)") == photo, "\(victim) \(path)")
                }
            }
            if victim == .daemon { daemon = try await house.start(configuration: Self.configuration) }
            let rest = try await server.run("move", "--until", "2024", server.address(bucket))
            #expect(rest.status == 0, "\(rest.lines)")
            #expect(library(of: house).isEmpty)
            #expect(
                try await server.run("verify", server.address(bucket)).lines.last
                    == "24 are there, with the recorded SHA-256")
            #expect(try await house.ask("verify").status == 0)
            house.expectNoTemporaries()
            expect(
                try await server.run("get", "--until", "2024", server.address(bucket)), ends: 0,
                with: "24 brought back")
            _ = try await poll {
                library(of: house)
            } until: {
                $0 == before
            }
            _ = try await poll {
                house.files(in: house.inbox).count
            } until: {
                $0 == 0
            }
        }
        try await daemon.stop()
    }
}
