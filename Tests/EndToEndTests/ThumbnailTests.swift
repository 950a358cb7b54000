import ControlProtocol
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Thumbnails by the real decoder.
    @Suite("Thumbnails are made after filing and never delay it")
    struct Thumbnails {
        private static func configuration(_ pictures: String...) -> String {
            """
            library = "@library"
            state = "@st"
            [inbox.inbox]
            path = "@inbox"
            [pictures]
            \(pictures.joined(separator: "\n"))
            """
        }

        private func pictures(of house: House) -> [String: Data] { house.files(in: house.path("st/thumbnails")) }

        /// Runs `photoinbox` with the house's configuration.
        private func ask(_ house: House, _ arguments: String...) async throws -> (status: Int32?, lines: [String]) {
            let program = try RunningProgram(
                [BuiltPrograms.path("photoinbox")] + arguments + ["--config", house.path("photoinbox.toml")])
            let ending = try await program.ending()
            guard case .status(let status) = ending else { return (nil, program.lines) }
            return (status, program.lines)
        }

        @Test("Each filed photo gets three JPEGs, and one that cannot be decoded is filed, with the reason recorded")
        func arrivals() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: Self.configuration("enabled = \"yes\""))
            let began = ContinuousClock.now
            try house.drop(try Photos.unique(1, of: "rocket.jpg"), as: "rocket.jpg")
            try await daemon.lines(holding: ["filed inbox/rocket.jpg", "rocket.jpg made"])
            var made = pictures(of: house).filter { $0.key.hasSuffix(".jpg") }
            #expect(made.count == 3 && made.keys.contains { $0.hasSuffix("-512.jpg") })
            #expect(made.keys.contains { $0.hasSuffix("-320.jpg") })
            #expect(made.keys.contains { $0.hasSuffix("-2048.jpg") })
            #expect(
                made.values.allSatisfy { $0.starts(with: [0xFF, 0xD8, 0xFF]) && $0.suffix(2) == Data([0xFF, 0xD9]) })

            try house.drop(try Photos.tooLarge(), as: "bomb.jpg")
            try await daemon.lines(holding: ["filed inbox/bomb.jpg", "bomb.jpg: 65500 x 65500 pixels"])
            try house.drop(try Photos.unique(2), as: "after.jpg")
            try await daemon.lines(holding: ["filed inbox/after.jpg", "after.jpg made"])
            made = pictures(of: house)
            #expect(made.keys.filter { $0.hasSuffix(".jpg") }.count == 6)
            let reasons = made.filter { $0.key.hasSuffix(".txt") }.values.map { String(decoding: $0, as: UTF8.self) }
            // The second line identifies the decoder.
            let lines = reasons.map { $0.split(separator: "\n", omittingEmptySubsequences: false) }
            #expect(lines.count == 1 && lines[0].count == 3 && lines[0][0] == "65500 x 65500 pixels", "\(reasons)")
            #expect(lines[0].count > 1 && UInt64(lines[0][1], radix: 16) != nil, "\(reasons)")

            let told = try #require(try await house.state(of: daemon).pictures)
            #expect(told.made == 2 && told.failed == 1 && told.decodersLost == 0)
            // One, unless it was idle for 30 seconds in between, on a busy machine.
            #expect(
                told.decodersStarted == 1 || told.decodersStarted == 2 && ContinuousClock.now - began > .seconds(22))
            #expect(told.unconfined == nil && told.trouble == nil)
            let status = try await ask(house, "status")
            #expect(status.lines.contains { $0.contains("thumbnails") && $0.contains("2 made, 1 failed") })
            var explained = try await ask(house, "explain", "inbox/after.jpg")
            for (name, ending) in [("thumbnail", "-512.jpg"), ("preview", "-2048.jpg")] {
                let rows = explained.lines.filter { $0.drop { $0 == " " }.hasPrefix("\(name)  ") }
                #expect(rows.count == 1 && rows[0].hasSuffix(ending), "\(explained.lines)")
            }
            explained = try await ask(house, "explain", "inbox/bomb.jpg")
            #expect(explained.lines.contains { $0.contains("no thumbnail") && $0.contains("65500 x 65500 pixels") })
            try await daemon.stop()
            #expect(!pictures(of: house).keys.contains { $0.hasSuffix(".part") })
        }

        /// A script that runs the decoder after a line of its own.
        private static func decoder(_ house: House, after line: String) async throws -> String {
            let path = house.path("decoder")
            let script = "#!/bin/sh\n\(line)\nexec \(BuiltPrograms.path("photoinbox-decoder")) \"$@\"\n"
            try overwrite(path, with: Data(script.utf8))
            chmod(path, 0o755)
            // While a program that was just started by another test still has the file open, it is busy (ETXTBSY).
            _ = try await poll {
                try? runProgram([path, "--identify"])
            } until: {
                $0 != nil
            }
            return path
        }

        private static let hasFilms: Bool = {
            var found = glob_t()
            defer { globfree(&found) }
            return glob("/usr/lib/*/libavformat.so.*", 0, nil, &found) == 0
        }()

        @Test(
            "Films and animations get thumbnails, films no hash, and a profile that cannot be used is reported",
            .enabled(if: hasFilms, "skipped: needs libavformat"))
        func films() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: Self.configuration("enabled = \"yes\""))
            for name in ["film.mp4", "animated.gif"] { try house.drop(try Photos.named(name), as: name) }
            // A HEIF that holds a sequence and no picture.
            var sequence = try Photos.named("film.mp4")
            for (old, new) in [("ftypisom", "ftypmsf1"), ("vide", "pict")] {
                let place = try #require(sequence.firstRange(of: Data(old.utf8)))
                sequence.replaceSubrange(place, with: Data(new.utf8))
            }
            try house.drop(sequence, as: "sequence.heifs")
            let segment = Data("ICC_PROFILE\0\u{1}\u{1}no profile at all".utf8)
            let photo = try Photos.unique(1)
            try house.drop(
                photo.prefix(2) + [0xFF, 0xE2, 0, UInt8(segment.count + 2)] + segment + photo.dropFirst(2),
                as: "profile.jpg")
            try await daemon.lines(holding: [
                "film.mp4 made", "animated.gif made", "sequence.heifs made", "profile.jpg made",
                "profile.jpg cannot be used, ignoring it",
            ])
            let pictures = try #require(try await house.state(of: daemon).pictures)
            #expect(pictures.made == 4 && pictures.failed == 0)
            let made = Dictionary(uniqueKeysWithValues: (pictures.renditions ?? []).map { ($0.kind, $0.made) })
            #expect(made == ["thumbnail": 4, "preview": 4, "hash": 3])
            try await daemon.stop()
        }

        @Test(
            "A film that the decoder cannot read yet is no failure, and gets its thumbnail when it can",
            .enabled(if: hasFilms, "skipped: needs libavformat"))
        func filmsLater() async throws {
            let house = try House()
            // As where libav is not installed: it loads nothing.
            let decoder = try await Self.decoder(
                house, after: "for word; do shift; [ \"$word\" = --films ] || set -- \"$@\" \"$word\"; done")
            let daemon = try await house.start(
                configuration: Self.configuration("enabled = \"yes\"", "decoder = \"\(decoder)\""))
            try house.drop(try Photos.named("film.mp4"), as: "film.mp4")
            try await daemon.lines(holding: ["filed inbox/film.mp4", "film.mp4: films: libavformat"])
            let pictures = try #require(try await house.state(of: daemon).pictures)
            #expect(pictures.made == 0 && pictures.failed == 0 && pictures.decodersLost == 0)
            let explained = try await ask(house, "explain", "inbox/film.mp4")
            #expect(explained.lines.contains { $0.contains("no thumbnail") && $0.contains("are not installed") })
            try await daemon.stop()
            try house.configure(Self.configuration("enabled = \"yes\""))
            #expect(try await ask(house, "thumbs").status == 0)
            #expect(self.pictures(of: house).keys.filter { $0.hasSuffix(".jpg") }.count == 3)
            #expect(!self.pictures(of: house).keys.contains { $0.hasSuffix(".txt") })
        }

        @Test("What could not be decoded is tried again with other libraries, and not with the same")
        func otherLibraries() async throws {
            let house = try House()
            let identity = house.path("identity")
            try overwrite(identity, with: Data("one\n".utf8))
            let decoder = try await Self.decoder(house, after: "[ \"$1\" = --identify ] && exec cat \(identity)")
            let configuration = Self.configuration("enabled = \"yes\"", "decoder = \"\(decoder)\"")
            var daemon = try await house.start(configuration: configuration)
            try house.drop(try Photos.tooLarge(), as: "bomb.jpg")
            try await daemon.lines(holding: ["filed inbox/bomb.jpg", "bomb.jpg: 65500 x 65500 pixels"])
            try await daemon.stop()
            #expect(try await ask(house, "thumbs").status == 0)
            daemon = try await house.start(configuration: configuration)
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "a.jpg made")
            #expect(daemon.count(of: "bomb.jpg: 65500 x 65500 pixels") == 0)
            try await daemon.stop()

            try overwrite(identity, with: Data("two\n".utf8))
            daemon = try await house.start(configuration: configuration)
            try await daemon.line(holding: "bomb.jpg: 65500 x 65500 pixels")
            try await daemon.stop()
            #expect(try await ask(house, "thumbs").status == 0)
            try overwrite(identity, with: Data("three\n".utf8))
            #expect(try await ask(house, "thumbs").status == 3)
            let explained = try await ask(house, "explain", "inbox/bomb.jpg")
            #expect(explained.lines.contains { $0.contains("no thumbnail") && $0.contains("65500 x 65500 pixels") })
        }

        @Test(
            "Thumbnails made by root belong to the state directory's user",
            .enabled(if: isRoot, "skipped: needs root, to give files away"))
        func byRoot() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: Self.configuration("enabled = \"no\""))
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg")
            try await daemon.stop()
            chown(house.path("st"), 65534, 65533)
            #expect(try await ask(house, "thumbs").status == 0)
            #expect(!pictures(of: house).isEmpty)
            let names = pictures(of: house).keys
            for name in names.flatMap({ [$0, String($0.prefix(2)), "."] }) {
                var status = stat()
                #expect(stat(house.path("st/thumbnails/\(name)"), &status) == 0)
                #expect(status.st_uid == 65534 && status.st_gid == 65533, "\(name)")
            }
        }

        @Test("Photos filed before get their thumbnails afterwards, once")
        func backfill() async throws {
            let house = try House()
            var daemon = try await house.start(configuration: Self.configuration("enabled = \"no\""))
            for number in 0..<3 {
                try house.drop(try Photos.unique(number), as: "\(number).jpg")
                try await daemon.line(holding: "filed inbox/\(number).jpg")
            }
            #expect(try await house.state(of: daemon).pictures == nil)
            try await daemon.stop()
            #expect(pictures(of: house).isEmpty)
            let on = Self.configuration("enabled = \"yes\"", "preview = \"0\"", "thumbnail = \"48\"")
            daemon = try await house.start(configuration: on)
            try await daemon.lines(holding: (0..<3).map { "\($0).jpg made" })
            try await daemon.stop()
            #expect(pictures(of: house).keys.filter { $0.hasSuffix("-48.jpg") }.count == 3)
            daemon = try await house.start(configuration: on)
            try house.drop(try Photos.unique(3), as: "3.jpg")
            try await daemon.line(holding: "3.jpg made")
            #expect(try await house.state(of: daemon).pictures?.made == 1)
            try await daemon.stop()
        }

        @Test("The configured number of decoders runs, and a hanging one delays only its own photo")
        func severalDecoders() async throws {
            let house = try House()
            var daemon = try await house.start(configuration: Self.configuration("enabled = \"no\""))
            for number in 0..<4 {
                try house.drop(try Photos.unique(number), as: "\(number).jpg")
                try await daemon.line(holding: "filed inbox/\(number).jpg")
            }
            try await daemon.stop()
            let on = Self.configuration("enabled = \"yes\"", "decoders = \"2\"", "time = \"5s\"")
            daemon = try await house.start(configuration: on)
            try await daemon.lines(holding: (0..<4).map { "\($0).jpg made" })
            var told = try #require(try await house.state(of: daemon).pictures)
            #expect(told.made == 4 && told.decodersStarted == 2 && told.decoders == 2)

            // The first one.
            kill(pid_t(try #require(told.decoder)), SIGSTOP)
            try house.drop(try Photos.unique(4), as: "4.jpg")
            try await daemon.line(holding: "filed inbox/4.jpg")
            for number in 5..<8 { try house.drop(try Photos.unique(number), as: "\(number).jpg") }
            // On a busy machine it is abandoned before the others are made.
            let others = (5..<8).flatMap { ["filed inbox/\($0).jpg", "\($0).jpg made"] }
            try await daemon.lines(holding: others + ["4.jpg: no answer within 5.0 seconds"])
            told = try #require(try await house.state(of: daemon).pictures)
            #expect(told.made == 7 && told.failed == 1 && told.decodersLost == 1)
            try await daemon.stop()
            #expect(pictures(of: house).keys.filter { $0.hasSuffix("-512.jpg") }.count == 7)
        }

        @Test("Without a decoder photos are filed, and the problem is reported until it works")
        func noDecoder() async throws {
            let house = try House()
            let daemon = try await house.start(
                configuration: Self.configuration("enabled = \"yes\"", "decoder = \"/nonexistent/decoder\""))
            try house.drop(try Photos.unique(1), as: "1.jpg")
            try await daemon.lines(holding: ["filed inbox/1.jpg", "PI-110"])
            let state = try await house.state(of: daemon)
            #expect(state.problems.first { $0.code == "PI-110" }?.what.contains("/nonexistent/decoder") == true)
            #expect(state.pictures?.trouble?.contains("/nonexistent/decoder") == true)
            try house.configure(Self.configuration("enabled = \"yes\""))
            daemon.signal(SIGHUP)
            try await daemon.line(holding: "1.jpg made")
            #expect(try await house.state(of: daemon).problems.contains { $0.code == "PI-110" } == false)
            try await daemon.stop()
        }

        @Test("thumbs makes missing thumbnails, with --rebuild all, without a daemon, and reports failures")
        func command() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: Self.configuration("enabled = \"no\""))
            for number in 0..<3 {
                try house.drop(try Photos.unique(number), as: "\(number).jpg")
                try await daemon.line(holding: "filed inbox/\(number).jpg")
            }
            try await daemon.stop()
            var answer = try await ask(house, "thumbs")
            #expect(answer.status == 0 && answer.lines.last == "thumbnails: 3 made, 3 photos checked")
            let made = pictures(of: house)
            #expect(made.count == 9)
            answer = try await ask(house, "thumbs")
            #expect(answer.status == 0 && answer.lines.last == "thumbnails: 0 made, 3 photos checked")
            let spoiled = try #require(made.keys.first)
            try overwrite(house.path("st/thumbnails/\(spoiled)"), with: Data("spoiled".utf8))
            answer = try await ask(house, "thumbs", "--rebuild", "--json")
            #expect(answer.status == 0 && pictures(of: house) == made)
            let summary = try #require(answer.lines.last).data(using: .utf8)
            let fields = try JSONSerialization.jsonObject(with: try #require(summary)) as? [String: Any]
            #expect(fields?["made"] as? Int == 3 && fields?["complete"] as? Bool == true)

            let first = "\(house.library)/\(Photos.day)/0.jpg"
            unlink(first)
            answer = try await ask(house, "thumbs", "--rebuild")
            #expect(answer.status == 3 && answer.lines.contains { $0.contains("0.jpg") })
            try house.configure(Self.configuration("decoder = \"/nonexistent/decoder\""))
            answer = try await ask(house, "thumbs", "--rebuild")
            #expect(answer.status == 69 && answer.lines.contains { $0.contains("/nonexistent/decoder") })
        }
    }
}
