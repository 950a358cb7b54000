import CommandSupport
import FileValues
import Reporting

/// A cell's value, for sorting and for JSON.
enum TopValue: Hashable, Sendable, JSONRepresentable {
    case none
    case number(Double)
    case text(String)

    /// None before numbers, numbers before texts.
    static func < (left: TopValue, right: TopValue) -> Bool {
        switch (left, right) {
        case (.none, .none): false
        case (.none, _): true
        case (_, .none): false
        case (.number(let left), .number(let right)): left < right
        case (.number, .text): true
        case (.text, .number): false
        case (.text(let left), .text(let right)): left < right
        }
    }

    var json: JSONValue {
        switch self {
        case .none: .null
        case .number(let value): Int64(exactly: value).map { .integer($0) } ?? .number(value)
        case .text(let text): .string(text)
        }
    }
}

struct TopCell: Hashable, Sendable {
    /// One line without control characters.
    let text: String
    let value: TopValue
    var paint: TextStyle.Paint?
    /// The value to sort by, if another.
    var rank: TopValue?

    init(_ text: String, _ value: TopValue? = nil, _ paint: TextStyle.Paint? = nil) {
        self.text = printableOnce(text)
        self.value = value ?? (text.isEmpty ? .none : .text(text))
        self.paint = paint
    }

    /// The value to sort by.
    fileprivate var order: TopValue { rank ?? value }

    /// A count; with `blank`, 0 is not shown.
    static func count(_ number: Int, _ paint: TextStyle.Paint? = nil, blank: Bool = false) -> TopCell {
        TopCell(number == 0 && blank ? "" : HumanText.count(number), .number(Double(number)), number == 0 ? nil : paint)
    }

    static func age(_ seconds: Double?, _ paint: TextStyle.Paint? = nil) -> TopCell {
        guard let seconds else { return TopCell("") }
        return TopCell(HumanText.age(Int64(max(0, min(seconds, 1e12)))), .number(seconds), paint)
    }

    /// A rate per second; nil before there are two samples.
    static func rate(_ perSecond: Double?) -> TopCell {
        guard let perSecond else { return TopCell("") }
        return TopCell(perSecond == 0 ? "·" : rateText(perSecond), .number(perSecond))
    }

    /// A duration in microseconds.
    static func microseconds(_ value: Double?) -> TopCell {
        guard let value else { return TopCell("") }
        return TopCell(HumanText.elapsed(nanoseconds: UInt64(max(0, min(value * 1000, 1e18)))), .number(value))
    }
}

/// `0.25`, `3.1`, `1,204`.
func rateText(_ value: Double) -> String {
    let value = max(0, min(value, 1e15))
    if value >= 10 { return HumanText.count(Int64(value.rounded())) }
    let hundredths = Int64((value * 100).rounded())
    if hundredths >= 100 { return "\(hundredths / 100).\(hundredths / 10 % 10)" }
    return "0.\(hundredths / 10)\(hundredths % 10)"
}

struct TopColumn: Hashable, Sendable {
    /// Its name in JSON.
    let name: String
    /// The heading.
    let heading: String
    var alignment = TextTable.Alignment.right
    /// 0 is always shown; of the others, the highest number is omitted first if there is no room.
    var rank = 0
    /// The maximum width of a column that is not flexible; a flexible one gets the rest.
    var limit = 12
    var isFlexible = false
    /// The minimum width of a flexible column.
    var minimumWidth = 12
    var cut = TextCut.end

    static func text(
        _ name: String, _ heading: String, limit: Int = 16, rank: Int = 0, flexible: Bool = false,
        minimumWidth: Int = 12, cut: TextCut = .end
    ) -> TopColumn {
        TopColumn(
            name: name, heading: heading, alignment: .left, rank: rank, limit: limit, isFlexible: flexible,
            minimumWidth: minimumWidth, cut: cut)
    }

    static func number(_ name: String, _ heading: String, rank: Int = 0) -> TopColumn {
        TopColumn(name: name, heading: heading, rank: rank)
    }
}

struct TopRow: Hashable, Sendable {
    struct Detail: Hashable, Sendable {
        let label: String
        let text: String

        init(_ label: String, _ text: String?) {
            self.label = label
            self.text = text.map { printableOnce($0) } ?? "–"
        }
    }

    /// The same in each sample.
    let id: String
    /// One for each column of the view.
    let cells: [TopCell]
    var details: [Detail] = []
}

struct TopOrder: Hashable, Sendable {
    var column: Int
    var isDescending: Bool

    /// `rows` in this order; equal ones by their identity, so that they do not jump.
    func sorted(_ rows: [TopRow]) -> [TopRow] {
        rows.sorted { left, right in
            let (first, second) = (left.cells[column].order, right.cells[column].order)
            if first < second { return !isDescending }
            if second < first { return isDescending }
            return left.id < right.id
        }
    }
}

/// Which columns fit into a width, and how wide each is. Pure.
struct TopLayout: Hashable, Sendable {
    struct Placed: Hashable, Sendable {
        let column: Int
        let width: Int
    }

    let placed: [Placed]
    private let columns: [TopColumn]
    private let order: TopOrder

    /// Blanks between two columns.
    private static let gap = 2

    init(_ columns: [TopColumn], _ rows: [TopRow], by order: TopOrder, width: Int) {
        (self.columns, self.order) = (columns, order)
        let natural = columns.indices.map { index in
            let column = columns[index]
            let widest = rows.map { displayWidth($0.cells[index].text) }.max() ?? 0
            let heading = displayWidth(column.heading) + (index == order.column ? 1 : 0)
            return max(heading, column.isFlexible ? widest : min(column.limit, widest))
        }
        var kept = Array(columns.indices)
        let need = { (kept: [Int], isTight: Bool) in
            kept.reduce(-Self.gap) { sum, index in
                let isSmall = isTight && columns[index].isFlexible
                return sum + Self.gap + (isSmall ? min(natural[index], columns[index].minimumWidth) : natural[index])
            }
        }
        while need(kept, true) > width {
            let rank = kept.map { columns[$0].rank }.max() ?? 0
            guard rank > 0, let last = kept.lastIndex(where: { columns[$0].rank == rank }) else { break }
            kept.remove(at: last)
        }
        var spare = width - need(kept, true)
        placed = kept.map { index in
            guard columns[index].isFlexible else { return Placed(column: index, width: natural[index]) }
            let small = min(natural[index], columns[index].minimumWidth)
            let more = max(0, min(spare, natural[index] - small))
            spare -= more
            return Placed(column: index, width: small + more)
        }
    }

    /// The line of headings; the column that rows are sorted by has a mark.
    var heading: TopLine {
        var line = TopLine()
        for (place, slot) in placed.enumerated() {
            let column = columns[slot.column]
            let mark = slot.column == order.column ? (order.isDescending ? "▾" : "▴") : ""
            let text = fitted(column.heading + mark, to: slot.width, column.alignment)
            line.add((place == 0 ? "" : "  ") + text, .faint)
        }
        return line
    }

    func line(_ row: TopRow) -> TopLine {
        var line = TopLine()
        for (place, slot) in placed.enumerated() {
            let (column, cell) = (columns[slot.column], row.cells[slot.column])
            line.add((place == 0 ? "" : "  "))
            line.add(fitted(cell.text, to: slot.width, column.alignment, cutting: column.cut), cell.paint)
        }
        return line
    }
}
