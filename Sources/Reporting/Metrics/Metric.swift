/// Every metric of the daemon, by the name of its family. Names and labels never get another meaning; no
/// label is ever a file's name. See photoinbox-metrics(7), which is made from ``row``.
package enum Metric: String, CaseIterable, Hashable, Sendable {
    case buildInfo = "photoinbox_build_info"
    case started = "photoinbox_start_timestamp_seconds"
    case sampled = "photoinbox_sample_timestamp_seconds"

    case photos = "photoinbox_photos"
    case filedBytes = "photoinbox_bytes"
    case filingDelay = "photoinbox_filing_delay_seconds"
    case stageDuration = "photoinbox_stage_duration_seconds"
    case photoSize = "photoinbox_photo_size_bytes"
    case waiting = "photoinbox_waiting_photos"
    case oldestWaiting = "photoinbox_oldest_waiting_timestamp_seconds"
    case paused = "photoinbox_paused"

    case verdict = "photoinbox_inbox_verdict"
    case lastScan = "photoinbox_last_scan_timestamp_seconds"
    case scanInterval = "photoinbox_scan_interval_seconds"
    case knownFiles = "photoinbox_known_files"
    case watches = "photoinbox_watches"
    case polledDirectories = "photoinbox_polled_directories"
    case watchEvents = "photoinbox_watch_events"
    case missedEvents = "photoinbox_missed_events"
    case overflows = "photoinbox_watch_overflows"

    case problems = "photoinbox_problem_active"
    case damaged = "photoinbox_damaged_photos"
    case lastVerification = "photoinbox_last_verify_success_timestamp_seconds"
    case freeBytes = "photoinbox_library_free_bytes"

    case queueStep = "photoinbox_queue_step_seconds"
    case queueSilence = "photoinbox_queue_unanswered_seconds"
    case queueWaiting = "photoinbox_queue_waiting_tasks"
    case hookWaiting = "photoinbox_hook_waiting_files"
    case hookFailing = "photoinbox_hook_failing_runs"
    case thumbnails = "photoinbox_thumbnails"
    case logEntries = "photoinbox_log_entries"
    case residentBytes = "photoinbox_resident_memory_bytes"
    case descriptors = "photoinbox_open_descriptors"
    case threads = "photoinbox_threads"
}

package struct MetricRow: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case counter, gauge
        /// With the upper bounds of its buckets except the last, which has none.
        case histogram([Double])

        /// The type in the text format.
        package var word: String {
            switch self {
            case .counter: "counter"
            case .gauge: "gauge"
            case .histogram: "histogram"
            }
        }
    }

    package let kind: Kind
    /// The labels, in their order.
    package let labels: [String]
    /// One clause for people, without a final stop.
    package let help: String

    init(_ kind: Kind, _ labels: [String], _ help: String) {
        (self.kind, self.labels, self.help) = (kind, labels, help)
    }

    init(_ kind: Kind, _ help: String) { self.init(kind, [], help) }
}

extension Metric {
    /// `seconds` or `bytes`, by the suffix of its name.
    package var unit: String? { ["seconds", "bytes"].first { rawValue.hasSuffix("_" + $0) } }

    /// The name of its samples; a histogram's have suffixes of their own.
    package var sampleName: String { row.kind == .counter ? rawValue + "_total" : rawValue }

    package var row: MetricRow {
        switch self {
        case .buildInfo: MetricRow(.gauge, ["version"], "Always 1; the version of photoinboxd")
        case .started: MetricRow(.gauge, "When the daemon was started")
        case .sampled:
            MetricRow(
                .gauge, "When these values were sampled; an old time in a file shows that it is no longer written")
        case .photos:
            MetricRow(.counter, ["inbox", "outcome"], "Files with an outcome since the start")
        case .filedBytes: MetricRow(.counter, ["inbox"], "Bytes of the files that were filed since the start")
        case .filingDelay:
            MetricRow(
                .histogram([1, 5, 10, 30, 60, 300, 1_800, 7_200, 43_200]), ["inbox"],
                "Time from when a file was first seen until it was filed")
        case .stageDuration:
            MetricRow(
                .histogram([0.001, 0.01, 0.1, 1, 10, 60]), ["stage"],
                "Duration of each step of the work on a file or set; record waits for the catalogue's disk")
        case .photoSize:
            MetricRow(
                .histogram([1, 4, 16, 64, 256, 1_024].map { $0 * 1_048_576 }), "Sizes of the files that were filed")
        case .waiting:
            MetricRow(
                .gauge, ["inbox", "state"],
                "Files without an outcome: queued, working, settling, gathering (for the rest of their set) or deferred"
            )
        case .oldestWaiting:
            MetricRow(.gauge, ["inbox"], "When the oldest of these was first seen; 0 if none waits")
        case .paused: MetricRow(.gauge, ["inbox"], "1 while the inbox is paused")
        case .verdict: MetricRow(.gauge, ["inbox", "verdict"], "1 for how the inbox is watched, else 0")
        case .lastScan:
            MetricRow(.gauge, ["inbox"], "When the inbox was last scanned; 0 before the first scan")
        case .scanInterval:
            MetricRow(
                .gauge, ["inbox"], "Interval of scans: of polling, or of audits where events are reported")
        case .knownFiles: MetricRow(.gauge, ["inbox"], "Known entries of the inbox that are not directories")
        case .watches: MetricRow(.gauge, ["inbox"], "Directories that are watched by the kernel")
        case .polledDirectories: MetricRow(.gauge, ["inbox"], "Directories that are polled instead")
        case .watchEvents: MetricRow(.counter, ["inbox"], "Changes that the watch has reported")
        case .missedEvents: MetricRow(.counter, ["inbox"], "Changes that scans found and no event had reported")
        case .overflows: MetricRow(.counter, "Overflows of the kernel's event queue")
        case .problems:
            MetricRow(
                .gauge, ["code", "severity"],
                "Number of subjects with this problem in status; see photoinbox-problems(7)")
        case .damaged: MetricRow(.gauge, "Filed files that were found missing or damaged in the library")
        case .lastVerification:
            MetricRow(
                .gauge, "When the daemon last finished verifying a part of the library; 0 if not since the start")
        case .freeBytes: MetricRow(.gauge, "Free bytes in the library's file system; absent before the first check")
        case .queueStep: MetricRow(.gauge, ["queue"], "Duration of the current step; 0 between tasks")
        case .queueSilence:
            MetricRow(.gauge, ["queue"], "Time since the queue should have answered; 0 while it answers")
        case .queueWaiting: MetricRow(.gauge, ["queue"], "Waiting tasks")
        case .hookWaiting: MetricRow(.gauge, ["hook"], "Files that are waiting for the hook")
        case .hookFailing: MetricRow(.gauge, ["hook"], "Consecutive failed runs of the hook")
        case .thumbnails: MetricRow(.counter, ["result"], "Photos whose thumbnails were made, or failed")
        case .logEntries:
            MetricRow(.counter, ["result"], "Log entries that were sent, or dropped since they were not accepted")
        case .residentBytes: MetricRow(.gauge, "Resident memory of the daemon")
        case .descriptors: MetricRow(.gauge, "Open descriptors of the daemon")
        case .threads: MetricRow(.gauge, "Threads of the daemon")
        }
    }
}
