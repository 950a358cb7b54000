import Catalogue
import CommandContact
import CommandSupport
import Explaining
import FileValues
import Glibc
import LinuxKernel
import PhotoModel
import Reporting
import Settings

/// What a catalogue in PostgreSQL says that a host is to use with others.
struct SetupCatalogue: Hashable {
    /// The libraries of its photos.
    var libraries: [BytePath] = []
    /// The other host that has an inbox of this name.
    var inboxOwner: String?
}

extension SetupCatalogue {
    /// Asks the server of `settings`, also whether the library is there; waits for both.
    init(asking settings: Settings, inbox: String) throws(CommandFailure) {
        do {
            let catalogue: CatalogueFile
            do { catalogue = try CatalogueFile.openForReading(settings.catalogue) } catch {
                // Nobody has used the database yet.
                if error.code == .missing { return }
                throw error
            }
            libraries = try catalogue.libraries()
            let own = try? contents(of: settings.state.appending("host")).prefix { $0 != UInt8(ascii: "\n") }
            inboxOwner = try catalogue.owner(
                ofInbox: inbox, but: own.map { String(decoding: $0, as: UTF8.self) })
            if let path = settings.library?.path, libraries.contains(path) {
                try SelectedLibrary.require(path, of: catalogue)
            }
        } catch let error as CatalogueError {
            throw CommandFailure(error, at: settings.catalogue)
        } catch let error as CommandFailure { throw error } catch { throw CommandFailure(.failed, "\(error)") }
    }

    /// Throws if a host with these settings could not use it with the others.
    func requireRoom(for inbox: String, _ settings: Settings) throws(CommandFailure) {
        if let library = settings.library?.path, let other = libraries.first, !libraries.contains(library) {
            throw CommandFailure(
                .configuration, "the photos of this catalogue are in \(other), and not in \(library)",
                action: "Mount the library at \(other) on this machine, too, and give --library \(other.quoted).")
        }
        if let inboxOwner {
            throw CommandFailure(
                .configuration, "the host \(printable(inboxOwner)) has an inbox \(inbox) already",
                action: "Give this one another name: --inbox-name NAME.")
        }
    }
}

extension SetupFacts {
    /// The addresses of other machines that the service has to reach for its catalogue. Throws if one is known by its name
    /// alone: the service looks up none.
    func addresses(of catalogue: CataloguePlace) throws(CommandFailure) -> [String] {
        guard case .server(let words) = catalogue else { return [] }
        let servers = try named(words).servers.filter { !$0.hasPrefix("/") && !$0.hasPrefix("@") }
        if let name = servers.first(where: { !isAddress($0) }) {
            throw CommandFailure(
                .usage, "the service looks up no names, and \(printable(name)) is one",
                action: "Give its address as well: hostaddr=ADDRESS host=\(printable(name))")
        }
        return servers
    }

    /// Throws unless the service can read the password file that `words` name: libpq would ignore it.
    func requirePasswordFile(of words: String) throws(CommandFailure) {
        guard let file = try named(words).passwordFile.map({ BytePath($0) }) else { return }
        guard let place = place(try resolve(file)) else {
            throw CommandFailure(
                .configuration, "there is no password file \(file)",
                action: "Make it: install -o \(service) -m 0600 /dev/null \(file.quoted)\n"
                    + "Then write into it: SERVER:PORT:DATABASE:ROLE:PASSWORD")
        }
        if place.owner != service || place.mode & 0o077 != 0 {
            throw CommandFailure(
                .configuration,
                "the password file \(file) is \(place.text), and has to be readable by \(service) alone",
                action: "Do: chown \(service) \(file.quoted) && chmod 0600 \(file.quoted)")
        }
    }

    private func isAddress(_ text: String) -> Bool {
        var bytes = in6_addr()
        return inet_pton(AF_INET, text, &bytes) == 1 || inet_pton(AF_INET6, text, &bytes) == 1
    }
}
