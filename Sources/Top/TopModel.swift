import CommandSupport
import Reporting

/// The state of `top`: view, order, selected row. A value without I/O.
struct TopModel: Sendable {
    enum Overlay: Hashable, Sendable {
        case none
        case help
        /// All fields of the row of this identity.
        case detail(String)
    }

    /// What the caller must do after a key.
    enum Effect: Hashable, Sendable {
        case none, redraw, quit
        /// The interval has changed.
        case reschedule
        /// A sample is requested now.
        case refresh
    }

    private(set) var view: TopView
    private(set) var overlay = Overlay.none
    /// Whether samples are ignored; the daemon continues.
    private(set) var isFrozen = false
    /// Seconds between two samples.
    private(set) var interval: Double
    /// The text that rows must contain; empty for all rows.
    private(set) var filter = ""
    private(set) var isTyping = false
    private(set) var scroll = 0
    /// The first line of an overlay that is shown.
    private(set) var overlayScroll = 0
    private(set) var sample: TopSample?
    /// The rows of the view, in its order. Cached, since there may be thousands, and keys may repeat fast.
    private(set) var rows: [TopRow] = []
    /// Why the daemon does not answer.
    private(set) var failure: CommandFailure?
    private var orders: [TopView: TopOrder] = [:]
    private var selected: [TopView: String] = [:]
    /// The number of rows that fit on the screen, as of the last frame.
    private var page = 1

    /// The intervals that + and - select, in seconds.
    static let intervals = [0.2, 0.5, 1, 2, 5, 10, 30, 60]
    private static let longestFilter = 64

    init(interval: Double, view: TopView = .inboxes) {
        (self.interval, self.view) = (interval, view)
    }

    var order: TopOrder { orders[view] ?? view.order }
    var selection: String? { selected[view] }

    /// The row whose fields are shown; nil if it no longer exists.
    var detailed: TopRow? {
        guard case .detail(let id) = overlay, let sample else { return nil }
        return TopRows(sample).rows(view).first { $0.id == id }
    }

    // MARK: - Events

    mutating func received(_ new: TopSample) {
        failure = nil
        guard !isFrozen else { return }
        sample = new
        update()
    }

    /// Computes the rows after a change of sample, view, order or filter.
    private mutating func update() {
        guard let sample else { return }
        let all = TopRows(sample).rows(view)
        let needle = filter.lowercased()
        let wanted =
            needle.isEmpty ? all : all.filter { row in row.cells.contains { $0.text.lowercased().contains(needle) } }
        rows = order.sorted(wanted)
    }

    mutating func failed(_ failure: CommandFailure) { self.failure = failure }

    /// Scrolls so that the selected row is among the `page` rows that fit.
    mutating func fit(_ page: Int, rows: [TopRow]) {
        self.page = max(1, page)
        let place = rows.firstIndex { $0.id == selection } ?? 0
        if place < scroll { scroll = place }
        if place >= scroll + self.page { scroll = place - self.page + 1 }
        scroll = max(0, min(scroll, rows.count - self.page))
    }

    /// The same for the lines of an overlay.
    mutating func fit(overlayPage page: Int, lines: Int) {
        self.page = max(1, page)
        overlayScroll = max(0, min(overlayScroll, lines - self.page))
    }

    mutating func press(_ key: Key) -> Effect {
        if isTyping { return type(key) }
        if overlay != .none { return pressInOverlay(key) }
        switch key {
        case .character(let scalar): return press(Character(scalar))
        case .up: move(by: -1)
        case .down: move(by: 1)
        case .pageUp: move(by: -page)
        case .pageDown: move(by: page)
        case .home: move(by: -Int(Int32.max))
        case .end: move(by: Int(Int32.max))
        case .right, .tab: show(view.moved(by: 1))
        case .left, .backTab: show(view.moved(by: -1))
        case .enter: open()
        case .escape:
            filter = ""
            update()
        case .backspace: return .none
        }
        return .redraw
    }

    private mutating func press(_ character: Character) -> Effect {
        switch character {
        case "q", "Q": return .quit
        case "?", "h": (overlay, overlayScroll) = (.help, 0)
        case "j": move(by: 1)
        case "k": move(by: -1)
        case "g": move(by: -Int(Int32.max))
        case "G": move(by: Int(Int32.max))
        case "s", ">": sort(by: 1)
        case "S", "<": sort(by: -1)
        case "r":
            orders[view] = TopOrder(column: order.column, isDescending: !order.isDescending)
            update()
        case "z", "p":
            isFrozen.toggle()
            return isFrozen ? .redraw : .refresh
        case " ": return .refresh
        case "/": isTyping = true
        case "+", "=": return setInterval(Self.intervals.first { $0 > interval })
        case "-": return setInterval(Self.intervals.last { $0 < interval })
        default:
            guard let view = TopView.allCases.first(where: { $0.key == character }) else { return .none }
            show(view)
        }
        return .redraw
    }

    private mutating func pressInOverlay(_ key: Key) -> Effect {
        switch key {
        case .character("q"), .character("Q"): return .quit
        case .up, .character("k"): overlayScroll = max(0, overlayScroll - 1)
        case .down, .character("j"): overlayScroll += 1
        case .pageUp: overlayScroll = max(0, overlayScroll - page)
        case .pageDown: overlayScroll += page
        case .home, .character("g"): overlayScroll = 0
        case .end, .character("G"): overlayScroll = Int(Int32.max)
        default: overlay = .none
        }
        return .redraw
    }

    private mutating func type(_ key: Key) -> Effect {
        switch key {
        case .character(let scalar) where filter.unicodeScalars.count < Self.longestFilter:
            // What is typed is shown, too: nothing that moves the cursor.
            filter += printable(String(scalar))
        case .character: return .none
        case .backspace: filter = String(filter.dropLast())
        case .enter: isTyping = false
        case .escape: (isTyping, filter) = (false, "")
        default:
            isTyping = false
            return press(key)
        }
        update()
        return .redraw
    }

    private mutating func setInterval(_ new: Double?) -> Effect {
        guard let new else { return .none }
        interval = new
        return .reschedule
    }

    private mutating func show(_ new: TopView) {
        (view, scroll) = (new, 0)
        update()
    }

    private mutating func open() {
        guard let row = rows.first(where: { $0.id == selection }) ?? rows.first else { return }
        selected[view] = row.id
        (overlay, overlayScroll) = (.detail(row.id), 0)
    }

    private mutating func move(by count: Int) {
        guard !rows.isEmpty else { return }
        let place = rows.firstIndex { $0.id == selection } ?? 0
        selected[view] = rows[max(0, min(rows.count - 1, place + count))].id
    }

    /// Sorts by the next column, ascending by text and descending by number.
    private mutating func sort(by step: Int) {
        let columns = view.columns
        let column = (order.column + step + columns.count) % columns.count
        orders[view] = TopOrder(column: column, isDescending: columns[column].alignment == .right)
        update()
    }
}
