import ControlProtocol
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    @Suite("Files of a set are filed together")
    struct Sets {
        private static let xmp = Data("<x:xmpmeta xmlns:x='adobe:ns:meta/'></x:xmpmeta>\n".utf8)

        private func expectLibrary(_ house: House, _ names: [String], sourceLocation: SourceLocation = #_sourceLocation)
        {
            #expect(
                house.files(in: house.library).keys.sorted() == names.map { "\(Photos.day)/\($0)" }.sorted(),
                sourceLocation: sourceLocation)
            #expect(house.files(in: house.inbox).isEmpty, sourceLocation: sourceLocation)
            house.expectNoTemporaries(sourceLocation: sourceLocation)
        }

        @Test("RAW and JPEG, with the JPEG first and the RAW still being written")
        func rawAndJPEG() async throws {
            let house = try House()
            let daemon = try await house.start("--quiet", "1s", "--set", "sets.wait=60s")
            let raw = try SlowWriter("\(house.inbox)/DSC_0001.NEF")
            try raw.write(try Photos.named("mosaic.nef").prefix(100))
            try house.drop(try Photos.unique(1), as: "DSC_0001.JPG")
            var state = try await house.state(of: daemon) { $0.inHand.first?.stage == "gathering" }
            #expect(state.inHand.first?.what == "waits for DSC_0001.NEF, which lies beside it")
            #expect(house.files(in: house.library).isEmpty)
            try raw.write(try Photos.named("mosaic.nef").dropFirst(100))
            raw.close()
            try await daemon.lines(holding: [
                "filed inbox/DSC_0001.NEF as \(Photos.day)/DSC_0001.NEF",
                "filed inbox/DSC_0001.JPG as \(Photos.day)/DSC_0001.JPG",
            ])
            #expect(daemon.count(of: "filed as one with DSC_0001") == 2)
            expectLibrary(house, ["DSC_0001.JPG", "DSC_0001.NEF"])
            state = try await house.state(of: daemon)
            #expect(state.inboxes.first?.counts.filed == 2 && state.inboxes.first?.counts.balances == true)
            try await daemon.stop()
        }

        @Test("A photo without other members is filed without a wait")
        func alone() async throws {
            let house = try House()
            let daemon = try await house.start("--set", "sets.wait=60s")
            try house.drop(try Photos.unique(1), as: "IMG_1.JPG")
            try house.drop(try Photos.unique(2), as: "IMG_10.JPG")
            try await daemon.lines(holding: ["filed inbox/IMG_1.JPG", "filed inbox/IMG_10.JPG"])
            #expect(daemon.count(of: "filed as one with") == 0)
            try await daemon.stop()
        }

        @Test("Sidecars in each spelling, before and with their photo")
        func sidecarsFirst() async throws {
            let house = try House()
            let daemon = try await house.start("--set", "sets.wait=60s")
            let sidecars = [
                "IMG_1.xmp": Self.xmp, "IMG_1.JPG.xmp": Self.xmp, "IMG_1.AAE": Data("<plist></plist>".utf8),
                "IMG_1.THM": try Photos.named("plain.jpg"), "IMG_1.JPG.json": Data("{}".utf8),
            ]
            for (name, data) in sidecars { try house.drop(data, as: name) }
            var state = try await house.state(of: daemon)
            while state.inHand.count(where: { $0.stage == "gathering" }) < 5 {
                state = try await house.state(of: daemon)
            }
            #expect(state.inHand.first?.what.hasPrefix("waits for its photo") == true)
            try house.drop(try Photos.unique(1), as: "IMG_1.JPG")
            try await daemon.lines(6, holding: "filed inbox/IMG_1")
            expectLibrary(house, sidecars.keys + ["IMG_1.JPG"])
            try await daemon.stop()
        }

        @Test("A sidecar without its photo is ignored, and filed when the photo arrives after a restart")
        func loneSidecar() async throws {
            let house = try House()
            var daemon = try await house.start("--set", "sets.wait=0s")
            try house.drop(Self.xmp, as: "IMG_1.xmp")
            try await daemon.line(holding: "ignored inbox/IMG_1.xmp: a sidecar (XMP sidecar) without its photo")
            try await daemon.stop()
            daemon = try await house.start()
            try house.drop(try Photos.unique(1), as: "IMG_1.JPG")
            try await daemon.lines(holding: ["filed inbox/IMG_1.JPG", "filed inbox/IMG_1.xmp"])
            expectLibrary(house, ["IMG_1.JPG", "IMG_1.xmp"])
            let counts = try #require(try await house.state(of: daemon).inboxes.first?.counts)
            #expect(counts.filed == 2 && counts.balances)
            try await daemon.stop()
        }

        @Test("A sidecar waits for its photo, which has no date and waits for its modification time")
        func undatedPhoto() async throws {
            let house = try House()
            let daemon = try await house.start("--quiet", "2s", "--set", "sets.wait=0s")
            try house.drop(try Photos.named("plain.png"), as: "scan.png")
            try house.drop(Self.xmp, as: "scan.xmp")
            try await daemon.lines(holding: ["filed inbox/scan.png", "filed inbox/scan.xmp"])
            #expect(daemon.count(of: "filed as one with") == 2, "\(daemon.lines)")
            #expect(daemon.count(of: "without its photo") == 0, "\(daemon.lines)")
            try await daemon.stop()
        }

        @Test("A sidecar that arrives after a restart is filed beside its photo, with the photo's number")
        func lateSidecar() async throws {
            let house = try House()
            var daemon = try await house.start()
            try house.drop(try Photos.unique(1), as: "IMG_1.JPG")
            try await daemon.line(holding: "filed inbox/IMG_1.JPG")
            try house.drop(try Photos.unique(2), as: "IMG_1.JPG")
            try await daemon.line(holding: "filed inbox/IMG_1.JPG as \(Photos.day)/IMG_1-2.JPG")
            try await daemon.stop()
            daemon = try await house.start("--set", "sets.wait=0s")
            try house.drop(Self.xmp, as: "img_1.xmp")
            try house.drop(Self.xmp, as: "IMG_1.JPG.xmp")
            try await daemon.lines(holding: [
                "filed inbox/img_1.xmp as \(Photos.day)/IMG_1-2.xmp",
                "filed inbox/IMG_1.JPG.xmp as \(Photos.day)/IMG_1-2.JPG.xmp",
            ])
            #expect(daemon.count(of: "put beside \(Photos.day)/IMG_1-2.JPG") == 2)
            expectLibrary(house, ["IMG_1.JPG", "IMG_1-2.JPG", "IMG_1-2.xmp", "IMG_1-2.JPG.xmp"])
            try await daemon.stop()
        }

        @Test("A late RAW is filed beside its JPEG")
        func lateRAW() async throws {
            let house = try House()
            let daemon = try await house.start("--quiet", "0s")
            try house.drop(try Photos.unique(1), as: "DSC_1.JPG")
            try await daemon.line(holding: "filed inbox/DSC_1.JPG")
            try house.drop(try Photos.named("mosaic.nef"), as: "DSC_1.NEF")
            try await daemon.line(holding: "filed inbox/DSC_1.NEF as \(Photos.day)/DSC_1.NEF", "put beside")
            expectLibrary(house, ["DSC_1.JPG", "DSC_1.NEF"])
            try await daemon.stop()
        }

        @Test("A Live Photo is recognised by its content, whatever its names")
        func livePhoto() async throws {
            let house = try House()
            let daemon = try await house.start("--set", "sets.wait=60s")
            try copy(Photos.path("live.jpg"), to: "\(house.inbox)/IMG_0123.JPG")
            try copy(Photos.path("live.mov"), to: "\(house.inbox)/renamed.MOV")
            try await daemon.lines(holding: ["filed inbox/IMG_0123.JPG", "filed inbox/renamed.MOV"])
            #expect(daemon.count(of: "filed as one with") == 2)
            expectLibrary(house, ["IMG_0123.JPG", "renamed.MOV"])
            try await daemon.stop()
        }

        @Test("A late film of a Live Photo is filed beside its picture")
        func lateFilm() async throws {
            let house = try House()
            let daemon = try await house.start("--set", "sets.wait=0s")
            try copy(Photos.path("live.jpg"), to: "\(house.inbox)/IMG_0123.JPG")
            try await daemon.line(holding: "filed inbox/IMG_0123.JPG")
            try copy(Photos.path("live.mov"), to: "\(house.inbox)/other.MOV")
            try await daemon.line(holding: "filed inbox/other.MOV", "put beside \(Photos.day)/IMG_0123.JPG")
            try await daemon.stop()
        }

        @Test("Google Takeout: the number at its unusual place, cut names, cut supplements")
        func takeout() async throws {
            let house = try House()
            let long = "123456789_123456789_123456789_123456789_1234567"
            let daemon = try await house.start("--set", "sets.wait=60s")
            let json = Data("{\"title\": \"x\"}".utf8)
            try makeDirectory("\(house.outside)/Takeout")
            let photos = ["IMG_1.jpg", "IMG_1(1).jpg", "\(long).jpg"]
            let sidecars = [
                "IMG_1.jpg.json", "IMG_1.jpg.supplemental-metadata(1).json", "\(long.prefix(46)).json",
            ]
            for (index, name) in photos.enumerated() {
                try write(try Photos.unique(index), to: "\(house.outside)/Takeout/\(name)")
            }
            for name in sidecars { try write(json, to: "\(house.outside)/Takeout/\(name)") }
            try move("\(house.outside)/Takeout", to: "\(house.inbox)/Takeout")
            try await daemon.lines(6, holding: "filed inbox/Takeout/")
            #expect(
                house.files(in: house.library).keys.sorted()
                    == (photos + [
                        "IMG_1.jpg.json", "IMG_1(1).jpg.supplemental-metadata.json", "\(long).jpg.json",
                    ]).map { "\(Photos.day)/\($0)" }.sorted())
            try await daemon.stop()
        }

        @Test("If one member is a duplicate, the others remain a set")
        func duplicateMember() async throws {
            let house = try House()
            let daemon = try await house.start("--set", "sets.wait=60s", "--quiet", "0s")
            try house.drop(try Photos.unique(1), as: "first.JPG")
            try await daemon.line(holding: "filed inbox/first.JPG")
            try makeDirectory("\(house.outside)/card")
            try write(try Photos.unique(1), to: "\(house.outside)/card/DSC_1.JPG")
            try write(try Photos.named("mosaic.nef"), to: "\(house.outside)/card/DSC_1.NEF")
            try write(Self.xmp, to: "\(house.outside)/card/DSC_1.xmp")
            try move("\(house.outside)/card", to: "\(house.inbox)/card")
            try await daemon.lines(holding: [
                "duplicate inbox/card/DSC_1.JPG", "filed inbox/card/DSC_1.NEF", "filed inbox/card/DSC_1.xmp",
            ])
            expectLibrary(house, ["first.JPG", "DSC_1.NEF", "DSC_1.xmp"])
            try await daemon.stop()
        }

        @Test("If a name is in use, the whole set gets one number")
        func commonNumber() async throws {
            let house = try House()
            let daemon = try await house.start("--quiet", "0s")
            try runProgram(["/bin/mkdir", "-p", "\(house.library)/\(Photos.day)"])
            try write(Data("somebody's".utf8), to: "\(house.library)/\(Photos.day)/DSC_1.xmp")
            try makeDirectory("\(house.outside)/card")
            try write(try Photos.unique(1), to: "\(house.outside)/card/DSC_1.JPG")
            try write(try Photos.named("mosaic.nef"), to: "\(house.outside)/card/DSC_1.NEF")
            try write(Self.xmp, to: "\(house.outside)/card/DSC_1.xmp")
            try move("\(house.outside)/card", to: "\(house.inbox)/card")
            try await daemon.lines(3, holding: "filed inbox/card/DSC_1")
            expectLibrary(house, ["DSC_1.xmp", "DSC_1-2.JPG", "DSC_1-2.NEF", "DSC_1-2.xmp"])
            try await daemon.stop()
        }

        @Test("With sets disabled each photo is filed alone, and sidecars stay")
        func disabled() async throws {
            let house = try House()
            let daemon = try await house.start("--quiet", "0s", "--set", "sets.enabled=no")
            try house.drop(Self.xmp, as: "DSC_1.xmp")
            try house.drop(try Photos.unique(1), as: "DSC_1.JPG")
            try house.drop(try Photos.named("mosaic.nef"), as: "DSC_1.NEF")
            try await daemon.lines(holding: [
                "ignored inbox/DSC_1.xmp", "filed inbox/DSC_1.JPG", "filed inbox/DSC_1.NEF",
            ])
            #expect(daemon.count(of: "filed as one") == 0)
            #expect(house.files(in: house.inbox).keys.sorted() == ["DSC_1.xmp"])
            try await daemon.stop()
        }

        @Test("In copy mode a set stays and is not filed again, and a changed sidecar is filed beside it")
        func copyMode() async throws {
            let house = try House()
            var daemon = try await house.start("--mode", "copy", "--quiet", "0s", "--set", "sets.wait=0s")
            try house.drop(Self.xmp, as: "DSC_1.xmp")
            try await daemon.line(holding: "ignored inbox/DSC_1.xmp")
            try house.drop(try Photos.unique(1), as: "DSC_1.JPG")
            try await daemon.lines(holding: ["filed inbox/DSC_1.JPG", "filed inbox/DSC_1.xmp"])
            try await daemon.stop()
            daemon = try await house.start("--mode", "copy", "--quiet", "0s", "--set", "sets.wait=0s")
            try house.drop(Data("<x:xmpmeta>edited</x:xmpmeta>".utf8), as: "DSC_1.xmp")
            try await daemon.line(holding: "filed inbox/DSC_1.xmp", "put beside \(Photos.day)/DSC_1.JPG")
            #expect(house.files(in: house.library).count == 3 && house.files(in: house.inbox).count == 2)
            #expect(daemon.count(of: "DSC_1.JPG as") == 0)
            try await daemon.stop()
        }

        @Test("After SIGKILL during the filing of sets each is complete, once")
        func killed() async throws {
            let house = try House()
            try makeDirectory("\(house.outside)/card")
            let count = 12
            for number in 0..<count {
                try write(try Photos.unique(number), to: "\(house.outside)/card/DSC_\(number).JPG")
                let raw = try Photos.named("mosaic.nef") + Data("\(number)".utf8)
                try write(raw, to: "\(house.outside)/card/DSC_\(number).NEF")
                try write(Self.xmp, to: "\(house.outside)/card/DSC_\(number).xmp")
            }
            try move("\(house.outside)/card", to: "\(house.inbox)/card")
            for kills in 1...3 {
                let daemon = try await house.start("--quiet", "0s")
                // Later kills hit any step; there may be no line left to wait for.
                if kills == 1 { try await daemon.line(holding: "filed inbox/card/DSC_") }
                daemon.signal(SIGKILL)
                #expect(try await daemon.ending() == .signal(SIGKILL))
            }
            let daemon = try await house.start("--quiet", "0s")
            _ = try await house.state(of: daemon) { state in
                house.files(in: house.inbox).isEmpty && state.inboxes.first?.counts.inHand == 0
            }
            let names = (0..<count).flatMap { ["DSC_\($0).JPG", "DSC_\($0).NEF", "DSC_\($0).xmp"] }
            expectLibrary(house, names)
            try await daemon.stop()
        }

        @Test("explain, show and list report the set")
        func reported() async throws {
            let house = try House()
            let daemon = try await house.start("--quiet", "0s")
            try makeDirectory("\(house.outside)/card")
            try write(try Photos.unique(1), to: "\(house.outside)/card/DSC_1.JPG")
            try write(Self.xmp, to: "\(house.outside)/card/DSC_1.xmp")
            try move("\(house.outside)/card", to: "\(house.inbox)/card")
            try await daemon.lines(2, holding: "filed inbox/card/DSC_1")
            func ask(_ arguments: String...) async throws -> [String] {
                let program = try RunningProgram(
                    [BuiltPrograms.path("photoinbox")] + arguments + ["--state", house.path("st")])
                _ = try await program.ending()
                return program.lines
            }
            let explained = try await ask("explain", "\(house.inbox)/card/DSC_1.xmp")
            #expect(explained.contains { $0.contains("set") && $0.contains("DSC_1.JPG") }, "\(explained)")
            let shown = try await ask("show", "photo:1")
            #expect(shown.contains { $0.contains("set") && $0.contains("DSC_1.xmp") }, "\(shown)")
            let listed = try await ask("list", "--json").joined()
            #expect(listed.contains("\"role\":\"sidecar\"") && listed.contains("\"set\":1"), "\(listed)")
            try await daemon.stop()
        }
    }
}
