import FileValues

/// An action of the daemon that a timer, a signal or a line of a command FIFO can request.
package enum Action: Hashable, Sendable {
    /// Write the state as JSON to the runtime directory, and a summary to the journal.
    case dump
    /// Scan every inbox, and file what was missed.
    case reconcile
    /// Compare the library with the catalogue.
    case audit
    /// Read and hash the next part of the library.
    case verifySlice
    /// Run the hook of this name.
    case hook(String)
    /// Reload the configuration. For signals and commands, not for timers.
    case reload
    /// Shut down. For signals and commands, not for timers.
    case stop

    /// The source of a request.
    package enum Asker: Sendable {
        case timer, signal, command
    }

    package typealias Mistake = ValueMistake

    /// Reads `reconcile`, `hook NAME` and so on, ignoring surrounding spaces. `text` may be anything, since it may be
    /// from a FIFO.
    package init(_ text: String, asker: Asker) throws(ValueMistake) {
        let words = text.split(whereSeparator: { $0 == " " || $0 == "\t" }).map(String.init)
        let verb = words.first ?? ""
        if verb == "hook" {
            guard words.count == 2, isPlainName(words[1]) else {
                throw ValueMistake("write \"hook NAME\", with the name of a [hook.NAME] section")
            }
            self = .hook(words[1])
            return
        }
        guard words.count == 1, let action = Self.simple.first(where: { $0.description == verb }) else {
            let choices = Self.names(for: asker)
            let meant = likelyMeaning(of: verb, among: choices.map { $0 == "hook NAME" ? "hook" : $0 })
            throw ValueMistake(
                "unknown action; "
                    + (meant.map { "did you mean \"\($0)\"?" } ?? "write one of \(choices.joined(separator: ", "))"))
        }
        if asker == .timer, action == .reload || action == .stop {
            throw ValueMistake(
                "a timer cannot do this; write one of \(Self.names(for: asker).joined(separator: ", "))")
        }
        self = action
    }

    /// The actions that `asker` may request, for messages and manuals.
    package static func names(for asker: Asker) -> [String] {
        let common = ["dump", "reconcile", "audit", "verify-slice", "hook NAME"]
        return asker == .timer ? common : common + ["reload", "stop"]
    }

    private static let simple: [Action] = [.dump, .reconcile, .audit, .verifySlice, .reload, .stop]
}

extension Action: CustomStringConvertible {
    /// The notation of the configuration.
    package var description: String {
        switch self {
        case .dump: "dump"
        case .reconcile: "reconcile"
        case .audit: "audit"
        case .verifySlice: "verify-slice"
        case .hook(let name): "hook \(name)"
        case .reload: "reload"
        case .stop: "stop"
        }
    }
}

/// Whether `name` can name an inbox, a timer, a descriptor or a hook: letters, digits, `-` and `_`, at most 64, since
/// it becomes part of labels, metrics and commands.
package func isPlainName(_ name: String) -> Bool {
    let bytes = name.utf8
    return (1...64).contains(bytes.count) && bytes.first != UInt8(ascii: "-")
        && bytes.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "-_".utf8.contains($0) }
}
