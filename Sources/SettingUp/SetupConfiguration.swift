import CommandSupport
import Explaining
import FileValues
import PhotoModel
import Reporting
import Settings

/// The configuration that a answers needs: what there is, and the lines that it lacks.
struct SetupConfiguration {
    /// The whole file; nil if it needs no change.
    private(set) var text: [UInt8]?
    /// The lines that are added.
    private(set) var added: [String] = []
    /// Commands of a shell that do the same.
    private(set) var commands: [String] = []
    let settings: Settings
    /// The inbox's name in it.
    let inbox: String
    let isNewInbox: Bool

    /// Adds to `old` what it lacks; changes no line of it. Pure, but that `resolve` resolves links in its paths.
    init(
        _ answers: SetupAnswers, old: [UInt8]?, _ context: SettingsContext,
        _ resolve: (BytePath) throws(CommandFailure) -> BytePath = { $0 }
    ) throws(CommandFailure) {
        let file = answers.configuration
        let quoted = shellQuoted(try resolve(file).escaped)
        let before = try old.map { bytes throws(CommandFailure) in try Self.read(bytes, file, context) }
        if let library = before?.library?.path, try resolve(library) != answers.library {
            throw CommandFailure(
                .configuration,
                "the library is \(library) already (\(before?.origin(of: "library") ?? "")); there is one",
                action: "Give --library \(shellQuoted(library.escaped)), or change it there.")
        }
        var known: InboxSettings?
        for inbox in before?.inboxes ?? [] {
            if try resolve(inbox.path) == answers.inbox { known = inbox }
        }
        if let known, answers.droppers.keepsFiles, known.mode == .move {
            throw CommandFailure(
                .configuration,
                "removing filed photos from the inbox \(known.name) would delete them on the devices that Syncthing syncs",
                action: "Add mode = \"copy\" to [inbox.\(known.name)] in \(file).")
        }
        if known == nil, let other = before?.inboxes.first(where: { $0.name == answers.inboxName }) {
            throw CommandFailure(
                .configuration, "the inbox \(other.name) is \(other.path) already",
                action: "Give this one another name: --inbox-name NAME.")
        }
        inbox = known?.name ?? answers.inboxName
        isNewInbox = known == nil
        var top: [String] = []
        var end: [String] = []
        if let joined = answers.joined, before?.catalogue != .server(joined) {
            if let before, Self.given(before).contains(where: { $0.hasPrefix("catalogue = ") }),
                let origin = before.origin(of: "catalogue")
            {
                throw CommandFailure(
                    .configuration, "the catalogue is \(before.catalogue) already (\(origin))",
                    action: "Change it there, or leave out --join.")
            }
            top.append("catalogue = \(tomlString(joined))")
        }
        if before?.library == nil { top.append("library = \(tomlString(answers.library.escaped))") }
        if known == nil {
            end += ["[inbox.\(answers.inboxName)]", "path = \(tomlString(answers.inbox.escaped))"]
            if answers.droppers.keepsFiles { end.append("mode = \"copy\"") }
        }
        if let before, top.isEmpty, end.isEmpty {
            settings = before
            return
        }
        added = top + end
        var lines = old.map {
            String(decoding: $0, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        }
        if old?.contains(where: { !" \n".utf8.contains($0) }) != true {
            top.insert("# Every key is explained in photoinbox.toml(5). Check this file: photoinboxd --check", at: 0)
            let new = top + [""] + end
            commands = ["tee \(quoted) <<'END'"] + new + ["END"]
            lines = new.map { $0[...] } + [""]
        } else {
            // Before the first table, where the default file has its example, or else at the very beginning.
            let head = lines?.prefix { !$0.drop(while: \.isWhitespace).hasPrefix("[") }
            let example = head?.firstIndex { $0.hasPrefix("#library = ") }.map { $0 + 1 } ?? 0
            for line in top {
                lines?.insert(line[...], at: example)
                commands.append(
                    "sed -i \(shellQuoted(example == 0 ? "1i\(line)" : "\(example)a\(line)")) \(quoted)"
                )
            }
            if !end.isEmpty {
                let isWhole = lines?.last?.isEmpty != false
                if !isWhole { lines?.append("") }
                lines?.append(contentsOf: end.map { $0[...] } + [""])
                commands +=
                    ["tee -a \(quoted) <<'END'"] + (isWhole ? [""] : ["", ""]) + end + ["END"]
            }
        }
        let bytes = Array((lines ?? []).joined(separator: "\n").utf8)
        text = bytes
        let after: Settings
        do throws(CommandFailure) { after = try Self.read(bytes, file, context) } catch {
            throw CommandFailure(
                .usage, "the configuration would be refused: \(error.message)", action: "Give other places.")
        }
        let name = inbox
        // Where an added line came to stand in a text of several lines, something else has changed.
        guard after.library?.path == before?.library?.path ?? answers.library,
            after.inboxes.contains(where: { $0.name == name }),
            answers.joined.map({ after.catalogue == .server($0) }) ?? true,
            Self.given(before).isSubset(of: Self.given(after))
        else {
            throw CommandFailure(
                .configuration, "\(file) cannot be extended safely",
                action: "Add to it by hand: \(added.joined(separator: "; "))")
        }
        settings = after
    }

    static func read(
        _ bytes: [UInt8], _ file: BytePath, _ context: SettingsContext
    ) throws(CommandFailure) -> Settings {
        var builder = SettingsBuilder(context: context)
        builder.addFile(bytes, path: file)
        do { return try builder.build() } catch {
            throw CommandFailure(.configuration, "\(error)", action: "Correct that, then run this again.")
        }
    }

    /// What somebody has set.
    private static func given(_ settings: Settings?) -> Set<String> {
        Set((settings?.effective ?? []).filter { $0.origin != .standard }.map { "\($0.key) = \($0.value)" })
    }
}
