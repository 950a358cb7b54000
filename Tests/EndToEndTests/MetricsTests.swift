import ControlProtocol
import Foundation
import Glibc
import LinuxKernel
import Reporting
import TestSupport
import Testing

extension EndToEnd {
    @Suite("Metrics on the control socket and in a file")
    struct Metrics {
        @Test("Metrics report outcomes, waiting files and problems, and continue after a reload")
        func whole() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard.replacing("1s", with: "10m"))
            let first = try await metrics(house)
            #expect(first.families.map(\.name) == Metric.allCases.map(\.rawValue))
            #expect(first.value("photoinbox_photos_total", ["inbox": "card", "outcome": "filed"]) == 0)
            #expect(first.value("photoinbox_waiting_photos", ["inbox": "card", "state": "deferred"]) == 0)
            #expect(first.value("photoinbox_oldest_waiting_timestamp_seconds", ["inbox": "card"]) == 0)
            #expect(first.value("photoinbox_filing_delay_seconds_count", ["inbox": "card"]) == 0)

            let photo = try Photos.unique(1)
            try house.drop(photo, as: "a.jpg")
            try house.drop(Data("text".utf8), as: "note.txt")
            try house.drop(try Photos.unique(2).prefix(900), as: "cut.jpg")
            try await daemon.lines(holding: ["filed card/a.jpg", "ignored card/note.txt", "deferred card/cut.jpg"])
            _ = try await house.ask("pause", "card")
            let second = try await metrics(house)
            for (outcome, count) in ["filed": 1.0, "ignored": 1, "duplicate": 0, "quarantined": 0, "withdrawn": 0] {
                #expect(
                    second.value("photoinbox_photos_total", ["inbox": "card", "outcome": outcome]) == count,
                    "\(outcome)")
            }
            #expect(second.value("photoinbox_bytes_total", ["inbox": "card"]) == Double(photo.count))
            #expect(second.value("photoinbox_photo_size_bytes_sum") == Double(photo.count))
            #expect(second.value("photoinbox_photo_size_bytes_bucket", ["le": "1048576.0"]) == 1)
            #expect(second.value("photoinbox_filing_delay_seconds_count", ["inbox": "card"]) == 1)
            // Each step of a filed photo is measured once; steps without a file are zero.
            let steps = { (name: String) in second.value("photoinbox_stage_duration_seconds_count", ["stage": name]) }
            for step in ["copy", "sync_copy", "verify_copy", "name_copy", "record", "remove_source"] {
                #expect(steps(step) == 1, "\(step)")
            }
            #expect(try #require(steps("hash_source")) >= 1)
            #expect(steps("write_reason") == 0 && steps("recover") == nil)
            let spent = try #require(second.value("photoinbox_stage_duration_seconds_sum", ["stage": "copy"]))
            #expect(spent > 0 && spent < 60)
            let waiting = ["queued", "working", "settling", "gathering", "deferred"].compactMap {
                second.value("photoinbox_waiting_photos", ["inbox": "card", "state": $0])
            }
            #expect(waiting.count == 5 && waiting.reduce(0, +) == 1)
            let now = Date().timeIntervalSince1970
            let oldest = try #require(
                second.value("photoinbox_oldest_waiting_timestamp_seconds", ["inbox": "card"]))
            #expect(oldest > now - 300 && oldest <= now)
            let scan = try #require(second.value("photoinbox_last_scan_timestamp_seconds", ["inbox": "card"]))
            #expect(scan > now - 300 && scan <= now)
            #expect(second.value("photoinbox_scan_interval_seconds", ["inbox": "card"]) == 86_400)
            #expect(second.value("photoinbox_paused", ["inbox": "card"]) == 1)
            #expect(second.value("photoinbox_problem_active", ["code": "PI-210", "severity": "notice"]) == 1)
            #expect(second.value("photoinbox_problem_active", ["code": "PI-401", "severity": "stopped"]) == 0)
            #expect(second.value("photoinbox_inbox_verdict", ["inbox": "card", "verdict": "live"]) == 1)
            #expect(second.value("photoinbox_inbox_verdict", ["inbox": "card", "verdict": "gone"]) == 0)
            #expect(second.value("photoinbox_watch_overflows_total") == 0)
            #expect(try #require(second.value("photoinbox_watch_events_total", ["inbox": "card"])) >= 3)
            #expect(second.value("photoinbox_queue_unanswered_seconds", ["queue": "pipeline"]) != nil)
            #expect(try #require(second.value("photoinbox_resident_memory_bytes")) > 1_048_576)
            #expect(
                !second.families.contains { $0.samples.contains { $0.labels.values.contains { $0.contains(".jpg") } } })

            daemon.signal(SIGHUP)
            try await daemon.line(holding: "configuration from ")
            let third = try await metrics(house)
            #expect(third.value("photoinbox_photos_total", ["inbox": "card", "outcome": "filed"]) == 1)
            #expect(third.value("photoinbox_filing_delay_seconds_count", ["inbox": "card"]) == 1)
            try await daemon.stop()
            let down = try await house.ask("metrics")
            #expect(down.status == 69 && down.text.contains("not running"), "\(down.lines)")
        }

        @Test("An answer is never older than its request")
        func fresh() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            for paused in [1.0, 0, 1, 0, 1] {
                _ = try await metrics(house)
                _ = try await house.ask(paused == 1 ? "pause" : "resume", "card")
                #expect(try await metrics(house).value("photoinbox_paused", ["inbox": "card"]) == paused)
            }
            try await daemon.stop()
        }

        @Test("Each metric in the alert rules exists")
        func alerts() async throws {
            let house = try House()
            let daemon = try await house.start(configuration: House.oneCard)
            let there = Set(try await metrics(house).families.flatMap(\.samples).map(\.name))
            let rules = try Data(contentsOf: URL(filePath: Self.project + "/docs/alerts.yml"))
            let text = String(decoding: rules, as: UTF8.self)
            let asked = Set(text.matches(of: /photoinbox_\w+/).map { String($0.0) }).subtracting(["photoinbox_metrics"])
            #expect(asked.count >= 6 && asked.subtracting(there).sorted() == [])
            try await daemon.stop()
        }

        @Test(
            "promtool accepts the alert rules, and they fire as expected",
            .enabled(if: promtoolPath != nil, "skipped: no promtool (scripts/deps test fetches it)"))
        func rules() throws {
            let promtool = try #require(Self.promtoolPath)
            try runProgram([promtool, "check", "rules", Self.project + "/docs/alerts.yml"])
            try runProgram([promtool, "test", "rules", Self.project + "/docs/alerts.test.yml"])
        }

        @Test("The file is replaced atomically, readable by all users, and removed at the end")
        func textfile() async throws {
            let house = try House()
            let path = house.path("outside/photoinbox.prom")
            // A partial file left by an earlier process.
            try write(Data("x".utf8), to: path + ".1.part")
            let section = "\n[metrics]\ntextfile = \"@outside/photoinbox.prom\"\nevery = \"1s\"\n"
            let daemon = try await house.start(
                configuration: House.oneCard + section, reporting: ["metrics are written to \(path)"])
            let first = try read(path)
            #expect(first.value("photoinbox_photos_total", ["inbox": "card", "outcome": "filed"]) == 0)
            let old = try #require(first.value("photoinbox_sample_timestamp_seconds"))
            var status = stat()
            #expect(stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o644)
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "filed card/a.jpg")
            // Every read gets a whole file.
            var last = first
            while last.value("photoinbox_photos_total", ["inbox": "card", "outcome": "filed"]) != 1 {
                last = try read(path)
            }
            #expect(try #require(last.value("photoinbox_sample_timestamp_seconds")) > old)
            #expect(house.files(in: house.outside).keys.sorted() == ["photoinbox.prom"])

            try house.configure(House.oneCard + section.replacing("photoinbox.prom", with: "other.prom"))
            daemon.signal(SIGHUP)
            try await daemon.line(holding: "metrics are written to \(house.path("outside/other.prom"))")
            #expect(house.files(in: house.outside).keys.sorted() == ["other.prom"])
            try await daemon.stop()
            #expect(house.files(in: house.outside).isEmpty)
        }

        @Test("A missing directory is reported once, and photos are filed")
        func missing() async throws {
            let house = try House()
            let daemon = try await house.start(
                configuration: House.oneCard + "\n[metrics]\ntextfile = \"@later/p.prom\"\nevery = \"1s\"\n",
                reporting: ["its directory does not exist", "metrics cannot be written to "])
            try house.drop(try Photos.unique(1), as: "a.jpg")
            try await daemon.line(holding: "filed card/a.jpg")
            #expect(try await house.state(of: daemon).problems.map(\.code) == ["PI-112"])
            try makeDirectory(house.path("later"))
            try await daemon.lines(holding: ["metrics are written to ", "PI-112 is over"])
            #expect(try await house.state(of: daemon).problems.isEmpty)
            try await daemon.stop()
            #expect(daemon.count(of: "warning  PI-112") == 1, "\(daemon.lines)")
        }

        private static let project = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
            .joined(separator: "/")

        private static let promtoolPath: String? = [project + "/.build/tools", "/usr/local/bin", "/usr/bin"]
            .map { $0 + "/promtool" }
            .first { access($0, X_OK) == 0 }

        private func metrics(_ house: House) async throws -> MetricsReader {
            let result = try await house.ask("metrics")
            #expect(result.status == 0, "\(result.lines)")
            return try MetricsReader(result.text + "\n")
        }

        private func read(_ path: String) throws -> MetricsReader {
            let data = try Data(contentsOf: URL(filePath: path))
            return try MetricsReader(String(decoding: data, as: UTF8.self), isOpenMetrics: false)
        }
    }
}
