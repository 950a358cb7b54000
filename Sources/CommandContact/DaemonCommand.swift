import Catalogue
package import CommandSupport

/// A command about one daemon: its configuration, photos or records.
package protocol DaemonCommand: Command {
    var places: PlaceOptions { get }
    /// Whether it runs although the configuration has mistakes: the running daemon has read a valid one.
    static var toleratesMistakes: Bool { get }

    func run(at places: Places) throws
}

extension DaemonCommand {
    package static var toleratesMistakes: Bool { false }

    package func run() throws {
        let places = try Places(places, despiteMistakes: Self.toleratesMistakes)
        do { try run(at: places) } catch let error as CatalogueError {
            throw CommandFailure(error, at: places.catalogue)
        }
    }
}
