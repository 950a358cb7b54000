import CSV
import Catalogue
import CommandSupport
import FileValues
import Reporting

/// The meaning of a table's columns, by its first row.
struct DescriptionColumns {
    enum Field: String, CaseIterable {
        case hash = "sha256"
        case path, title, keywords, rating, taken, place

        /// The names that programs use, in lower case, without spaces and underscores.
        var names: [String] {
            switch self {
            case .hash: ["sha256", "hash", "checksum"]
            case .path: ["path", "file", "filename", "filepath", "sourcefile"]
            case .title: ["title", "headline", "caption", "objectname"]
            case .keywords: ["keywords", "keyword", "tags", "subject"]
            case .rating: ["rating", "stars"]
            case .taken: ["taken", "date", "datetaken", "datetime", "datetimeoriginal", "capturedate"]
            case .place: ["place", "location", "where"]
            }
        }
    }

    /// An error in a row: its column, counted from 1, and the reason.
    struct Fault: Error {
        let column: Int
        let reason: String
    }

    private let places: [Field: Int]
    let ignored: [String]

    init(header: CSVRecord, path: String) throws(CommandFailure) {
        var places: [Field: Int] = [:]
        var ignored: [String] = []
        if let fault = header.fault {
            throw CommandFailure(.failed, "\(path): line \(header.line): \(fault.rawValue)", action: Self.action)
        }
        for place in 0..<header.count {
            let text = String(decoding: header[field: place], as: UTF8.self)
            let name = text.lowercased().filter { $0 != " " && $0 != "_" }
            guard let field = Field.allCases.first(where: { $0.names.contains(name) }) else {
                ignored.append(text)
                continue
            }
            if let other = places[field] {
                throw CommandFailure(
                    .failed, "\(path): columns \(other + 1) and \(place + 1) both have the \(field.rawValue)",
                    action: "Rename one of them.")
            }
            places[field] = place
        }
        guard places[.hash] != nil || places[.path] != nil else {
            throw CommandFailure(
                .failed, "\(path): the first row has no column that identifies the photo", action: Self.action)
        }
        (self.places, self.ignored) = (places, ignored)
    }

    private static let action =
        "The first row names the columns: sha256 or path, title, keywords, rating, taken, place."

    /// The column of a field, counted from 1; 0 if there is none.
    func number(of field: Field) -> Int { places[field].map { $0 + 1 } ?? 0 }

    /// Adds a row to the batch; returns how it identifies its photo.
    func add(_ record: CSVRecord, to batch: inout DescriptionBatch) throws(Fault) -> DescriptionBatch.Subject {
        do throws(Fault) {
            let (subject, key) = try key(of: record, &batch)
            let title = batch.add(try text(.title, record))
            let keywords = batch.add(KeywordList(try text(.keywords, record)).lines)
            let place = batch.add(try text(.place, record))
            let rating = try rating(record)
            let taken = batch.add(try taken(record))
            batch.end(subject, key: key, title: title, keywords: keywords, rating: rating, taken: taken, place: place)
            return subject
        } catch {
            batch.drop()
            throw error
        }
    }

    private func key(
        of record: CSVRecord, _ batch: inout DescriptionBatch
    ) throws(Fault) -> (DescriptionBatch.Subject, Range<Int>) {
        let digits = cell(.hash, record)
        if !digits.isEmpty {
            guard digits.count == 64, let hash = bytes(ofHexadecimal: digits) else {
                throw fault(.hash, "a SHA-256 has 64 hexadecimal digits")
            }
            return (.content, batch.add(hash))
        }
        let path = cell(.path, record)
        guard !path.isEmpty else {
            throw fault(places[.path] == nil ? .hash : .path, "it does not identify a photo")
        }
        return (.path, batch.add(path))
    }

    private func rating(_ record: CSVRecord) throws(Fault) -> Int? {
        let cell = cell(.rating, record)
        guard let digit = cell.first else { return nil }
        let rest = cell.dropFirst()
        guard (UInt8(ascii: "0")...UInt8(ascii: "5")).contains(digit), rest.isEmpty || rest.elementsEqual(".0".utf8)
        else { throw fault(.rating, "\"\(printable(cell))\" is not a rating from 0 to 5") }
        return Int(digit - UInt8(ascii: "0"))
    }

    private func taken(_ record: CSVRecord) throws(Fault) -> [UInt8] {
        let cell = cell(.taken, record)
        if cell.isEmpty { return [] }
        guard let date = TakenText(cell) else {
            throw fault(.taken, "\"\(printable(cell))\" is not a date like 2026-11-21 or 2026-11-21 14:07:31")
        }
        return date.bytes
    }

    private func text(_ field: Field, _ record: CSVRecord) throws(Fault) -> ArraySlice<UInt8> {
        let cell = cell(field, record)
        if cell.count > 16_384 { throw fault(field, "it is longer than 16 KiB") }
        if cell.contains(where: { $0 >= 0x80 }), String(validating: cell, as: UTF8.self) == nil {
            throw fault(field, "it is not UTF-8")
        }
        return cell
    }

    private func cell(_ field: Field, _ record: CSVRecord) -> ArraySlice<UInt8> {
        guard let place = places[field] else { return [] }
        var cell = record[field: place]
        if CSVText.isGuarded(cell) { cell = cell.dropFirst() }
        while let last = cell.last, isBlank(last) { cell = cell.dropLast() }
        return cell.drop(while: isBlank)
    }

    private func fault(_ field: Field, _ reason: String) -> Fault { Fault(column: number(of: field), reason: reason) }

    private func printable(_ cell: ArraySlice<UInt8>) -> String { escapeForDisplay(Array(cell.prefix(40))) }
}

private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

/// Keywords of a cell: separated by semicolons, else by commas or bars.
struct KeywordList {
    /// Each once, one a line.
    let lines: [UInt8]

    init(_ cell: ArraySlice<UInt8>) {
        guard !cell.isEmpty else {
            lines = []
            return
        }
        let separators = [";", ",", "|"].map { Array($0.utf8)[0] } + [0x0A]
        let separator = separators.first { cell.contains($0) }
        var known: [ArraySlice<UInt8>] = []
        for part in cell.split(whereSeparator: { $0 == separator || $0 == 0x0A }) {
            var word = part.drop(while: isBlank)
            while let last = word.last, isBlank(last) { word = word.dropLast() }
            if !word.isEmpty, !known.contains(where: { $0.elementsEqual(word) }) { known.append(word) }
        }
        lines = Array(known.joined(separator: [0x0A]))
    }
}
