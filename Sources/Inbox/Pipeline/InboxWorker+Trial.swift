import Catalogue
import Filing
import LibraryCare

/// Whether storage that refused can be written to again.
extension InboxWorker {
    /// Tries what is in doubt; a sign for each, of its failing or of its being well.
    func tryStorage(_ doubt: StorageDoubt) async -> [Symptom] {
        defer { subsystem.idle() }
        var signs: [Symptom] = []
        if doubt.contains(.library) {
            subsystem.enter("trying whether the library can be written to")
            do {
                try root(places.library).tryWriting()
                signs.append(.library(failure: nil))
            } catch { signs += symptoms(of: error) }
        }
        if doubt.contains(.catalogue) {
            subsystem.enter("trying whether the catalogue can be written to")
            do throws(CatalogueError) {
                try await catalogue.tryWriting()
                signs.append(.catalogue(failure: nil))
            } catch { signs.append(.catalogue(failure: error)) }
        }
        return signs
    }

    /// What a failure tells of the library, the catalogue and the inbox, if anything.
    func symptoms(of error: any Error) -> [Symptom] {
        switch error {
        case let failure as CatalogueError: return [.catalogue(failure: failure)]
        case let refusal as LibraryGuard.Refusal: return [.library(failure: .replaced("\(refusal)"))]
        case is LibraryGuard.PlaceAway: return []
        case let taken as PlaceLock.Taken:
            if taken.path == places.library { return [.library(failure: .taken("\(taken)"))] }
            return [.inboxTaken(inbox: spec.name, reason: "\(taken)")]
        case let error as FilingError:
            forgetRoots()
            return libraryFailure(error).map { [.library(failure: $0)] } ?? []
        default: return [.inboxUnreadable(inbox: spec.name, reason: "\(error)")]
        }
    }
}
