extension Problem {
    /// For machines: code, severity, texts, and every parameter by itself.
    package func json(clock: LocalClock) -> JSONValue {
        var values: [JSONField] = []
        for name in ProblemParameter.allCases {
            guard let value = parameters[name] else { continue }
            switch value {
            case .count(let number): values.append(JSONField(name.rawValue, .count(number)))
            case .bytes(let number): values.append(JSONField(name.rawValue + "_bytes", .unsigned(number)))
            case .seconds(let number): values.append(JSONField(name.rawValue + "_seconds", .integer(number)))
            case .moment(let moment): values.append(JSONField(name.rawValue, .moment(moment)))
            case .path(let path): values += JSONField.path(name.rawValue, path)
            case .text(let text): values.append(JSONField(name.rawValue, .string(text)))
            }
        }
        return .object([
            JSONField("code", .string(code.rawValue)), JSONField("severity", .string(severity.rawValue)),
            JSONField("subject", subject.isEmpty ? .null : .string(subject)), JSONField("since", .moment(since)),
            JSONField("title", .string(title(clock: clock))), JSONField("effect", .string(effect(clock: clock))),
            JSONField("action", .string(action(clock: clock))), JSONField("values", .object(values)),
        ])
    }
}

extension ProblemBoard {
    /// All that are due, shown and hidden, each with the code that hides it or null.
    package func json(at now: Int64, clock: LocalClock) -> JSONValue {
        func entry(_ problem: Problem, hiddenBy cause: ProblemCode?) -> JSONValue {
            guard case .object(let fields) = problem.json(clock: clock) else { return .null }
            return .object(fields + [JSONField("hidden_by", cause.map { .string($0.rawValue) } ?? .null)])
        }
        return .array(
            visible(at: now).map { entry($0, hiddenBy: nil) }
                + hidden(at: now).map { entry($0.problem, hiddenBy: $0.cause) })
    }
}

extension StatusReport {
    /// The whole report for machines. Times are universal, sizes in bytes.
    package func json() -> JSONValue {
        let clock = LocalClock.universal
        let worst = problems.worst(at: now)
        return .document([
            JSONField("version", .string(version)), JSONField("time", .moment(now)),
            JSONField("verdict", .string(StatusText(self, clock: clock).verdict)),
            JSONField("severity", worst.map { .string($0.rawValue) } ?? .null),
            JSONField("uptime_seconds", .integer(uptime)), JSONField("inboxes", .array(inboxes.map { $0.json() })),
            JSONField(
                "library",
                library.map {
                    .object([
                        JSONField("free_bytes", .unsigned($0.freeBytes)),
                        JSONField("bytes_per_day", $0.bytesPerDay.map { .unsigned($0) } ?? .null),
                    ])
                } ?? .null),
            JSONField(
                "today",
                today.map {
                    .object([
                        JSONField("filed", .count($0.filed)), JSONField("duplicates", .count($0.duplicates)),
                        JSONField("quarantined", .count($0.quarantined)),
                    ])
                } ?? .null),
            JSONField(
                "verified",
                verification.map {
                    .object([
                        JSONField("finished", .moment($0.finished)), JSONField("photos", .count($0.photos)),
                        JSONField("damaged", .count($0.damaged)),
                    ])
                } ?? .null),
            JSONField("problems", problems.json(at: now, clock: clock)),
        ])
    }
}

extension StatusReport.Inbox {
    func json() -> JSONValue {
        var polled: (folders: Int?, interval: Int64)?
        let state: String
        switch watch {
        case .live: state = "live"
        case .partlyPolled(let folders, _, let interval):
            state = "partly-polled"
            polled = (folders, interval)
        case .polled(let interval):
            state = "polled"
            polled = (nil, interval)
        case .reading: state = "reading"
        case .missing: state = "missing"
        case .stalled: state = "stalled"
        case .paused: state = "paused"
        }
        return .object([
            JSONField("name", .string(name)), JSONField("state", .string(state)),
            JSONField("polled_folders", polled?.folders.map { .count($0) } ?? .null),
            JSONField("poll_interval_seconds", polled.map { .integer($0.interval) } ?? .null),
            JSONField("arriving", .count(arriving)), JSONField("waiting", .count(waiting)),
            JSONField("deferred", .count(deferred)),
            JSONField("oldest_seconds", oldest.map { .integer($0) } ?? .null),
        ])
    }
}
