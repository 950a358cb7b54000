package import FileValues
package import PhotoFormats

/// Finds the date in names by cameras and programs: `IMG_20240131_120000.jpg`, `PXL_20240131_120000123.jpg`,
/// `2024-01-31 12.00.00.jpg`, `Screenshot_2024-01-31-12-00-00.png`, `IMG-20240131-WA0001.jpg`.
package enum FileNameDate {
    /// The date in `name`; nil if there is none. The time is local, in an unknown zone; in names that begin with
    /// `PXL_`, by Google's cameras, it is in UTC.
    package static func find(in name: BytePath) -> RecordedDate? {
        let stem = name.stem.bytes.prefix(255)
        for start in stem.indices where stem[start].isASCIIDigit {
            // Digits within a longer number are not a date.
            if start > stem.startIndex, stem[start - 1].isASCIIDigit { continue }
            guard let found = date(in: stem[start...]) else { continue }
            let reading: RecordedDate.Reading =
                stem.begins(with: "PXL_") && found.hasTime
                ? .instant(found.local.instant(offset: 0))
                : .local(found.local, offset: nil, hasTime: found.hasTime)
            return RecordedDate(provenance: .fileName, text: escapeForDisplay(name.name.bytes), reading: reading)
        }
        return nil
    }

    /// A date at the start of `bytes`: `20240131` or `2024-01-31`, also with `.` or `_`, with an optional time.
    private static func date(in bytes: ArraySlice<UInt8>) -> DateText? {
        var scanner = DigitScanner(bytes)
        guard let year = scanner.number(digits: 4), (1990...2099).contains(year) else { return nil }
        let separated = scanner.skip(oneOf: "-_.")
        guard let month = scanner.number(digits: 2), scanner.skip(oneOf: "-_.") == separated,
            let day = scanner.number(digits: 2), let date = CivilDate(year: year, month: month, day: day),
            let midnight = CivilDateTime(date)
        else { return nil }
        let dayOnly = DateText(local: midnight, offset: nil, hasTime: false)
        // 20240131120000 has no separator; a run of another length is not a date.
        let digitsFollow = scanner.peek?.isASCIIDigit ?? false
        if !digitsFollow { skipToTime(&scanner) }
        guard let hour = scanner.number(digits: 2) else { return digitsFollow ? nil : dayOnly }
        let split = scanner.skip(oneOf: "-_.:")
        guard let minute = scanner.number(digits: 2), scanner.skip(oneOf: "-_.:") == split,
            let second = scanner.number(digits: 2)
        else { return digitsFollow ? nil : dayOnly }
        // Milliseconds may follow directly; more digits than those three make it some other number.
        let fraction = scanner.number(digits: 3) ?? 0
        if scanner.peek?.isASCIIDigit ?? false { return digitsFollow ? nil : dayOnly }
        guard
            let local = CivilDateTime(
                date, hour: hour, minute: minute, second: second, nanosecond: fraction * 1_000_000)
        else { return dayOnly }
        return DateText(local: local, offset: nil, hasTime: true)
    }

    /// Skips the separator of day and time: `_`, `-`, ` `, `T`, or WhatsApp's ` at `.
    private static func skipToTime(_ scanner: inout DigitScanner) {
        if scanner.skip(oneOf: "_-T.") { return }
        scanner.skipSpaces()
        guard scanner.skip(oneOf: "a") else { return }
        _ = scanner.skip(oneOf: "t")
        scanner.skipSpaces()
    }
}
