extension CatalogueFile {
    /// Calls `body` with the size in bytes of each filed photo, in no order, so that a caller can rule out duplicates
    /// without reading files.
    package func eachPhotoSize(_ body: (UInt64) -> Void) throws(CatalogueError) {
        try read("reading the sizes of photos") { db in
            try db.each("SELECT size FROM photo WHERE superseded_at IS NULL") { row in
                body(UInt64(clamping: try row.value("size") as Int64))
            }
        }
    }
}
