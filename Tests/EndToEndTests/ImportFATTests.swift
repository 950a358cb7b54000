import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// What FAT does to an import: inode numbers that change, times of two seconds, names in any case.
    @Suite("import from cards of FAT")
    struct ImportingFAT {
        private static let configuration = """
            library = "@library"
            state = "@st"
            [inbox.inbox]
            path = "@inbox"
            """

        private func house(photos: Int) throws -> House {
            let house = try House()
            for name in ["st", "card", "card/DCIM", "card/DCIM/100CANON", "mounted"] {
                try makeDirectory(house.path(name))
            }
            try house.configure(Self.configuration)
            for number in 0..<photos {
                let path = house.path("card/DCIM/100CANON/IMG_\(number).JPG")
                try write(try Photos.unique(number), to: path)
                // Neither whole nor even seconds.
                try runProgram(["/usr/bin/touch", "-d", "2026-05-04 12:00:0\(number % 5 * 2 + 1).123456789", path])
            }
            return house
        }

        private func photo(_ house: House, _ number: Int) -> String {
            house.path("card/DCIM/100CANON/IMG_\(number).JPG")
        }

        private func words(_ house: House, _ card: String, _ arguments: [String] = []) -> [String] {
            [BuiltPrograms.path("photoinbox"), "import", "--config", house.path("photoinbox.toml"), "--json"]
                + arguments + [house.path(card)]
        }

        private func run(_ house: House, _ arguments: String...) async throws -> [String: Any] {
            let program = try RunningProgram(words(house, "card", arguments))
            _ = try await program.ending()
            return try #require(Self.summaries(program).first, "\(program.lines)")
        }

        private static func summaries(_ program: RunningProgram) -> [[String: Any]] {
            program.lines.filter { $0.contains("\"summary\"") }.compactMap { line in
                (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any]
            }
        }

        /// Mounted anew by somebody whose file system has no inode numbers: all files are others, times are even seconds.
        private func mountAnew(_ house: House) throws {
            for name in try FileManager.default.contentsOfDirectory(atPath: house.path("card/DCIM/100CANON")) {
                let path = house.path("card/DCIM/100CANON/\(name)")
                var status = stat()
                try #require(stat(path, &status) == 0)
                try runProgram(["/bin/cp", path, path + ".new"])
                var times = [timespec](repeating: timespec(tv_sec: status.st_mtim.tv_sec / 2 * 2, tv_nsec: 0), count: 2)
                try #require(utimensat(AT_FDCWD, path + ".new", &times, 0) == 0)
                try move(path + ".new", to: path)
            }
        }

        /// The bytes of a photo with one in the middle of its picture changed, and its size and time kept.
        private func change(_ path: String) throws {
            var status = stat()
            try #require(stat(path, &status) == 0)
            var bytes = try Data(contentsOf: URL(filePath: path))
            bytes[bytes.count - 100] ^= 1
            try bytes.write(to: URL(filePath: path))
            var times = [status.st_atim, status.st_mtim]
            try #require(utimensat(AT_FDCWD, path, &times, 0) == 0)
        }

        @Test("Other inodes and rounded times: nothing comes twice, before it is filed and after")
        func rounded() async throws {
            let house = try house(photos: 6)
            #expect(try await run(house)["copied"] as? Int == 6)
            try mountAnew(house)
            let second = try await run(house)
            #expect(second["copied"] as? Int == 0 && second["waiting"] as? Int == 6, "\(second)")
            // From now on by the times that it has now.
            let third = try await run(house)
            #expect(third["copied"] as? Int == 0 && third["waiting"] as? Int == 6, "\(third)")
            let daemon = try await house.start(
                configuration: Self.configuration, telling: Array(repeating: "filed inbox/import-", count: 6))
            try mountAnew(house)
            let filed = try await run(house)
            #expect(filed["copied"] as? Int == 0 && filed["known"] as? Int == 6, "\(filed)")
            try await daemon.stop()
            #expect(house.files(in: house.library).count == 6 && house.files(in: house.duplicates).isEmpty)
        }

        @Test("Changed within the same two seconds, with the same size: its content decides, once")
        func changed() async throws {
            let house = try house(photos: 6)
            // Written just now, as by a camera that is the card's reader as well: its time shows no second writing.
            try runProgram(["/usr/bin/touch", photo(house, 1), photo(house, 2)])
            try mountAnew(house)
            #expect(try await run(house)["copied"] as? Int == 6)
            try change(photo(house, 1))
            let second = try await run(house)
            #expect(second["copied"] as? Int == 1 && second["waiting"] as? Int == 5, "\(second)")
            // The second one's place in the inbox has another name, since the first one's was taken.
            let again = try await run(house)
            #expect(again["copied"] as? Int == 0 && again["waiting"] as? Int == 6, "\(again)")
            #expect(Set(house.files(in: house.inbox).values).count == 7)
            let daemon = try await house.start(
                configuration: Self.configuration, telling: Array(repeating: "filed inbox/import-", count: 7))
            let filed = try await run(house, "--move")
            #expect(filed["removed"] as? Int == 6 && filed["copied"] as? Int == 0, "\(filed)")
            try await daemon.stop()
            #expect(house.files(in: house.library).count == 7)
        }

        @Test("Another card at the same place, with the same names, sizes and times: its photos come")
        func otherCard() async throws {
            let house = try house(photos: 3)
            #expect(try await run(house)["copied"] as? Int == 3)
            for number in 0..<3 {
                // A camera whose clock begins anew each day.
                let path = photo(house, number)
                var status = stat()
                try #require(stat(path, &status) == 0)
                try Photos.unique(number + 5).write(to: URL(filePath: path))
                var times = [status.st_atim, status.st_mtim]
                try #require(utimensat(AT_FDCWD, path, &times, 0) == 0)
            }
            let second = try await run(house)
            #expect(second["copied"] as? Int == 3, "\(second)")
            #expect(Set(house.files(in: house.inbox).values).count == 6)
        }

        @Test("IMG_1.JPG and img_1.jpg are two files where names differ by case")
        func twoSpellings() async throws {
            let house = try house(photos: 2)
            let other = house.path("card/DCIM/100CANON/img_1.jpg")
            try copy(photo(house, 1), to: other)
            try change(other)
            #expect(try await run(house)["copied"] as? Int == 3)
            let second = try await run(house)
            #expect(second["copied"] as? Int == 0 && second["waiting"] as? Int == 3, "\(second)")
            let moved = try await run(house, "--move")
            #expect(moved["removed"] as? Int == 3, "\(moved)")
        }

        @Test(
            "A folding card, mounted again and again: one name in two spellings, one content changed, then all moved",
            .enabled(if: FATCard.canServe, FATCard.withoutServing))
        func folding() async throws {
            let house = try house(photos: 6)
            try runProgram(["/usr/bin/touch", photo(house, 3)])
            // Times as the kernel kept them in memory, then rounded; one name as another machine shows it; one changed.
            let script = """
                set -e; mkdir -p "$MOUNT"; dir="$CARD/DCIM/100CANON"
                serve() { "$PYTHON" "$SCRIPT" "$CARD" "$MOUNT" "$@"; }
                serve --exact; "$@"; umount "$MOUNT"
                printf x | dd of="$dir/IMG_3.JPG" bs=1 seek=2000 conv=notrunc status=none
                touch -d "@$(($(stat -c %Y "$dir/IMG_3.JPG") / 2 * 2))" "$dir/IMG_3.JPG"
                mv "$dir/IMG_2.JPG" "$dir/img_2.jpg"
                serve; ls -i "$MOUNT/DCIM/100CANON" | sort >"$CARD.1"; "$@"; umount "$MOUNT"
                serve; ls -i "$MOUNT/DCIM/100CANON" | sort >"$CARD.2"; "$@"
                cmp "$MOUNT/dcim/100canon/IMG_2.JPG" "$dir/img_2.jpg"
                "$@" --move; umount "$MOUNT"
                ! cmp -s "$CARD.1" "$CARD.2"; echo "left $(find "$CARD" -type f | wc -l)"
                """
            let program = try RunningProgram(
                ["/usr/bin/unshare", "-m", "--propagation", "private", "/bin/bash", "-c", script, "sh"]
                    + words(house, "mounted"),
                environment: [
                    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHON": FATCard.python ?? "",
                    "SCRIPT": FATCard.script, "MOUNT": house.path("mounted"), "CARD": house.path("card"),
                ])
            _ = try await program.ending()
            let summaries = Self.summaries(program)
            try #require(summaries.count == 4, "\(program.lines)")
            let counts = ["copied", "waiting", "removed"].map { name in summaries.map { $0[name] as? Int ?? -1 } }
            #expect(counts == [[6, 1, 0, 0], [0, 5, 6, 6], [0, 0, 0, 6]], "\(program.lines)")
            #expect(program.lines.last == "left 0", "\(program.lines.suffix(5))")
            #expect(Set(house.files(in: house.inbox).values).count == 7)
        }
    }
}
