import GRDB

extension CatalogueFile {
    /// Calls `body` with the size in bytes of each filed photo, in no order, so that a caller can rule out duplicates
    /// without reading files.
    package func eachPhotoSize(_ body: (UInt64) -> Void) throws(CatalogueError) {
        try read("reading the sizes of photos") { db in
            let sizes = try Int64.fetchCursor(db, sql: "SELECT size FROM photo WHERE superseded_at IS NULL")
            while let size = try sizes.next() { body(UInt64(clamping: size)) }
        }
    }
}
