import ControlProtocol
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    @Suite("Photos that arrive are filed")
    struct Arriving {
        @Test("Copied and moved photos of each format are filed by their date", .tags(.smoke))
        func copiedAndMoved() async throws {
            let house = try House()
            let daemon = try await house.start()
            let dated = [
                "exif.jpg", "rocket.jpg", "exif.heic", "exif.avif", "exif.png", "exif.tiff", "exif.webp", "live.jpg",
                "live.mov", "film.mp4", "preview.raf",
            ]
            for (index, name) in dated.enumerated() {
                if index.isMultiple(of: 2) {
                    try copy(Photos.path(name), to: "\(house.inbox)/\(name)")
                } else {
                    try house.drop(try Photos.named(name), as: name)
                }
            }
            try await daemon.lines(holding: dated.map { "filed inbox/\($0) as " })
            let library = house.files(in: house.library)
            for name in dated { #expect(library["\(Photos.day)/\(name)"] == (try Photos.named(name)), "\(name)") }
            #expect(library.count == dated.count)
            #expect(house.files(in: house.inbox).isEmpty, "what is filed leaves the inbox")
            try await daemon.stop()
        }

        @Test("A photo without a date is filed by its modification time")
        func undated() async throws {
            let house = try House()
            let daemon = try await house.start()
            let aside = "\(house.outside)/plain.png"
            try copy(Photos.path("plain.png"), to: aside)
            try runProgram(["/usr/bin/touch", "-d", "2019-03-04 12:00", aside])
            try move(aside, to: "\(house.inbox)/plain.png")
            try await daemon.line(holding: "filed inbox/plain.png as 2019/03/2019-03-04/plain.png")
            try await daemon.stop()
        }

        @Test("A photo whose writer sets its modification time after closing it is filed by that time")
        func timeSetLate() async throws {
            let house = try House()
            let daemon = try await house.start("--quiet", "1h")
            try house.drop(try Photos.named("plain.png"), as: "scan.png")
            _ = try await house.state(of: daemon) { state in
                state.inHand.contains { $0.stage == "settling" && $0.what.contains("its only date is the file's time") }
            }
            try runProgram(["/usr/bin/touch", "-d", "2019-03-04 12:00", "\(house.inbox)/scan.png"])
            try await daemon.line(holding: "filed inbox/scan.png as 2019/03/2019-03-04/scan.png")
            try await daemon.stop()
        }

        @Test("The configuration's layout and trust in dates are applied")
        func layout() async throws {
            let house = try House()
            let daemon = try await house.start(
                "--set", "filing.layout=by {camera}/{year}/{name}", "--set", "filing.dates=recorded")
            try house.drop(try Photos.named("exif.jpg"), as: "sure.jpg")
            try house.drop(try Photos.named("plain.png"), as: "no date.png")
            try house.drop(try Photos.named("plain.jpg"), as: "IMG_20190304_120000.jpg")
            try await daemon.lines(holding: [
                "filed inbox/sure.jpg as by ", "filed inbox/no date.png as undated/no date.png",
                "filed inbox/IMG_20190304_120000.jpg as by unknown-camera/2019/IMG_20190304_120000.jpg",
            ])
            try await daemon.stop()
        }

        @Test(
            "The copy is a clone if the file system can share blocks",
            .enabled(
                if: canMount && access("/sbin/mkfs.btrfs", X_OK) == 0 && access("/dev/loop-control", W_OK) == 0,
                "skipped: needs root, loop devices and mkfs.btrfs"))
        func cloned() async throws {
            let script = """
                PATH=/usr/sbin:/usr/bin:/sbin:/bin; root=${2%/inbox}
                truncate -s 200M $root/disk && mkfs.btrfs -q -f $root/disk && mkdir $root/mounted &&
                mount -o loop $root/disk $root/mounted && mkdir $root/mounted/inbox $root/mounted/library &&
                mount --bind $root/mounted/inbox $root/inbox && mount --bind $root/mounted/library $root/library &&
                exec "$0" "$@"
                """
            let house = try House(
                running: ["/usr/bin/unshare", "-m", "--propagation", "private", "/bin/sh", "-c", script])
            let daemon = try await house.start("--mode", "copy")
            let mounted = "/proc/\(daemon.pid)/root\(house.path("mounted"))"
            let photo = try Photos.large(1, bytes: 1 << 20)
            try write(photo, to: "\(mounted)/inbox/a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg")
            let place = "\(mounted)/library/\(try #require(house.files(in: "\(mounted)/library").keys.first))"
            #expect(house.files(in: "\(mounted)/library").values.first == photo)
            // filefrag(8) marks blocks that two files share.
            try runProgram(["/bin/sh", "-c", "/usr/sbin/filefrag -v \"$0\" | grep -q shared", place])
            try await daemon.stop()
        }

        @Test("A file that is written slowly is not filed before its writer closes it")
        func slowWriter() async throws {
            let house = try House()
            let daemon = try await house.start()
            let photo = try Photos.named("rocket.jpg")
            let writer = try SlowWriter("\(house.inbox)/slow.jpg")
            for start in stride(from: 0, to: photo.count, by: photo.count / 7 + 1) {
                try writer.write(photo[start..<min(photo.count, start + photo.count / 7 + 1)])
                // Even for a rescan the daemon must see that the file is open.
                try await lines(of: "rescan", house)
                let state = try await house.state(of: daemon)
                #expect(state.outcomes.isEmpty && state.inHand.isEmpty && state.inboxes.first?.beingWritten == 1)
            }
            // Complete by its structure, but still open.
            let asked = try await house.state(of: daemon)
            #expect(asked.program.status.contains("filing normally, 1 being written"))
            let status = try await lines(of: "status", house)
            #expect(status.contains { $0.hasSuffix("inbox  live, 1 being written") }, "\(status)")
            #expect(house.files(in: house.library).isEmpty)
            writer.close()
            try await daemon.line(holding: "filed inbox/slow.jpg as ")
            #expect(house.files(in: house.library) == ["\(Photos.day)/slow.jpg": photo])
            try await daemon.stop()
        }

        @discardableResult
        private func lines(of command: String, _ house: House) async throws -> [String] {
            let program = try RunningProgram([BuiltPrograms.path("photoinbox"), command, "--state", house.path("st")])
            #expect(try await program.ending() == .status(0))
            return program.lines
        }

        @Test("A directory tree that is moved into the inbox is filed")
        func tree() async throws {
            let house = try House()
            let daemon = try await house.start()
            var names: [String] = []
            try makeDirectory("\(house.outside)/card")
            for folder in ["DCIM", "DCIM/100CANON", "DCIM/101CANON", "MISC"] {
                try makeDirectory("\(house.outside)/card/\(folder)")
                for number in 0..<5 {
                    let name = "card/\(folder)/\(folder.split(separator: "/").last ?? "")_\(number).jpg"
                    try write(try Photos.unique(names.count), to: "\(house.outside)/\(name)")
                    names.append(name)
                }
            }
            try move("\(house.outside)/card", to: "\(house.inbox)/card")
            try await daemon.lines(holding: names.map { "filed inbox/\($0) as " })
            // Also a photo in a directory that was moved in.
            try house.drop(try Photos.unique(99), as: "card/DCIM/100CANON/late.jpg")
            try await daemon.line(holding: "filed inbox/card/DCIM/100CANON/late.jpg as ")
            #expect(house.files(in: house.library).count == names.count + 1)
            try await daemon.stop()
        }

        @Test("Photos from before the start and from a time without a daemon are filed")
        func whileDown() async throws {
            let house = try House()
            try house.drop(try Photos.unique(1), as: "early.jpg")
            var daemon = try await house.start(reporting: ["filed inbox/early.jpg"])
            try await daemon.stop()
            try makeDirectory("\(house.inbox)/new")
            try house.drop(try Photos.unique(2), as: "new/meanwhile.jpg")
            daemon = try await house.start(reporting: ["filed inbox/new/meanwhile.jpg"])
            #expect(house.files(in: house.library).count == 2)
            try await daemon.stop()
        }

        @Test("Photos that arrive during SIGSTOP are filed")
        func whileStopped() async throws {
            let house = try House()
            let daemon = try await house.start()
            daemon.signal(SIGSTOP)
            for number in 0..<20 { try house.drop(try Photos.unique(number), as: "p\(number).jpg") }
            daemon.signal(SIGCONT)
            try await daemon.lines(holding: (0..<20).map { "filed inbox/p\($0).jpg as " })
            #expect(house.files(in: house.library).count == 20)
            try await daemon.stop()
        }

        @Test("SIGUSR2 finds changes that no event reported")
        func reconciliation() async throws {
            let house = try House()
            // A photo with two names is left alone; no event of the inbox reports that it has one again.
            try write(try Photos.unique(1), to: "\(house.outside)/linked.jpg")
            #expect(link("\(house.outside)/linked.jpg", "\(house.inbox)/linked.jpg") == 0)
            let daemon = try await house.start("--patience", "1s", reporting: ["ignored inbox/linked.jpg"])
            unlink("\(house.outside)/linked.jpg")
            daemon.signal(SIGUSR2)
            try await daemon.line(holding: "filed inbox/linked.jpg as ")
            try await daemon.stop()
        }

        @Test("A file with an unfinished name is left alone until it is renamed")
        func unfinishedNames() async throws {
            let house = try House()
            let daemon = try await house.start()
            for (index, suffix) in [".part", ".crdownload", ".tmp"].enumerated() {
                let name = "p\(index).jpg"
                try write(try Photos.unique(index), to: "\(house.inbox)/\(name)\(suffix)")
                try await daemon.line(holding: "ignored inbox/\(name)\(suffix): unfinished name")
                try move("\(house.inbox)/\(name)\(suffix)", to: "\(house.inbox)/\(name)")
                try await daemon.line(holding: "filed inbox/\(name) as ")
            }
            // As rsync does.
            try write(try Photos.unique(9), to: "\(house.inbox)/.p9.jpg.aB3xYz")
            try await daemon.line(holding: "ignored inbox/.p9.jpg.aB3xYz: unfinished name")
            try move("\(house.inbox)/.p9.jpg.aB3xYz", to: "\(house.inbox)/p9.jpg")
            try await daemon.line(holding: "filed inbox/p9.jpg as ")
            #expect(house.files(in: house.library).count == 4)
            try await daemon.stop()
        }
    }
}
