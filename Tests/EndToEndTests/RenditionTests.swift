import ControlProtocol
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Renditions by the real decoder.
    @Suite("Each inbox's renditions are made")
    struct Renditions {
        private static let configuration = """
            library = "@library"
            state = "@st"
            [inbox.inbox]
            path = "@inbox"
            renditions = ["hash", "tilt-shift"]
            [pictures]
            enabled = "yes"
            preview = "300"
            """

        private func ask(_ house: House, _ arguments: String...) async throws -> (status: Int32?, lines: [String]) {
            let program = try RunningProgram(
                [BuiltPrograms.path("photoinbox")] + arguments + ["--config", house.path("photoinbox.toml")])
            let ending = try await program.ending()
            guard case .status(let status) = ending else { return (nil, program.lines) }
            return (status, program.lines)
        }

        private func object(_ lines: [String]) throws -> [String: Any] {
            let last = try #require(lines.last)
            return try #require(try JSONSerialization.jsonObject(with: Data(last.utf8)) as? [String: Any])
        }

        @Test("Near duplicates are found, a tilt-shift is made, and show reports both")
        func arrivals() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: Self.configuration)
            // After a duplicate, the catalogue's own numbers of photos differ from those of operations.
            try house.drop(try Photos.unique(3), as: "other.jpg")
            try await daemon.lines(holding: ["filed inbox/other.jpg", "other.jpg made"])
            try house.drop(try Photos.unique(3), as: "again.jpg")
            try await daemon.line(holding: "duplicate inbox/again.jpg")
            try house.drop(try Photos.unique(1, of: "rocket.jpg"), as: "rocket.jpg")
            try house.drop(try Photos.unique(2, of: "rocket.jpg"), as: "copy.jpg")
            try await daemon.lines(holding: ["rocket.jpg made", "copy.jpg made"])
            let told = try #require(try await house.state(of: daemon).pictures?.renditions)
            #expect(told.map(\.kind) == ["thumbnail", "preview", "hash", "tilt-shift"])
            #expect(told.allSatisfy { $0.made == 3 && $0.failed == 0 })
            try await daemon.stop()
            let files = house.files(in: house.path("st/thumbnails")).keys
            #expect(files.filter { $0.hasSuffix("-tilt-shift.jpg") }.count == 3)

            var answer = try await ask(house, "similar", "--json")
            #expect(answer.status == 0)
            var fields = try object(answer.lines)
            #expect(fields["described"] as? Int == 3 && fields["found"] as? Int == 1)
            let group = try #require((fields["groups"] as? [[String: Any]])?.first?["photos"] as? [[String: Any]])
            #expect(group.count == 2 && group.allSatisfy { $0["distance"] as? Int == 0 })
            let numbers = group.compactMap { ($0["photo"] as? [String: Any])?["operation"] as? Int }
            #expect(Set(numbers) == [3, 4])
            answer = try await ask(house, "similar", "--inbox", "nowhere")
            #expect(answer.status == 4)

            answer = try await ask(house, "show", "photo:1", "--json")
            fields = try object(answer.lines)
            let kinds = (fields["renditions"] as? [[String: Any]])?.map { "\($0["kind"] ?? "") \($0["state"] ?? "")" }
            #expect(kinds == ["thumbnail made", "preview made", "hash made", "tilt-shift made"])
            answer = try await ask(house, "show", "photo:1")
            #expect(answer.lines.contains { $0.contains("tilt-shift") && $0.hasSuffix("-tilt-shift.jpg") })
            #expect(answer.lines.contains { $0.contains("hash") && $0.contains("0x") })
            answer = try await ask(house, "explain", "inbox/rocket.jpg")
            #expect(answer.lines.contains { $0.contains("tilt-shift") })
        }

        @Test(
            "Newly configured renditions are made from existing ones, and failures are recorded with their reasons"
        )
        func later() async throws {
            let house = try House()
            let plain = Self.configuration.replacing("[\"hash\", \"tilt-shift\"]", with: "[\"thumbnail\"]")
            var daemon = try await house.start(configuration: plain)
            try house.drop(try Photos.unique(1, of: "rocket.jpg"), as: "rocket.jpg")
            try await daemon.line(holding: "rocket.jpg made")
            #expect(house.files(in: house.path("st/thumbnails")).keys.filter { $0.hasSuffix(".jpg") }.count == 2)
            let wanted = Self.configuration.replacing("\"tilt-shift\"", with: "\"googly\"")
            try house.configure(wanted)
            daemon.signal(SIGHUP)
            try await daemon.line(holding: "no googly of")
            try await daemon.stop()
            var answer = try await ask(house, "show", "photo:1")
            #expect(answer.lines.contains { $0.contains("googly") && $0.contains("none: ") })
            #expect(answer.lines.contains { $0.contains("hash") && $0.contains("0x") })
            // It is not retried.
            daemon = try await house.start(configuration: wanted)
            try house.drop(try Photos.unique(2, of: "rocket.jpg"), as: "second.jpg")
            try await daemon.line(holding: "second.jpg made")
            #expect(daemon.count(of: "no googly of") == 1)
            try await daemon.stop()
            answer = try await ask(house, "thumbs", "--rebuild")
            #expect(answer.status == 0, "\(answer.lines)")
        }

        @Test(
            "--check and a notice report that the decoder cannot find faces for googly eyes",
            .enabled(if: !findsFaces, "skipped: this decoder finds faces"))
        func withoutFaces() async throws {
            let house = try House()
            let wanted = Self.configuration.replacing("\"tilt-shift\"", with: "\"googly\"")
            try house.configure(wanted)
            let check = try house.launch(["--check", "--config", house.path("photoinbox.toml")])
            #expect(try await check.ending() == .status(0))
            #expect(check.lines.contains { $0.contains("built without face detection") }, "\(check.lines)")
            let daemon = try await house.start(configuration: wanted, reporting: ["PI-113"])
            try house.configure(Self.configuration)
            daemon.signal(SIGHUP)
            try await daemon.line(holding: "PI-113 is over")
            try await daemon.stop()
        }

        private static let findsFaces =
            (try? runProgram([BuiltPrograms.path("photoinbox-decoder"), "--finds-faces"])) != nil

        @Test("A rebuilt catalogue gets the perceptual hashes from existing renditions")
        func rebuilt() async throws {
            let house = try House()
            var daemon = try await house.start(configuration: Self.configuration)
            try house.drop(try Photos.unique(1, of: "rocket.jpg"), as: "rocket.jpg")
            try await daemon.line(holding: "rocket.jpg made")
            try await daemon.stop()
            let pictures = house.files(in: house.path("st/thumbnails")).filter { $0.key.hasSuffix(".jpg") }
            var answer = try await ask(house, "rebuild")
            #expect(answer.status == 0, "\(answer.lines)")
            answer = try await ask(house, "similar", "--json")
            #expect(try object(answer.lines)["described"] as? Int == 0)
            daemon = try await house.start(configuration: Self.configuration)
            try await daemon.line(holding: "rocket.jpg made")
            try await daemon.stop()
            answer = try await ask(house, "similar", "--json")
            #expect(try object(answer.lines)["described"] as? Int == 1)
            #expect(house.files(in: house.path("st/thumbnails")).filter { $0.key.hasSuffix(".jpg") } == pictures)
        }

        @Test(
            "A contact sheet is atomic, does not replace a file by default, and lists photos without a picture"
        )
        func sheet() async throws {
            let house = try House()
            let daemon = try await house.start(
                configuration: Self.configuration.replacing("enabled = \"yes\"", with: "enabled = \"no\""))
            for (number, name) in ["a.jpg", "b\u{7}\u{1B}[31m.jpg", "ж é 写.jpg"].enumerated() {
                try house.drop(try Photos.unique(number), as: name)
            }
            try house.drop(try Photos.tooLarge(), as: "bomb.jpg")
            try await daemon.lines(4, holding: "filed inbox/")
            try await daemon.stop()
            let path = house.path("sheet.jpg")
            var answer = try await ask(house, "sheet", "--since", "yesterday", "-o", path, "--json")
            #expect(answer.status == 0, "\(answer.lines)")
            let fields = try object(answer.lines)
            #expect(fields["photos"] as? Int == 4 && fields["without_picture"] as? Int == 1)
            let sheet = try Data(contentsOf: URL(filePath: path))
            #expect(sheet.starts(with: [0xFF, 0xD8, 0xFF]) && sheet.suffix(2) == Data([0xFF, 0xD9]))
            try overwrite(path, with: Data("mine".utf8))
            answer = try await ask(house, "sheet", "-o", path)
            #expect(answer.status == 1 && answer.lines.contains { $0.contains("--force") })
            #expect(try Data(contentsOf: URL(filePath: path)) == Data("mine".utf8))
            answer = try await ask(house, "sheet", "-o", path, "--force", "--columns", "2", "--tile", "96")
            #expect(answer.status == 0 && answer.lines.last?.contains("4 photos, 1 without a picture") == true)
            #expect(try Data(contentsOf: URL(filePath: path)).starts(with: [0xFF, 0xD8, 0xFF]))
            answer = try await ask(house, "sheet", "-o", path, "--force", "--inbox", "nowhere")
            #expect(answer.status == 4)
            answer = try await ask(house, "sheet", "-o", house.path("nowhere/sheet.jpg"))
            #expect(answer.status == 1)
            #expect(house.files(in: house.path("")).keys.contains { $0.hasSuffix(".part") } == false)
        }
    }
}
