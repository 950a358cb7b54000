import FileValues
package import Reporting
import Settings

extension DaemonAddress {
    /// The daemon that this command's options name. One that `$PHOTOINBOX_STATE` names is found by the next command, too.
    package static let asked = pointed(by: RawArgument.ofProcess())

    /// The daemon that `--config` or `--state` names among these arguments. Pure but for the working directory.
    package static func pointed(by arguments: [String]) -> DaemonAddress {
        func value(_ option: String) -> BytePath? {
            let words = arguments.prefix { $0 != "--" }
            let joined = words.last { $0.hasPrefix(option + "=") }.map { String($0.dropFirst(option.count + 1)) }
            let next = words.lastIndex(of: option).map { $0 + 1 }.flatMap {
                words.indices.contains($0) ? words[$0] : nil
            }
            return (next ?? joined).flatMap { RawArgument(argument: $0)?.path }
        }
        if let file = value("--config") { return DaemonAddress(configuration: file, .ofProcess()) }
        return value("--state").map { .state($0.escaped) } ?? .system
    }
}
