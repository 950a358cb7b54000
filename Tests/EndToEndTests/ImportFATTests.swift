import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    /// Properties of FAT: inode numbers that change, times of two seconds, case-insensitive names.
    @Suite("photoinbox import from FAT cards")
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
                // Times that are neither whole nor even seconds.
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

        /// Simulates a new mount of a file system without inode numbers: new inodes, times in even seconds.
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

        /// Changes one byte in the middle of a photo's picture, and keeps its size and time.
        private func change(_ path: String) throws {
            var status = stat()
            try #require(stat(path, &status) == 0)
            var bytes = try Data(contentsOf: URL(filePath: path))
            bytes[bytes.count - 100] ^= 1
            try overwrite(path, with: bytes)
            var times = [status.st_atim, status.st_mtim]
            try #require(utimensat(AT_FDCWD, path, &times, 0) == 0)
        }

        @Test("With other inodes and rounded times no photo is imported twice, before and after filing")
        func rounded() async throws {
            let house = try house(photos: 6)
            #expect(try await run(house)["copied"] as? Int == 6)
            try mountAnew(house)
            let second = try await run(house)
            #expect(second["copied"] as? Int == 0 && second["waiting"] as? Int == 6, "\(second)")
            // Later comparisons use the new times.
            let third = try await run(house)
            #expect(third["copied"] as? Int == 0 && third["waiting"] as? Int == 6, "\(third)")
            let daemon = try await house.start(
                configuration: Self.configuration, reporting: Array(repeating: "filed inbox/import-", count: 6))
            try mountAnew(house)
            let filed = try await run(house)
            #expect(filed["copied"] as? Int == 0 && filed["known"] as? Int == 6, "\(filed)")
            try await daemon.stop()
            #expect(house.files(in: house.library).count == 6 && house.files(in: house.duplicates).isEmpty)
        }

        @Test("After a change within the same two seconds, with the same size, the content decides, once")
        func changed() async throws {
            let house = try house(photos: 6)
            // Written just now, as by a camera that is also the card reader: its time does not show the second write.
            try runProgram(["/usr/bin/touch", photo(house, 1), photo(house, 2)])
            try mountAnew(house)
            #expect(try await run(house)["copied"] as? Int == 6)
            try change(photo(house, 1))
            let second = try await run(house)
            #expect(second["copied"] as? Int == 1 && second["waiting"] as? Int == 5, "\(second)")
            // The second one has another name in the inbox, since the first one's is in use.
            let again = try await run(house)
            #expect(again["copied"] as? Int == 0 && again["waiting"] as? Int == 6, "\(again)")
            #expect(Set(house.files(in: house.inbox).values).count == 7)
            let daemon = try await house.start(
                configuration: Self.configuration, reporting: Array(repeating: "filed inbox/import-", count: 7))
            let filed = try await run(house, "--move")
            #expect(filed["removed"] as? Int == 6 && filed["copied"] as? Int == 0, "\(filed)")
            try await daemon.stop()
            #expect(house.files(in: house.library).count == 7)
        }

        @Test("Another card with the same names, sizes and times at the same place is imported")
        func otherCard() async throws {
            let house = try house(photos: 3)
            #expect(try await run(house)["copied"] as? Int == 3)
            for number in 0..<3 {
                // A camera whose clock restarts each day.
                let path = photo(house, number)
                var status = stat()
                try #require(stat(path, &status) == 0)
                try overwrite(path, with: Photos.unique(number + 5))
                var times = [status.st_atim, status.st_mtim]
                try #require(utimensat(AT_FDCWD, path, &times, 0) == 0)
            }
            let second = try await run(house)
            #expect(second["copied"] as? Int == 3, "\(second)")
            #expect(Set(house.files(in: house.inbox).values).count == 6)
        }

        @Test("IMG_1.JPG and img_1.jpg are two files if the file system distinguishes case")
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
            "A card that ignores case, mounted repeatedly, with a respelled name, changed content and moved files",
            .enabled(if: FATCard.canServe, FATCard.withoutServing))
        func folding() async throws {
            let house = try house(photos: 6)
            try runProgram(["/usr/bin/touch", photo(house, 3)])
            // Times as cached by the kernel, then rounded; one name in another machine's spelling; one changed.
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
