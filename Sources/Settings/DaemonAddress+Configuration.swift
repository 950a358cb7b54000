package import FileValues
package import Reporting

extension DaemonAddress {
    /// The daemon of the configuration `file`.
    package init(configuration file: BytePath, _ context: SettingsContext) {
        let path = file.isAbsolute ? file : context.workingDirectory.appending(file)
        self =
            switch StandardPlaces(of: path, home: context.home) {
            case .instance(let name): .instance(name, configuration: path.escaped)
            case .user: .user
            case nil: path == StandardPlaces.systemFile ? .system : .configuration(path.escaped)
            }
    }
}
