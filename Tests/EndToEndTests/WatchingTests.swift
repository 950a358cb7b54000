import ControlProtocol
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

extension EndToEnd {
    /// A new user namespace, in which limits can be set, entered by an ordinary user.
    static let ordinaryNamespace =
        (isRoot ? asNobody : ["/usr/bin/env"]) + ["/usr/bin/unshare", "--user", "--map-root-user", "/bin/sh", "-c"]
    static let canLimit =
        canBeOrdinary && (try? runProgram(ordinaryNamespace + ["echo 8 > /proc/sys/user/max_inotify_watches"])) != nil
    static let withoutLimits: Comment =
        "skipped: needs user namespaces, and a user who is not root and may run the built daemon"
    static let withoutOthers: Comment = "skipped: needs a user who is not root and may run the built daemon"

    @Suite("Limits of watching are reported, and photos still arrive")
    struct Watching {
        /// A house of an ordinary user, who runs the daemon after `limits` are set.
        private static func house(limits: String? = nil) throws -> House {
            let house: House
            if let limits {
                house = try House(running: ordinaryNamespace + ["\(limits) && exec \"$0\" \"$@\""])
            } else {
                house = try House(running: isRoot ? asNobody : ["/usr/bin/env"])
            }
            try own(house)
            return house
        }

        private static func own(_ house: House) throws {
            if isRoot { try runProgram(["/bin/chown", "-R", "65534:65534", house.root]) }
        }

        @Test(
            "Without an inotify instance all inboxes are polled, and the setting is reported",
            .enabled(if: canLimit, withoutLimits))
        func noInstance() async throws {
            let house = try Self.house(limits: "echo 0 > /proc/sys/user/max_inotify_instances")
            let daemon = try await house.start(reporting: ["PI-108"])
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try Self.own(house)
            try await daemon.line(holding: "filed inbox/a.jpg")
            let state = try await house.state(of: daemon)
            #expect(state.inboxes.first?.verdict == "polled" && state.inboxes.first?.watches == 0)
            let problem = try #require(state.problems.first)
            #expect(state.problems.map(\.code) == ["PI-108"])
            #expect(problem.what.contains("no inotify instance was left (0 for each user)"), "\(problem)")
            #expect(problem.action.contains("sudo sysctl user.max_inotify_instances=128"), "\(problem)")
            try await daemon.stop()
        }

        @Test(
            "Without enough watches the rest is polled, and the setting reported, until it is raised",
            .enabled(if: canLimit, withoutLimits))
        func watchLimit() async throws {
            let house = try Self.house(limits: "echo 12 > /proc/sys/user/max_inotify_watches")
            for number in 0..<20 { try makeDirectory("\(house.inbox)/\(number)") }
            try Self.own(house)
            let daemon = try await house.start(reporting: ["PI-202"])
            for number in 0..<20 {
                try house.drop(try Photos.unique(number), as: "a.jpg", into: "\(house.inbox)/\(number)")
            }
            try Self.own(house)
            try await daemon.lines(20, holding: "filed inbox/")
            var state = try await house.state(of: daemon)
            #expect(state.problems.map(\.code) == ["PI-202"] && state.inboxes.first?.verdict == "partly polled")
            #expect((state.inboxes.first?.polledDirectories ?? 0) >= 9)
            #expect(state.watchNeed?.limit == 12 && state.watchNeed?.advice == "user.max_inotify_watches=8192")
            #expect(state.problems.first?.action.contains("sudo sysctl user.max_inotify_watches=8192") ?? false)
            try runProgram(
                ["/usr/bin/nsenter", "--user"] + (isRoot ? [] : ["--preserve-credentials"]) + [
                    "-t", "\(daemon.pid)", "/bin/sh", "-c", "echo 8192 > /proc/sys/user/max_inotify_watches",
                ])
            try await daemon.line(holding: "PI-202 is over")
            state = try await house.state(of: daemon)
            #expect(state.inboxes.first?.verdict == "live" && state.inboxes.first?.watches == 21)
            try await daemon.stop()
        }

        @Test("An unreadable directory is reported until it is readable", .enabled(if: canBeOrdinary, withoutOthers))
        func unreadable() async throws {
            let house = try Self.house()
            try makeDirectory("\(house.inbox)/closed")
            try house.drop(try Photos.unique(1), as: "a.jpg", into: "\(house.inbox)/closed")
            try Self.own(house)
            #expect(chmod("\(house.inbox)/closed", 0) == 0)
            let daemon = try await house.start(reporting: ["PI-205"])
            let state = try await house.state(of: daemon)
            #expect(
                state.problems.map(\.code) == ["PI-205"] && state.inboxes.first?.coverage?.unreadableDirectories == 1)
            #expect(state.problems.first?.what.contains("inbox/closed: Permission denied") ?? false)
            #expect(chmod("\(house.inbox)/closed", 0o755) == 0)
            try await daemon.lines(holding: ["filed inbox/closed/a.jpg", "PI-205 is over for inbox"])
            try await daemon.stop()
        }

        /// By the kernel's records.
        @Test("Excluded trees use no watches")
        func excludedTrees() async throws {
            let house = try House()
            let kept = ["", "/day", "/day/sub"]
            let excluded = ["/@eaDir", "/@eaDir/a.jpg", "/day/@eaDir", "/.stfolder", "/raw", "/raw/sub", "/day/x.tmp"]
            for name in kept.dropFirst() + excluded { try makeDirectory(house.inbox + name) }
            let daemon = try await house.start(
                configuration: """
                    library = "@library"
                    state = "@st"
                    [inbox.card]
                    path = "@inbox"
                    exclude = ["raw", "*.tmp"]
                    """)
            // Later ones are excluded, too.
            let late = ["/late", "/late/@eaDir", "/late/raw"]
            for name in late { try makeDirectory(house.outside + name) }
            try house.drop(try Photos.unique(1), as: "a.jpg", into: "\(house.outside)/late")
            try move("\(house.outside)/late", to: "\(house.inbox)/late")
            try await daemon.line(holding: "filed card/late/a.jpg")
            let watched = try Self.watchedInodes(of: daemon.pid)
            for name in kept + late.prefix(1) {
                #expect(watched.contains(try inode(of: house.inbox + name)), "\(name)")
            }
            for name in excluded + late.dropFirst() {
                #expect(!watched.contains(try inode(of: house.inbox + name)), "\(name)")
            }
            try await daemon.stop()
        }

        @Test("Excluded trees use no watches in photoinbox watch either")
        func excludedFromWatch() async throws {
            let house = try House()
            let kept = ["", "/day"]
            let excluded = ["/raw", "/raw/sub", "/day/raw", "/x", "/x/sub", "/out"]
            for name in kept.dropFirst() + excluded { try makeDirectory(house.inbox + name) }
            let watch = try RunningProgram([
                BuiltPrograms.path("photoinbox"), "watch", "--exclude-glob", "raw", "--exclude", "/x/",
                house.inbox, "@\(house.inbox)/out",
            ])
            defer { watch.killIfRunning() }
            try await watch.line(holding: "watching")
            let watched = try Self.watchedInodes(of: watch.pid)
            for name in kept { #expect(watched.contains(try inode(of: house.inbox + name)), "\(name)") }
            for name in excluded { #expect(!watched.contains(try inode(of: house.inbox + name)), "\(name)") }
            watch.signal(SIGTERM)
            #expect(try await watch.ending() == .signal(SIGTERM))
        }

        /// The inodes that a process watches; see proc_pid_fdinfo(5).
        private static func watchedInodes(of process: pid_t) throws -> Set<UInt64> {
            var found: Set<UInt64> = []
            let directory = "/proc/\(process)/fdinfo"
            for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
                guard let text = try? String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8) else { continue }
                for line in text.split(separator: "\n") where line.hasPrefix("inotify wd:") {
                    let inode = line.split(separator: " ").first { $0.hasPrefix("ino:") }?.dropFirst(4)
                    found.insert(try #require(inode.flatMap { UInt64($0, radix: 16) }))
                }
            }
            return found
        }

        private func inode(of path: String) throws -> UInt64 {
            var status = stat()
            try systemCall("stat") { stat(path, &status) }
            return UInt64(status.st_ino)
        }
    }
}
