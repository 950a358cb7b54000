package import Catalogue
package import FileValues

/// What the catalogue that a rebuild replaces knows of the library. Confined to one thread at a time.
package final class FormerCatalogue {
    /// See ``CatalogueFile/replacedPhotos(in:)``.
    package let replaced: [BytePath: StoredPhoto]
    /// Why it cannot be read, or not all of it.
    package private(set) var failure: CatalogueError?

    private let catalogue: CatalogueFile
    private let library: BytePath

    package init(_ catalogue: CatalogueFile, of library: BytePath) {
        self.catalogue = catalogue
        self.library = library
        do throws(CatalogueError) { replaced = try catalogue.replacedPhotos(in: library) } catch {
            replaced = [:]
            failure = error
        }
    }

    /// The photo that it has recorded at `path`; nil if there is none, or that cannot be read.
    package func photo(at path: BytePath) -> StoredPhoto? {
        read { () throws(CatalogueError) in try catalogue.photo(library: library, path: path) }
    }

    /// The photo that it has recorded with this content; nil if there is none, or that cannot be read.
    func photo(withHash sha256: [UInt8]) -> StoredPhoto? {
        read { () throws(CatalogueError) in try catalogue.photo(withHash: sha256) }
    }

    private func read(_ body: () throws(CatalogueError) -> StoredPhoto?) -> StoredPhoto? {
        do throws(CatalogueError) { return try body() } catch {
            failure = error
            return nil
        }
    }
}
