package import FileValues

extension CatalogueFile {
    /// Photos that are read at a time, at most.
    private static let window: Int64 = 1_000

    /// Calls `keep` with what `read` returns for the photos with these numbers, part by part, until all photos of this catalogue
    /// were read, which may be damaged: a damaged row does not cost its neighbours. Returns why some could not be read; nil if
    /// all were. Throws what `keep` throws.
    func salvage<Part>(
        _ read: (ClosedRange<Int64>) throws(CatalogueError) -> Part, keep: (Part) throws(CatalogueError) -> Void
    ) throws(CatalogueError) -> CatalogueError? {
        var loss: CatalogueError?
        func visit(_ ids: ClosedRange<Int64>) throws(CatalogueError) {
            let part: Part
            do throws(CatalogueError) { part = try read(ids) } catch {
                loss = loss ?? error
                guard ids.count > 1, [.corrupt, .inputOutput, .other].contains(error.code) else { return }
                let middle = ids.lowerBound + (ids.upperBound - ids.lowerBound) / 2
                try visit(ids.lowerBound...middle)
                return try visit(middle + 1...ids.upperBound)
            }
            try keep(part)
        }
        let end: Int64?
        do throws(CatalogueError) {
            end = try readOne("reading how many photos there are") { db in
                try db.value(Int64.self, "SELECT max(id) FROM photo") ?? 0
            }
        } catch {
            loss = error
            end = nil
        }
        var next: Int64 = 1
        // Where the last rows are damaged, it ends after some parts that begin with none which can be read.
        var empty = 0
        while end.map({ next <= $0 }) ?? (empty < 3) {
            let last = next + Self.window - 1
            try visit(next...last)
            if end == nil { empty = beginsReadably(next...last) ? 0 : empty + 1 }
            next = last + 1
        }
        return loss
    }

    private func beginsReadably(_ ids: ClosedRange<Int64>) -> Bool {
        let first = try? readOne("reading a photo") { db in
            // The size is in no index.
            try db.value(
                Int64.self, "SELECT id FROM photo WHERE id BETWEEN ? AND ? AND size >= 0 ORDER BY id LIMIT 1",
                [ids.lowerBound, ids.upperBound])
        }
        return first != nil
    }

    /// Calls `body` with all photos of `library`, part by part, but for those that a request is moving. Returns why some could
    /// not be read; nil if all were.
    package func salvagePhotos(
        of library: BytePath, _ body: ([StoredPhoto]) throws(CatalogueError) -> Void
    ) throws(CatalogueError) -> CatalogueError? {
        try salvage { ids throws(CatalogueError) in
            try read("reading photos") { db in
                try db.rows(
                    """
                    SELECT * FROM photo
                    WHERE id BETWEEN ? AND ? AND library = ? AND superseded_at IS NULL
                        AND NOT EXISTS (SELECT 1 FROM request WHERE \(Self.isUnderWay("photo.id", db)))
                    ORDER BY id
                    """, [ids.lowerBound, ids.upperBound, library]
                ).map { try StoredPhoto($0) }
            }
        } keep: { photos throws(CatalogueError) in
            try body(photos)
        }
    }

    // MARK: - Photos without what other tables, which may be damaged, have of them

    /// Returns the photo that is recorded at this path.
    package func recorded(in library: BytePath, at path: BytePath) throws(CatalogueError) -> StoredPhoto? {
        try photos("WHERE \(words.isAt())", [library, path], columns: "*").first
    }

    /// Returns those with this content that are, or are not, sidecars.
    package func recorded(withHash sha256: [UInt8], areSidecars: Bool) throws(CatalogueError) -> [StoredPhoto] {
        let comparison = areSidecars ? "IS NOT DISTINCT FROM" : "IS DISTINCT FROM"
        return try photos(
            "WHERE sha256 = ? AND superseded_at IS NULL AND role \(comparison) 'sidecar' ORDER BY id", [sha256],
            columns: "*")
    }
}
