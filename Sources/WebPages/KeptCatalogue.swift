import Catalogue
import CommandContact
import CommandSupport
import FileValues
import Reporting

/// The catalogue of one actor: it stays open from one request to the next, since opening it takes longer than most questions.
/// Between them there is no transaction, which would keep the daemon's log from being reset.
struct KeptCatalogue {
    private let places: Places
    private var open: CatalogueFile?

    init(_ places: Places) { self.places = places }

    /// What `body` reads. The file is opened anew after a failure, and when another one is at its path.
    mutating func read<Value>(
        _ body: (CatalogueFile) throws(CatalogueError) -> Value
    ) throws(CommandFailure) -> Value {
        if open?.loss() != nil { close() }
        do {
            let catalogue = try open ?? places.openCatalogue()
            open = catalogue
            return try body(catalogue)
        } catch {
            if (error as? CatalogueError)?.code != .interrupted { close() }
            throw places.failure(error)
        }
    }

    private mutating func close() {
        open?.close()
        open = nil
    }
}

extension Places {
    /// What `body` reads from the catalogue, which is opened for it.
    func reading<Value>(_ body: (CatalogueFile) throws(CatalogueError) -> Value) throws(CommandFailure) -> Value {
        var catalogue = KeptCatalogue(self)
        return try catalogue.read(body)
    }

    fileprivate func failure(_ error: any Error) -> CommandFailure {
        switch error {
        case let error as CatalogueError: CommandFailure(error, at: catalogue)
        case let error as CommandFailure: error
        default: CommandFailure(.failed, "\(error)")
        }
    }
}
