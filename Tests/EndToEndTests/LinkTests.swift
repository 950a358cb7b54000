import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    @Suite("Files with a second hard link")
    struct Links {
        @Test("A file with two names is filed when one is removed, which no event reports")
        func secondName() async throws {
            let house = try House()
            let daemon = try await house.start()
            let photo = try Photos.unique(1)
            let first = "\(house.outside)/first"
            try write(photo, to: first)
            #expect(link(first, "\(house.inbox)/a.jpg") == 0)
            try await daemon.line(holding: "deferred inbox/a.jpg: it has 2 names (hard links)")
            #expect(house.files(in: house.library).isEmpty)
            #expect(unlink(first) == 0)
            try await daemon.line(holding: "filed inbox/a.jpg")
            #expect(Array(house.files(in: house.library).values) == [photo])
            try await daemon.stop()
        }

        @Test("A file that keeps two names is finally ignored, and reported once")
        func keptNames() async throws {
            let house = try House()
            let daemon = try await house.start("--set", "inbox.inbox.patience=1s")
            let first = "\(house.outside)/first"
            try write(try Photos.unique(1), to: first)
            #expect(link(first, "\(house.inbox)/a.jpg") == 0)
            try await daemon.line(holding: "ignored inbox/a.jpg: it has 2 names (hard links)")
            #expect(house.files(in: house.inbox).keys.sorted() == ["a.jpg"])
            try await daemon.stop()
        }
    }
}
