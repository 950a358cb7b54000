package import FileValues
import LinuxKernel

/// The default places of daemons that their units separate: photoinboxd.service, photoinboxd@NAME.service and a user's
/// own photoinboxd.service. See photoinboxd(8).
package enum StandardPlaces: Hashable, Sendable {
    /// /etc/photoinbox/NAME.toml, of photoinboxd@NAME.service.
    case instance(String)
    /// photoinbox.toml in a user's configuration directory, with the state directory and, if there is one, the runtime
    /// directory.
    case user(state: BytePath, runtime: BytePath?)

    /// The configuration of photoinboxd.service.
    package static let systemFile: BytePath = "/etc/photoinbox/photoinbox.toml"

    /// The state directory of photoinboxd.service.
    static let systemState: BytePath = "/var/lib/photoinbox"

    private static let configurations: BytePath = "/etc/photoinbox"
    private static let runtimes: BytePath = "/run/photoinboxd"
    private static let states: BytePath = "/var/lib/photoinboxd"
    private static let ending = Array(".toml".utf8)

    /// The table of place names: a person's own for what a person runs, the administrator's, the package's.
    package static func placeNames(data: BytePath? = nil) -> [BytePath] {
        ([data].compactMap(\.self) + ["/usr/local/share", "/usr/share"]).map {
            $0.appending("photoinbox/place-names.sqlite")
        }
    }

    /// The places for the configuration `file`, an absolute path; nil for that of photoinboxd.service and for others.
    package init?(of file: BytePath, home: SettingsContext.Home?) {
        if file.parent == Self.configurations, file != Self.systemFile, let name = Self.stem(file.name) {
            self = .instance(name)
        } else if let home, file == home.configurationFile {
            self = .user(
                state: home.state.appending("photoinbox"), runtime: home.runtime?.appending("photoinbox"))
        } else {
            return nil
        }
    }

    /// Returns the instance whose state directory this is; empty for photoinboxd.service, nil for others.
    package static func instance(ofState directory: BytePath) -> String? {
        if directory == systemState { return "" }
        let name = String(decoding: directory.name.bytes, as: UTF8.self)
        return directory.parent == states && isPlainName(name) ? name : nil
    }

    /// Returns the configuration of the instance whose runtime directory contains `socket`; nil elsewhere.
    package static func configuration(ofSocket socket: BytePath) -> BytePath? {
        let instance = socket.parent
        guard instance.parent == runtimes, isPlainName(String(decoding: instance.name.bytes, as: UTF8.self)) else {
            return nil
        }
        return configurations.appending(BytePath(instance.name.bytes + ending))
    }

    /// The daemon's state directory.
    var state: BytePath {
        switch self {
        case .instance(let name): Self.states.appending(BytePath(name))
        case .user(let state, _): state
        }
    }

    /// The daemon's runtime directory; nil for one in its state directory.
    var runtime: BytePath? {
        switch self {
        case .instance(let name): Self.runtimes.appending(BytePath(name))
        case .user(_, let runtime): runtime
        }
    }

    private static func stem(_ name: BytePath) -> String? {
        guard name.bytes.count > ending.count, name.bytes.suffix(ending.count).elementsEqual(ending) else { return nil }
        let stem = String(decoding: name.bytes.dropLast(ending.count), as: UTF8.self)
        return isPlainName(stem) ? stem : nil
    }
}

extension SettingsContext {
    /// The file that is read if flags name neither a file nor an inbox: the user's own if it exists, else that of
    /// photoinboxd.service. For a service always the latter.
    package var standardFile: BytePath {
        guard stateDirectory == nil, let own = home?.configurationFile,
            (try? FileStatus(at: own, followingLinks: true)) != nil
        else { return StandardPlaces.systemFile }
        return own
    }
}
