import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    @Suite("Programs that send photos by WebDAV", .timeLimit(.minutes(60)))
    struct Devices {
        private static func isThere(_ program: String) -> Bool { access("/usr/bin/\(program)", X_OK) == 0 }

        /// A house whose uploads go into the inbox phones, and a device of the person who starts the pages.
        private struct World {
            let house: House
            let daemon: RunningProgram
            let user = NSUserName()
            let password: String

            init() async throws {
                house = try House()
                try makeDirectory(house.path("phones"))
                daemon = try await house.start(
                    configuration: House.oneCard + "\n[inbox.phones]\npath = \"@phones\"\n[web]\ninbox = \"phones\"\n")
                let added = try await house.ask(
                    "web", "device", "add", user, "phone", "--address", "https://h.example/x")
                #expect(added.text.contains("https://h.example/x/dav/"), "\(added.lines)")
                password = String(try #require(added.text.firstMatch(of: #/\n([0-9a-z]{4}(-[0-9a-z]{4}){6})\n/#)).1)
            }

            var fields: [String: String] {
                let basic = Data("\(user):\(password)".utf8).base64EncodedString()
                return ["Authorization": "Basic \(basic)", "X-Photo-Inbox": ""]
            }

            /// Configured as docs/pages.md says, which names it `inbox`.
            func rclone(_ words: [String], _ base: String) async throws -> [String] {
                let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                    .deletingLastPathComponent()
                let page = try String(contentsOf: root.appending(path: "docs/pages.md"), encoding: .utf8)
                let recipe = try #require(page.firstMatch(of: #/`rclone (config create [^`]+)`/#)).1
                    .replacing("https://photos.example.org/dav", with: base + "dav")
                    .replacing("user=ana", with: "user=\(user)").replacing("pass=…", with: "pass=\(password)")
                _ = try await run(recipe.split(separator: " ").map(String.init))
                return try await run(words + ["-v"])
            }

            private func run(_ words: [String]) async throws -> [String] {
                let program = try RunningProgram(
                    ["/usr/bin/rclone"] + words + ["--config", house.path("rclone.conf")])
                let ending = try await program.ending()
                #expect(ending == .status(0), "\(program.lines.joined(separator: "\n"))")
                return program.lines
            }
        }

        @Test("A device sends with its password until it is removed, into its own directory, and from no other site")
        func curl() async throws {
            let world = try await World()
            let (house, daemon) = (world.house, world.daemon)
            let pages = try await house.pages().client()
            let photo = house.path("photo")
            try write(try Photos.unique(1), to: photo)
            let challenge = try await pages.ask("PROPFIND", "dav/", fields: ["Depth": "0"])
            #expect(challenge.status == 401)
            #expect(challenge.fields["www-authenticate"] == "Basic realm=\"photo-inbox\", charset=\"UTF-8\"")
            let wrong = world.fields.merging([
                "Authorization": "Basic "
                    + Data("\(world.user):\(String(repeating: "a", count: 28))".utf8).base64EncodedString()
            ]) { $1 }
            let refused = try await pages.ask("PUT", "dav/a.jpg", "@\(photo)", fields: wrong)
            #expect(refused.status == 401 && refused.fields["www-authenticate"] != nil, "\(refused.text)")
            for site in ["cross-site", "same-site"] {
                let fields = world.fields.merging(["Sec-Fetch-Site": site]) { $1 }
                #expect(try await pages.ask("PUT", "dav/a.jpg", "@\(photo)", fields: fields).status == 403)
                #expect(try await pages.ask("PUT", "up/a.jpg", "@\(photo)", fields: fields).status == 403)
            }
            #expect(try await pages.ask("GET", "person", fields: world.fields).status == 401)
            #expect(try await pages.ask("PROPFIND", "", fields: world.fields).status == 405)
            let root = try await pages.ask("OPTIONS", "")
            #expect(root.status == 200 && root.fields["dav"] == "1, 2", "\(root.text)")

            #expect(try await pages.ask("MKCOL", "dav/DCIM/", fields: world.fields).status == 201)
            let put = try await pages.ask("PUT", "dav/DCIM/a.jpg.tacitpart", "@\(photo)", fields: world.fields)
            #expect(put.status == 201, "\(put.text)")
            let to = ["Destination": "https://photos.example.org/prefix/dav/DCIM/a.jpg"]
            let moved = try await pages.ask(
                "MOVE", "dav/DCIM/a.jpg.tacitpart", fields: world.fields.merging(to) { $1 })
            #expect(moved.status == 201, "\(moved.text)")
            try await daemon.line(holding: "filed phones/\(world.user)/phone/")
            try write(try Photos.unique(2), to: photo)
            #expect(try await pages.ask("PUT", "up/b.jpg", "@\(photo)", fields: world.fields).status == 201)
            try await daemon.line(holding: "filed phones/\(world.user)/phone/")
            let prefix = ["X-Forwarded-Prefix": "/prefix", "Depth": "1"]
            let found = try await pages.ask("PROPFIND", "dav/DCIM", fields: world.fields.merging(prefix) { $1 })
            #expect(found.status == 207 && found.text.contains("<D:href>/prefix/dav/DCIM/a.jpg</D:href>"))
            #expect(found.fields["content-type"] == "application/xml; charset=utf-8")
            #expect(found.fields["content-security-policy"]?.hasPrefix("sandbox") == true)

            let listed = try await house.ask("web", "device", "list")
            #expect(listed.text.contains("\(world.user)") && listed.text.contains("phone"))
            #expect(try await house.ask("web", "device", "add", "nobody-here", "x").status == 4)
            #expect(try await house.ask("web", "device", "add", world.user, "1x").status == 64)
            #expect(try await house.ask("web", "device", "remove", world.user, "phone").status == 0)
            #expect(try await house.ask("web", "device", "remove", world.user, "phone").status == 4)
            #expect(try await house.ask("web", "device", "list").status == 4)
            #expect(try await pages.ask("PUT", "dav/c.jpg", "@\(photo)", fields: world.fields).status == 401)
            // Another device of this name sees nothing of what the first one sent.
            let again = try await house.ask("web", "device", "add", world.user, "phone")
            let password = String(try #require(again.text.firstMatch(of: #/\n([0-9a-z-]{34})\n/#), "\(again.lines)").1)
            let basic = "Basic \(Data("\(world.user):\(password)".utf8).base64EncodedString())"
            let empty = try await pages.ask("PROPFIND", "dav/", fields: ["Authorization": basic, "Depth": "1"])
            #expect(empty.status == 207 && !empty.text.contains("DCIM"), "\(empty.text)")
            try await daemon.stop()
        }

        @Test("Whoever may not send, or is removed, has no device")
        func people() async throws {
            let world = try await World()
            let house = world.house
            _ = try await house.link(for: "ana")
            #expect(try await house.ask("web", "device", "add", "ana", "phone").status == 4)
            _ = try await house.link(for: "ana", "--role", "sender")
            let added = try await house.ask("web", "device", "add", "ana", "phone")
            let password = String(try #require(added.text.firstMatch(of: #/\n([0-9a-z-]{34})\n/#), "\(added.lines)").1)
            let client = Client(base: "http://x/", socket: try await house.pagesForOthers())
            let basic = ["Authorization": "Basic \(Data("ana:\(password)".utf8).base64EncodedString())"]
            // Whether photoinbox-drop runs is another matter.
            #expect(try await client.ask("OPTIONS", "dav/", fields: basic).status != 401)
            _ = try await house.link(for: "ana", "--role", "viewer")
            #expect(try await client.ask("OPTIONS", "dav/", fields: basic).status == 401)
            #expect(try await client.ask("PUT", "up/a.jpg", "x", fields: basic).status == 401)
            let removed = try await house.ask("web", "user", "remove", "ana")
            #expect(removed.text == "removed ana, and 1 device")
            let left = try String(contentsOfFile: house.path("web.devices"), encoding: .utf8)
            #expect(left.contains("\(world.user):phone:") && !left.contains("ana"))
            // Lines that somebody has left of an ana are not those of a new one; a wrong one keeps nobody in.
            let line = "ana:tablet:1:" + String(repeating: "0", count: 64) + "\n"
            try write(Data(line.utf8), to: house.path("web.devices"))
            _ = try await house.link(for: "ana")
            #expect(try !String(contentsOfFile: house.path("web.devices"), encoding: .utf8).contains("ana"))
            try write(Data("nonsense\n".utf8), to: house.path("web.devices"))
            #expect(try await house.ask("web", "user", "remove", "ana").status == 78)
            let users = try String(contentsOfFile: house.path("web.users"), encoding: .utf8)
            #expect(!users.contains("ana:"))
            try await world.daemon.stop()
        }

        @Test(
            "rclone copies once: what is filed, and has left the inbox, is not sent again, also after a kill",
            .enabled(if: isThere("rclone"), "skipped: needs rclone; scripts/deps web-test installs it"))
        func rclone() async throws {
            let world = try await World()
            let (house, daemon) = (world.house, world.daemon)
            let source = house.path("source")
            for (number, name) in ["IMG_1.jpg", "a/IMG_2.jpg", "a/b c/ä & <x>.jpg"].enumerated() {
                try makeDirectory((source + "/" + name as NSString).deletingLastPathComponent)
                try write(try Photos.unique(number), to: source + "/" + name)
            }
            var pages = try house.pages()
            var base = try await pages.client().base
            _ = try await world.rclone(["copy", source, "inbox:pics"], base)
            try await daemon.lines(3, holding: "filed phones/\(world.user)/phone/")
            for _ in 0..<2 {
                let again = try await world.rclone(["copy", source, "inbox:pics"], base)
                #expect(again.contains { $0.contains("There was nothing to transfer") }, "\(again)")
                pages.program.signal(SIGKILL)
                _ = try await pages.program.ending()
                pages = try house.pages()
                base = try await pages.client().base
            }
            let checked = try await world.rclone(["check", "--size-only", source, "inbox:pics"], base)
            #expect(checked.contains { $0.contains("3 matching files") }, "\(checked)")
            // What is removed from the listing stays filed.
            _ = try await world.rclone(["purge", "inbox:pics"], base)
            #expect(Tree.files(below: house.path("library")).keys.count(where: { $0.hasSuffix(".jpg") }) == 3)
            try await daemon.stop()
        }

        @Test(
            "litmus: what it says of a server that keeps no content and copies nothing",
            .enabled(if: isThere("litmus"), "skipped: needs litmus; scripts/deps web-test installs it"))
        func litmus() async throws {
            let world = try await World()
            let base = try await world.house.pages().client().base
            let directory = world.house.path("litmus")
            try makeDirectory(directory)
            // basic: content is not readable here. copymove: nor is it copied.
            let expected: [String: Set<String>] = [
                "basic": ["put_get", "put_get_utf8_segment"],
                "copymove": ["copy_simple", "copy_overwrite", "copy_coll", "copy_shallow", "move_coll"],
                "http": [], "props": ["propset", "propmanyns", "propget"],
            ]
            for (name, failing) in expected {
                let program = try RunningProgram([
                    "/bin/sh", "-c",
                    "cd \(directory) && TESTS=\(name) exec litmus -k \(base)dav/ \(world.user) \(world.password)",
                ])
                _ = try await program.ending()
                let text = program.lines.joined(separator: "\n")
                let failed = Set(text.matches(of: #/(\w+)\.+ FAIL/#).map { String($0.1) })
                #expect(failed == failing, "\(text)")
                #expect(text.contains("summary for `\(name)'"), "\(text)")
            }
            try await world.daemon.stop()
        }
    }
}
