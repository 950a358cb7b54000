import Catalogue

/// Which photo gets its pictures next: those that were just filed, then those that were filed before, the newest first.
struct PhotoQueue {
    /// New arrivals that wait; what is more is found when earlier photos are gone through again.
    static let mostWaiting = 10_000
    private static let pageSize = 64

    /// Hashes of new arrivals.
    private var arrivals: [[UInt8]] = []
    /// Photos below this number are next when no arrival waits; nil once all were.
    private var earlier: Int64?
    private var page: [StoredPhoto] = []
    /// The newest photo that pages have or had: an arrival up to it comes by them.
    private var paged: Int64 = 0
    /// Could not be tried.
    private var returned: [StoredPhoto] = []
    /// The number of the newest photo that was tried.
    private var newest: Int64 = 0
    /// All up to this one were tried before, by `mark`: with these settings, as this catalogue counts.
    private var done: Int64 = 0
    private(set) var mark = ""

    /// How many new arrivals wait.
    var waiting: Int { arrivals.count + returned.count }

    /// Goes through earlier photos from the newest on, down to those that were tried by this mark.
    mutating func begin(after done: Int64, _ mark: String) {
        (self.done, self.mark) = (done, mark)
        (newest, earlier, page) = (done, .max, [])
    }

    mutating func add(_ hash: [UInt8]) {
        if arrivals.count < Self.mostWaiting {
            arrivals.append(hash)
        } else {
            // All below it are gone through once more.
            (earlier, page) = (.max, [])
        }
    }

    /// It could not be tried, and is next.
    mutating func putBack(_ stored: StoredPhoto) { returned.append(stored) }

    mutating func tried(_ stored: StoredPhoto) { newest = max(newest, stored.id) }

    mutating func next(in catalogue: CatalogueFile) -> StoredPhoto? {
        if let photo = returned.popLast() { return photo }
        while !arrivals.isEmpty {
            if let photo = try? catalogue.photo(withHash: arrivals.removeFirst()), photo.id > paged { return photo }
        }
        guard let earlier else { return nil }
        if page.isEmpty {
            var filter = PhotoFilter()
            filter.before = earlier
            // A catalogue that cannot be read now: the next arrival, or the next start, continues here.
            guard let found = try? catalogue.photos(matching: filter, limit: Self.pageSize) else { return nil }
            page = found
            if earlier == .max { paged = max(paged, found.first?.id ?? 0) }
        }
        guard let photo = page.first, photo.id > done else {
            self.earlier = nil
            return nil
        }
        page.removeFirst()
        self.earlier = photo.id
        return photo
    }

    /// The number up to which all were tried, if that is more than before: the next start need not go through them.
    mutating func allTried() -> Int64? {
        guard earlier == nil, waiting == 0, newest > done else { return nil }
        done = newest
        return done
    }
}
