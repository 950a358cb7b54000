import CommandContact
import ControlProtocol
import Reporting

extension TopSample {
    /// Every view as an array of objects, with the columns' names as fields; see photoinbox-json(7).
    func json() -> JSONValue {
        let number = { (value: Double?) -> JSONValue in value.map { .number($0) } ?? .null }
        let rows = TopRows(self)
        return .document(
            [
                JSONField("version", .string(state.program.version)), JSONField("time", .string(state.at)),
                JSONField("phase", .string(state.program.phase)), JSONField("status", .string(state.program.status)),
                JSONField("uptime_seconds", .number(state.program.uptimeSeconds)),
                JSONField("load", .array(load.map { .number($0) })), JSONField("processors", number(processors)),
                JSONField("memory_bytes", .count(state.program.residentBytes)),
                JSONField("threads", .count(state.program.threads)),
                JSONField("descriptors", .count(state.program.descriptors)),
                JSONField("filed_per_minute", number(filedPerMinute)),
                JSONField("files_omitted", .count(state.inHandOmitted ?? 0)),
            ]
                + TopView.allCases.map { view in
                    JSONField(
                        view.rawValue,
                        .array(
                            view.order
                                .sorted(rows.rows(view)).map { row in
                                    .object(
                                        zip(view.columns, row.cells).map { column, cell in
                                            JSONField(column.name, cell.value.json)
                                        })
                                }))
                })
    }
}
