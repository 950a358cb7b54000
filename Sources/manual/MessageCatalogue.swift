import LogMessages
import Systemd

/// units/photoinbox.catalog: the explanations that `journalctl -x` shows, by MESSAGE_ID, in the format of
/// https://systemd.io/CATALOG. A test refuses a MESSAGE_ID without words.
func messageCatalogue() -> String {
    var text = """
        # Written by "make man": change Sources/manual/MessageWords.swift, not this file.
        # Names between at signs are fields of the entry; each such entry has them.

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

/// The explanation of one kind of entry. No command contains a file's name, which could inject shell code.
struct MessageWords {
    let subject: String
    /// The page to read, as `man:PAGE(SECTION)`.
    var documentation = "man:photoinboxd(8)"
    /// What happened, with the effect on photos.
    let effect: String
    /// What to do, even if that is nothing.
    let action: String

    init(_ subject: String, _ documentation: String = "man:photoinboxd(8)", effect: String, action: String) {
        (self.subject, self.documentation, self.effect) = (subject, documentation, effect)
        self.action = action
    }
}

/// Fields that contain a sentence of any length.
private let sentences = ["@PHOTOINBOX_REASON@", "@PHOTOINBOX_EFFECT@", "@PHOTOINBOX_ACTION@"]

/// The words of `text` in lines of at most `width` characters, longer words alone. A sentence that is inserted
/// when the entry is shown has a line of its own, except for a word or two before it, since its length is unknown.
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
