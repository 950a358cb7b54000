/// The sections of the configuration, in the order of the manual.
package enum SettingsSection: String, CaseIterable, Hashable, Sendable {
    /// Keys before the first header.
    case top = ""
    case inbox, cards, filing, sets, describe, pictures, fetch, web, watch, timer, signals, descriptor, hook, metrics,
        log

    /// The notation of a section.
    enum Shape: Equatable {
        /// Keys before the first header.
        case top
        /// `[section]`.
        case table
        /// `[section.NAME]`, and the name in the example.
        case namedTables(example: String)
        /// `[[section]]`, with a key `name`.
        case tableArray
    }

    var shape: Shape {
        switch self {
        case .top: .top
        case .inbox: .namedTables(example: "card")
        case .hook: .namedTables(example: "notify")
        case .timer, .descriptor: .tableArray
        case .cards, .filing, .sets, .describe, .pictures, .fetch, .web, .watch, .signals, .metrics, .log: .table
        }
    }

    /// `[watch]`, `[inbox.NAME]` or `[[timer]]`; empty for the top.
    package var header: String { header(name: "NAME") }

    /// ``header`` with the example's name.
    package var exampleHeader: String {
        if case .namedTables(let example) = shape { header(name: example) } else { header }
    }

    /// The header of the member `name`.
    func header(name: String) -> String {
        switch shape {
        case .top: ""
        case .table: "[\(rawValue)]"
        case .namedTables: "[\(rawValue).\(name)]"
        case .tableArray: "[[\(rawValue)]]"
        }
    }

    /// Whether there may be several, each with a name.
    var isNamed: Bool { shape != .top && shape != .table }

    /// Its keys.
    package var keys: [KeyRow] { Settings.keyTable.filter { $0.section == self } }

    /// Its purpose, for the manual and the default file.
    package var explanation: String {
        switch self {
        case .top: ""
        case .inbox: "A directory tree whose photos are filed. There may be any number, each with its own name."
        case .cards: "Camera cards, imported when they are mounted. Nothing on a card is ever changed or removed."
        case .filing: "How filed photos are stored."
        case .sets:
            "Related files are filed together: RAW and JPEG, the picture and film of a Live Photo, a photo and its "
                + "sidecars."
        case .describe:
            "What people say of photos: titles, keywords, ratings, dates and places, imported by \"photoinbox import-csv\"."
        case .pictures:
            "Thumbnails and previews of filed photos, made after filing by a confined program; filing never waits for "
                + "them."
        case .fetch:
            "Downloads into an inbox by \"photoinbox fetch\" and link files, made by a separate program: the daemon itself "
                + "has no network access. Read when a batch begins."
        case .web: "Photos that are sent to the pages: see docs/pages.md."
        case .watch:
            "How often inboxes are compared with what is known, where change notifications are missing or not enough."
        case .timer: "A scheduled action. Requires a name and either \"every\" or \"at\"."
        case .signals: "What each signal does. Names with or without SIG."
        case .descriptor: "A FIFO that accepts commands: each line is an action."
        case .hook:
            "A program that runs when files were filed or quarantined, or on \"hook NAME\"; without a shell, with a time "
                + "limit. It reads one JSON object per line from its standard input: see photoinbox-json(7)."
        case .metrics: "Metrics for monitoring systems; \"photoinbox metrics\" prints the same at any time."
        case .log: "What is logged, and where."
        }
    }
}
