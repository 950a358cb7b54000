/// Every metric that the daemon tells, by the name of its family. Names and labels are never given another meaning; no
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

/// All that is said of a metric wherever it is said.
package struct MetricRow: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case counter, gauge
        /// With the upper bounds of its buckets but the last, which has none.
        case histogram([Double])

        /// As the format calls it.
        package var word: String {
            switch self {
            case .counter: "counter"
            case .gauge: "gauge"
            case .histogram: "histogram"
            }
        }
    }

    package let kind: Kind
    /// In this order.
    package let labels: [String]
    /// One clause for people, without a final stop.
    package let help: String

    init(_ kind: Kind, _ labels: [String], _ help: String) {
        self.kind = kind
        self.labels = labels
        self.help = help
    }

    init(_ kind: Kind, _ help: String) { self.init(kind, [], help) }
}

extension Metric {
    /// `seconds` or `bytes`, where its name ends so.
    package var unit: String? { ["seconds", "bytes"].first { rawValue.hasSuffix("_" + $0) } }

    /// The name of its samples; a histogram's have suffixes of their own.
    package var sampleName: String { row.kind == .counter ? rawValue + "_total" : rawValue }

    /// What is said of it.
    package var row: MetricRow {
        switch self {
        case .buildInfo: MetricRow(.gauge, ["version"], "Always 1; which photoinboxd this is")
        case .started: MetricRow(.gauge, "When the daemon was started")
        case .sampled:
            MetricRow(.gauge, "When these values were taken; an old one in a file tells that nobody writes it")
        case .photos:
            MetricRow(.counter, ["inbox", "outcome"], "Files that had their outcome since the start")
        case .filedBytes: MetricRow(.counter, ["inbox"], "Bytes of the files that were filed since the start")
        case .filingDelay:
            MetricRow(
                .histogram([1, 5, 10, 30, 60, 300, 1_800, 7_200, 43_200]), ["inbox"],
                "From when a file was first seen to when it was filed")
        case .stageDuration:
            MetricRow(
                .histogram([0.001, 0.01, 0.1, 1, 10, 60]), ["stage"],
                "How long each step of the work on a file, or on a set, took; record waits for the catalogue's disk")
        case .photoSize:
            MetricRow(
                .histogram([1, 4, 16, 64, 256, 1_024].map { $0 * 1_048_576 }), "Sizes of the files that were filed")
        case .waiting:
            MetricRow(
                .gauge, ["inbox", "state"],
                "Files without an outcome: queued, working, settling, gathering (for the rest of their set) or deferred"
            )
        case .oldestWaiting:
            MetricRow(.gauge, ["inbox"], "When the oldest of these was first seen; 0 where none waits")
        case .paused: MetricRow(.gauge, ["inbox"], "1 while nothing is taken out of the inbox, on somebody's word")
        case .verdict: MetricRow(.gauge, ["inbox", "verdict"], "1 for how the inbox is watched, else 0")
        case .lastScan:
            MetricRow(.gauge, ["inbox"], "When the inbox was last compared with what is known; 0 before the first time")
        case .scanInterval:
            MetricRow(
                .gauge, ["inbox"], "How often it is: where it is polled, and where comparisons only check the events")
        case .knownFiles: MetricRow(.gauge, ["inbox"], "Entries known in the inbox that are no directories")
        case .watches: MetricRow(.gauge, ["inbox"], "Directories that the kernel tells of")
        case .polledDirectories: MetricRow(.gauge, ["inbox"], "Directories that are listed again and again instead")
        case .watchEvents: MetricRow(.counter, ["inbox"], "Changes that the watch has told of")
        case .missedEvents: MetricRow(.counter, ["inbox"], "Changes that comparisons found and no event had told")
        case .overflows: MetricRow(.counter, "Times that the kernel's queue of events overflowed")
        case .problems:
            MetricRow(
                .gauge, ["code", "severity"],
                "Of how many subjects status shows this problem; see photoinbox-problems(7)")
        case .damaged: MetricRow(.gauge, "Filed files that were found missing or damaged in the library")
        case .lastVerification:
            MetricRow(
                .gauge, "When the daemon last read a part of the library again to its end; 0 if not since the start")
        case .freeBytes: MetricRow(.gauge, "What is free in the library's file system; absent until that was looked at")
        case .queueStep: MetricRow(.gauge, ["queue"], "For how long the present step has lasted; 0 between two things")
        case .queueSilence: MetricRow(.gauge, ["queue"], "For how long the queue owes an answer; 0 while it answers")
        case .queueWaiting: MetricRow(.gauge, ["queue"], "Tasks that wait for their turn")
        case .hookWaiting: MetricRow(.gauge, ["hook"], "Files of which the hook has still to be told")
        case .hookFailing: MetricRow(.gauge, ["hook"], "Runs of the hook that failed in a row")
        case .thumbnails: MetricRow(.counter, ["result"], "Photos whose small pictures were made, or could not be")
        case .logEntries:
            MetricRow(.counter, ["result"], "Log entries that were sent, or dropped because nobody took them")
        case .residentBytes: MetricRow(.gauge, "Memory that the daemon has in use")
        case .descriptors: MetricRow(.gauge, "Descriptors that it has open")
        case .threads: MetricRow(.gauge, "Its threads")
        }
    }
}
