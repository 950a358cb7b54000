package import Catalogue
import FileValues
import Ingest
import LibraryCare
import LinuxKernel
package import Reporting
package import Settings

/// What a daemon with these settings would report of its library when it starts, by what `catalogue` knows of it. Changes and
/// locks nothing; waits for both. Throws errors of the catalogue.
package func libraryProblems(_ settings: Settings, _ catalogue: CatalogueFile) throws -> [Problem] {
    guard let path = settings.library?.path else { return [] }
    var board = ProblemBoard()
    do {
        let root = try openDirectory(path)
        try LibraryGuard(catalogue).check(root, at: path)
        if try !catalogue.isRebuilding(),
            let other = LibraryGuard.elsewhere(than: path, try catalogue.photosByLibrary())
        {
            board.raise(.photosElsewhere, [.path: .path(other.library), .count: .count(other.photos)], at: 0)
        }
    } catch {
        guard let failure = LibraryFailure(error) else { throw error }
        let (code, parameters) = failure.problem(at: path, waiting: 0)
        board.raise(code, parameters, at: 0)
    }
    return board.all
}
