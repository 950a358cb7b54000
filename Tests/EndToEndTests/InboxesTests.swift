import ControlProtocol
import Foundation
import Glibc
import TestSupport
import Testing

extension EndToEnd {
    @Suite("Several inboxes, with exclusions, in copy mode, and read-only")
    struct Inboxes {
        @Test("In copy mode sources stay, and are not filed again after a restart")
        func copyMode() async throws {
            let house = try House()
            var daemon = try await house.start("--mode", "copy")
            let photo = try Photos.unique(1)
            try house.drop(photo, as: "a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg as ")
            try house.drop(photo, as: "same.jpg")
            try await daemon.line(holding: "duplicate inbox/same.jpg")
            #expect(house.files(in: house.inbox) == ["a.jpg": photo, "same.jpg": photo])
            try await daemon.stop()

            daemon = try await house.start("--mode", "copy")
            try house.drop(try Photos.unique(2), as: "b.jpg")
            try await daemon.lines(holding: ["filed inbox/b.jpg"])
            daemon.signal(SIGUSR2)
            try house.drop(try Photos.unique(3), as: "c.jpg")
            try await daemon.lines(holding: ["filed inbox/c.jpg"])
            #expect(daemon.count(of: "inbox/a.jpg") + daemon.count(of: "inbox/same.jpg") == 0)
            #expect(house.files(in: house.library).count == 3)
            #expect(house.files(in: house.inbox).count == 4)
            // Rewritten, it is another photo.
            try write(try Photos.unique(4), to: "\(house.outside)/new")
            try move("\(house.outside)/new", to: "\(house.inbox)/a.jpg")
            try await daemon.line(holding: "filed inbox/a.jpg as ")
            try await daemon.stop()
        }

        @Test(
            "From a read-only inbox photos are filed, their sources kept and reported, and not filed again",
            .enabled(if: canBeOrdinary, "skipped: needs a user who is not root and may run the built daemon"))
        func readOnlyInbox() async throws {
            let house = try House(running: isRoot ? asNobody : ["/usr/bin/env"])
            let directory = "\(house.inbox)/of another"
            try makeDirectory(directory)
            try house.drop(try Photos.unique(1), as: "of another/a.jpg")
            if isRoot { try runProgram(["/bin/chown", "-R", "65534:65534", house.root]) }
            try runProgram(["/bin/chmod", "0555", directory])
            var daemon = try await house.start(reporting: ["filed inbox/of another/a.jpg as ", "PI-207"])
            #expect(house.files(in: house.inbox).count == 1 && house.files(in: house.library).count == 1)
            let state = try await house.state(of: daemon)
            #expect(state.problems.map(\.code) == ["PI-207"])
            #expect(state.problems.first?.action.contains("make '\(directory)' writable") == true, "\(state.problems)")
            try await daemon.stop()

            daemon = try await house.start()
            let again = try await house.state(of: daemon)
            #expect(again.inboxes.first?.counts.filed == 0 && again.inboxes.first?.counts.duplicate == 0)
            #expect(house.files(in: house.library).count == 1)
            try await daemon.stop()
            house.expectNoTemporaries()
        }

        @Test("Several recursive inboxes ignore what each excludes")
        func several() async throws {
            let house = try House()
            for name in ["phone", "phone/DCIM", "phone/cache", "card"] { try makeDirectory(house.path(name)) }
            let daemon = try await house.start(
                configuration: """
                    library = "@library"
                    state = "@st"
                    [inbox.phone]
                    path = "@phone"
                    exclude = ["cache", "*.bak.jpg", "DCIM/secret*"]
                    [inbox.card]
                    path = "@card"
                    mode = "copy"
                    """)
            let wanted = ["phone/DCIM/1.jpg", "phone/2.jpg", "card/3.jpg"]
            let excluded = ["phone/cache/4.jpg", "phone/5.bak.jpg", "phone/DCIM/secret6.jpg"]
            for (index, name) in (excluded + wanted).enumerated() {
                try house.drop(try Photos.unique(index), as: name, into: house.root)
            }
            try await daemon.lines(holding: wanted.map { "filed \($0) as " })
            let state = try await house.state(of: daemon)
            #expect(state.inboxes.map(\.name) == ["card", "phone"] || state.inboxes.map(\.name) == ["phone", "card"])
            #expect(state.inboxes.reduce(0) { $0 + $1.counts.seen } == 3)
            #expect(state.inboxes.allSatisfy { $0.verdict == "live" && $0.watches > 0 })
            #expect(excluded.allSatisfy { access(house.path($0), F_OK) == 0 })
            #expect(access(house.path("card/3.jpg"), F_OK) == 0 && access(house.path("phone/2.jpg"), F_OK) != 0)
            #expect(house.files(in: house.library).count == 3)
            try await daemon.stop()
        }

        @Test("A missing inbox is reported, and its photos are filed when it is back")
        func awayAndBack() async throws {
            let house = try House()
            let daemon = try await house.start()
            try move(house.inbox, to: "\(house.outside)/away")
            try await daemon.line(holding: "PI-20", "inbox")
            try write(try Photos.unique(1), to: "\(house.outside)/away/a.jpg")
            try move("\(house.outside)/away", to: house.inbox)
            try await daemon.line(holding: "filed inbox/a.jpg")
            let state = try await house.state(of: daemon)
            #expect(state.problems.isEmpty && state.inboxes.first?.verdict == "live")
            try await daemon.stop()
        }
    }
}
