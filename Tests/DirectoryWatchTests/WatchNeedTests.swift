import LinuxKernel
import Testing

@testable import DirectoryWatch
@testable import WatchCore

@Suite("The number of missing watches, and the setting to change")
struct WatchNeedTests {
    @Test(
        "All of the user's processes share the limit, so the missing watches are added to it",
        arguments: [(8_192, 8_000, 4_112, 12_304, 16_384), (524_288, 3, 1, 524_289, 1_048_576), (8, 8, 13, 21, 8_192)])
    func numbers(limit: Int, watched: Int, missing: Int, needed: Int, advised: Int) {
        let need = WatchNeed(
            .watches, limit: .init(setting: "fs.inotify.max_user_watches", value: limit), used: watched,
            missing: missing, polled: missing)
        #expect(need.needed == needed)
        #expect(need.assignment == "fs.inotify.max_user_watches=\(advised)")
    }

    @Test("A limit that cannot be read counts as the number in use")
    func hidden() {
        let need = WatchNeed(.watches, limit: nil, used: 10_000, missing: 5_000, polled: 5_000)
        #expect(need.needed == 15_000)
        #expect(need.assignment == "fs.inotify.max_user_watches=16384")
    }

    @Test("One more instance than the limit suffices")
    func instances() {
        let limit = InotifyLimits.Limit(setting: "fs.inotify.max_user_instances", value: 128)
        let need = WatchNeed(.instances, limit: limit, used: 0, missing: 1, polled: 40_000)
        #expect(need.needed == 129)
        #expect(need.assignment == "fs.inotify.max_user_instances=256")
    }

    @Test("The kernel's limits are read")
    func limits() throws {
        let limits = InotifyLimits.current()
        #expect(try #require(limits.watches).value > 0)
        #expect(try #require(limits.instances).value > 0)
    }
}
