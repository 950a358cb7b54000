/// From watch descriptors to positions in the table of directories: 4 bytes a watch.
///
/// The kernel counts descriptors up from 1 and starts again when they have run out (idr_alloc_cyclic), so those in use
/// are close together but for old ones. Pages without a watch are given back.
struct WatchMap {
    private struct Page {
        var positions: [Int32] = []
        var count = 0
    }

    private static let size = 512

    private var pages: [Page] = []
    /// Watches in use.
    private(set) var count = 0

    /// The position for a descriptor; −1 for none. Setting −1 removes it.
    subscript(_ watch: Int32) -> Int32 {
        get {
            let page = Int(watch) / Self.size
            guard watch >= 0, page < pages.count, pages[page].count > 0 else { return -1 }
            return pages[page].positions[Int(watch) % Self.size]
        }
        set {
            precondition(watch >= 0, "a watch descriptor below 0")
            let page = Int(watch) / Self.size
            let slot = Int(watch) % Self.size
            if page >= pages.count {
                if newValue < 0 { return }
                pages.append(contentsOf: repeatElement(Page(), count: page + 1 - pages.count))
            }
            if pages[page].count == 0 {
                if newValue < 0 { return }
                pages[page].positions = Array(repeating: -1, count: Self.size)
            }
            let change = (newValue < 0 ? 0 : 1) - (pages[page].positions[slot] < 0 ? 0 : 1)
            pages[page].positions[slot] = newValue
            pages[page].count += change
            count += change
            if pages[page].count == 0 { pages[page].positions = [] }
        }
    }
}
