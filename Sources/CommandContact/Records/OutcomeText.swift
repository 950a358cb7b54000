package import Catalogue
import CommandSupport
import FileValues
package import Reporting

import enum PhotoFormats.DateProvenance

// Records as text.

extension StoredOutcome {
    package func describe(in text: inout LabelledText, now: Int64) {
        text.add("operation", "\(id)")
        text.add("file", "\(printable(outcome.inbox))/\(outcome.path.escaped)")
        text.add("outcome", outcome.outcome.rawValue, textPaint: outcome.outcome.paint)
        text.add("why", printable(outcome.reason))
        text.add("when", shortTime(outcome.at, now: now))
        if let destination = outcome.destination { text.add("to", destination.escaped) }
        if let hash = outcome.sha256, outcome.photoID == nil { text.add("sha256", hexadecimal(hash)) }
    }
}

extension StoredRequest {
    /// A request and its result: `14:10 released by ana, to /srv/inbox/card/IMG_0077.JPG`.
    package func describe(in text: inout LabelledText, now: Int64) {
        var words = "\(shortTime(request.at, now: now)) \(request.what) by \(printable(request.asker))"
        if request.isAsIs { words += ", as it is" }
        switch step {
        case .begun: words += ", in progress"
        case .undone: words += ", not carried out"
        case .done: if let move = request.move { words += ", to \(place(move))" }
        case .expired: if request.move != nil { words += ", and deleted since" }
        }
        if let note { words += " (\(printable(note)))" }
        text.add("asked", words)
    }

    private func place(_ move: RequestedMove) -> String { move.destinationRoot.appending(move.destinationPath).escaped }
}

extension StoredPhoto {
    package func describe(in text: inout LabelledText, now: Int64) {
        text.add("number", number)
        text.add("place", photo.library.appending(photo.libraryPath).escaped)
        text.add(
            "from", "\(printable(photo.inbox))/\(photo.sourcePath.escaped)" + (sourceKept ? ", which is kept" : ""))
        text.add("filed", shortTime(filedAt, now: now))
        if let captured = photo.captured {
            text.add("taken", "\(printable(captured.text)), from \(printable(captured.source))")
        } else {
            text.add("taken", "unknown")
        }
        text.add("proof", printable(photo.proof))
        var kind = printable(photo.format)
        if let width = photo.width, let height = photo.height { kind += ", \(width) × \(height)" }
        text.add("kind", "\(kind), \(HumanText.count(photo.size)) bytes")
        // Escaped when the photo was read.
        if let camera = photo.camera { text.add("camera", camera) }
        if let origin = photo.origin { text.add("source", printable(origin)) }
        text.add("sha256", hexadecimal(photo.sha256))
        if let supersededAt, undoneBy != nil {
            text.add("but", "it was taken back \(shortTime(supersededAt, now: now))", textPaint: .notice)
        } else if let supersededAt, wasStruck {
            text.add(
                "but",
                "it was missing from the library, and its record was struck \(shortTime(supersededAt, now: now)); "
                    + "photoinbox adopt restores it with the file",
                textPaint: .warning)
        } else if let supersededAt {
            text.add(
                "but",
                "its copy was missing or damaged, and was replaced by another \(shortTime(supersededAt, now: now))",
                textPaint: .warning)
        }
    }
}

extension PhotoDescription {
    package func describe(in text: inout LabelledText) {
        if let title { text.add("title", printable(title)) }
        if !keywords.isEmpty { text.add("keywords", printable(keywords.joined(separator: "; "))) }
        if let rating { text.add("rating", "\(rating) of 5") }
        if let taken { text.add("dated", "\(printable(taken)), as imported") }
        if let place { text.add("location", printable(place)) }
    }
}

extension StoredPhoto {
    /// As a member of another photo's set: `2026/11/2026-11-21/IMG_1.CR3, raw, number 7`.
    package var setMemberText: String {
        [photo.libraryPath.escaped, photo.part.role.map { printable($0) }, "number \(number)"].compactMap(\.self)
            .joined(separator: ", ")
    }

    /// Its number for commands.
    package var number: String { operation.map { "\($0)" } ?? "photo:\(id)" }
}

extension OutcomeKind {
    package var paint: TextStyle.Paint {
        switch self {
        case .filed, .duplicate: .good
        case .quarantined: .bad
        case .ignored, .withdrawn: .faint
        }
    }
}

extension RecordedCaptureDate {
    /// `2026-11-21 14:07:31 +01:00`, as far as known.
    package var text: String {
        var words = String(local.map { $0 == "T" ? " " : $0 })
        if let offset { words += " " + offsetText(offset) }
        return words
    }

    /// Its source, by the name in the standards.
    package var source: String { DateProvenance(rawValue: provenance)?.name ?? provenance }
}
