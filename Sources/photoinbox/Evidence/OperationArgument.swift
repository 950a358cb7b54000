import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import ControlProtocol
import Explaining
import FileValues
import Glibc
import Reporting

/// An operation by its number, a photo by the beginning of its SHA-256, or either by a file.
struct OperationArgument: ExpressibleByArgument, Hashable {
    enum Subject: Hashable {
        case number(Int64)
        /// A photo by `id` of JSON.
        case photo(Int64)
        /// Hexadecimal digits, eight at least; a file may have such a name.
        case content(String, else: BytePath)
        case file(BytePath)
    }

    let subject: Subject

    static let help = ArgumentHelp(
        "Its number, as list and explain show it; a file; or the beginning of a photo's SHA-256.",
        valueName: "operation")

    init?(argument: String) {
        guard let path = RawArgument(argument: argument)?.path, !path.isEmpty else { return nil }
        if let number = Int64(argument), number > 0 {
            subject = .number(number)
        } else if argument.hasPrefix("photo:"), let number = Int64(argument.dropFirst(6)), number > 0 {
            subject = .photo(number)
        } else if (8...64).contains(argument.utf8.count), argument.utf8.allSatisfy({ isHexadecimal($0) }) {
            subject = .content(argument, else: path)
        } else {
            subject = .file(path)
        }
    }

    var isNumber: Bool {
        if case .number = subject { return true }
        return false
    }

    /// How errors name it.
    var subjectText: String {
        switch subject {
        case .number(let number): "operation \(number)"
        case .photo(let number): "photo:\(number)"
        case .content(let digits, _): "photo whose SHA-256 begins with \(digits)"
        case .file(let path): "record of \(path.escaped)"
        }
    }

    /// The operations, newest first: of a photo, those of all files with its content. Empty if nothing is recorded.
    func operations(_ places: Places) throws -> [StoredOutcome] {
        switch subject {
        case .number(let number): return try places.openCatalogue().outcome(id: number).map { [$0] } ?? []
        case .photo(let number): return try places.openCatalogue().outcomes(ofPhoto: number)
        case .content(let digits, let path):
            let catalogue = try places.openCatalogue()
            let found = try catalogue.photos(withHashPrefix: digits)
            guard found.count < 2 else {
                throw CommandFailure(
                    .usage, "several photos have a SHA-256 that begins with \(digits)", action: "Give more digits.")
            }
            guard let photo = found.first else { return try Self.operations(of: path, places) }
            return try catalogue.outcomes(ofPhoto: photo.id)
        case .file(let path): return try Self.operations(of: path, places)
        }
    }

    private static func operations(of path: BytePath, _ places: Places) throws -> [StoredOutcome] {
        let evidence = try EvidenceSearch(places).evidence(of: path)
        if case .outside = evidence.location {
            throw CommandFailure(.noMatch, "\(path) is in no inbox and not in the library")
        }
        return evidence.outcomes
    }

    /// The number of the newest operation with one of these outcomes; a given number is returned as it is.
    func number(_ places: Places, of kinds: Set<OutcomeKind>) throws -> Int64 {
        if case .number(let number) = subject { return number }
        guard let found = try operations(places).first(where: { kinds.contains($0.outcome.outcome) }) else {
            let outcomes = kinds.map(\.rawValue).sorted().joined(separator: " or ")
            if case .file(let path) = subject, let inHand = try EvidenceSearch(places).evidence(of: path).inHand {
                throw CommandFailure(
                    .noMatch, "\(path) was not \(outcomes): it is \(inHand.stage), and stays in its inbox",
                    action: inHand.stage == "deferred"
                        ? "Retry it now: photoinbox retry \(shellQuoted(path.escaped))"
                        : "See: photoinbox explain \(shellQuoted(path.escaped))")
            }
            throw CommandFailure(
                .noMatch, "no \(subjectText) was \(outcomes)", action: "List what exists: photoinbox list")
        }
        return found.id
    }
}

private func isHexadecimal(_ byte: UInt8) -> Bool { isxdigit(Int32(byte)) != 0 }
