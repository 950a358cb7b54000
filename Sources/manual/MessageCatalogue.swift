import LogMessages
import Systemd

/// units/photoinbox.catalog: what `journalctl -x` says beneath an entry, by its MESSAGE_ID. The format is that of
/// https://systemd.io/CATALOG. A MESSAGE_ID without words here is given none, which a test refuses.
func messageCatalogue() -> String {
    var text = """
        # Written by "make man": change Sources/manual/MessageWords.swift, not this file.
        # What stands between at signs is a field of the entry, always one that every such entry has.

        """
    for (name, id) in MessageID.all {
        guard let words = MessageWords.all[name] else { continue }
        text += "\n-- \(id)\nSubject: \(words.subject)\nDefined-By: photo-inbox\n"
        text += "Documentation: \(words.documentation)\n"
        for paragraph in [words.effect, words.action] {
            text += "\n" + wrapped(paragraph, at: 76).joined(separator: "\n") + "\n"
        }
    }
    return text
}

/// What one kind of entry means. A file's name stands in no command: it could be made to do something in a shell.
struct MessageWords {
    /// The first line that is shown.
    let subject: String
    /// The page to read, as `man:PAGE(SECTION)`.
    var documentation = "man:photoinboxd(8)"
    /// What has happened, and what that means for photos.
    let effect: String
    /// What to do; said also where that is nothing.
    let action: String

    init(_ subject: String, _ documentation: String = "man:photoinboxd(8)", effect: String, action: String) {
        self.subject = subject
        self.documentation = documentation
        self.effect = effect
        self.action = action
    }
}

/// Fields that hold a sentence, of any length.
private let sentences = ["@PHOTOINBOX_REASON@", "@PHOTOINBOX_EFFECT@", "@PHOTOINBOX_ACTION@"]

/// The words of `text` in lines of at most `width` characters, longer words alone. A sentence that is put in when it is
/// shown has a line to itself, but for a word or two before it: nobody knows here how long that will be.
private func wrapped(_ text: String, at width: Int) -> [String] {
    var lines: [String] = []
    var endsHere = false
    for word in text.split(separator: " ") {
        let isSentence = sentences.contains { word.hasPrefix($0) }
        if let last = lines.last, !endsHere, last.count + 1 + word.count <= width, !isSentence || last.count <= 8 {
            lines[lines.count - 1] = "\(last) \(word)"
        } else {
            lines.append(String(word))
        }
        endsHere = isSentence
    }
    return lines
}
