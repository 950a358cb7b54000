import FileValues
import LinuxKernel
import PhotoFormats
import PhotoModel
import PostgresSupport
import TestSupport
import Testing

@testable import Catalogue

@Suite(
    "What happens to a catalogue has the same effect in both engines",
    .enabled(if: TestEngine.installed.contains(.postgresql), "\(PostgresPrograms.skipped)"))
struct DifferentialTests {
    @Test(
        "Random histories leave the same rows and are found by the same searches",
        arguments: 1...6 as ClosedRange<UInt64>)
    func histories(seed: UInt64) throws {
        var twins = try Twins(seed: seed)
        for step in 1...150 {
            do {
                try twins.change()
                if step % 15 == 0 { try twins.compare() }
            } catch { throw Difference(description: "seed \(seed), step \(step): \(error)") }
        }
        let photos = try twins.file.totals().photos
        #expect(photos > 10 && twins.hits > 50, "seed \(seed): \(photos) photos, \(twins.hits) found")
    }
}

private struct Difference: Error, CustomStringConvertible {
    let description: String
}

/// A catalogue in each engine, to which the same happens.
private struct Twins {
    private let scratch: ScratchDirectory
    let file: CatalogueFile
    private let server: CatalogueFile
    private var chance: SeededGenerator
    private var tokens = 0
    /// Of searches.
    private(set) var hits = 0

    init(seed: UInt64) throws {
        scratch = try ScratchDirectory()
        file = try CatalogueFile.openForWriting(scratch.appending("catalogue.db"), now: noon)
        server = try CatalogueFile.open(TestEngine.server(), forWriting: true)
        chance = SeededGenerator(seed: seed)
    }

    /// Does the same to both, with the same result or error; nil for an error.
    @discardableResult
    private func both<Value: Equatable>(_ body: (CatalogueFile) throws -> Value) throws -> Value? {
        func result(_ catalogue: CatalogueFile) throws -> Result<Value, CatalogueError> {
            do { return .success(try body(catalogue)) } catch let error as CatalogueError { return .failure(error) }
        }
        let (one, other) = (try result(file), try result(server))
        switch (one, other) {
        case (.success(let value), .success(let same)) where value == same: return value
        case (.failure(let error), .failure(let same))
        where error.code == same.code || error.code == .other && same.code == .busy:
            // A constraint: in PostgreSQL another writer may have come before.
            return nil
        default: throw Difference(description: "SQLite \(one), PostgreSQL \(other)")
        }
    }

    private func both(_ body: (CatalogueFile) throws -> Void) throws {
        try both { catalogue in
            try body(catalogue)
            return true
        }
    }

    // MARK: - Values

    private mutating func some<Value>(_ values: some Collection<Value>) -> Value? {
        values.randomElement(using: &chance)
    }

    private mutating func number(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &chance) }
    private mutating func isSo() -> Bool { .random(using: &chance) }

    private mutating func token() -> String {
        tokens += 1
        return "t\(tokens)"
    }

    private static let words = """
        straße Berlin IMG_1234 Ünïcode été ÉTÉ naïve Ночь МОСКВА Й й ΑΘΗΝΑ Αθήνα ǅ ﬁn ß ẞ 東京 日本 x1 a\u{301}b e\u{301} 1 12 123 \
        DSC-0001 foo_bar foo.bar foo bar b ba 😀 İstanbul ıstanbul \u{212A} ſ \u{300} a\u{488}b don't "quoted" a*b \\ ' : & | ! ( ) \
        <-> - -- C++ c# %
        """.split(separator: " ").map(String.init)

    private mutating func text(_ most: Int) -> String? {
        let count = number(0...most)
        if count == 0 { return isSo() ? nil : "" }
        let separator = some([" ", "\n", "_", "."]) ?? " "
        return (1...count).map { _ in some(Self.words) ?? "" }.joined(separator: separator)
    }

    private static let libraries: [BytePath] = ["/srv/a", "/srv/b"]
    private static let dates = [
        nil, "2026-11-21T14:07:31", "2026-11-21", "2026-11-22T99:99:99", "1969-12-31T23:59:59", "0000-02-29T00:00:00",
        "9999-12-31T23:59:59", "2023-02-31T10:00:00", "2024-13-01T00:00:00", "2026-11-21T1", "",
    ]

    private mutating func hash() -> [UInt8] { Array(repeating: UInt8(number(1...60)), count: 32) }
    private mutating func library() -> BytePath { some(Self.libraries) ?? "/" }
    private mutating func path() -> BytePath {
        isSo() ? BytePath("DCIM/\(number(1...40)).jpg") : BytePath(Array("\(number(1...9))é".utf8) + [0xFF, 0xC3])
    }

    private mutating func record() -> PhotoRecord {
        var record = photo(UInt8(number(1...250)), name: path())
        (record.sha256, record.library, record.libraryPath) = (hash(), library(), path())
        (record.inbox, record.camera, record.size) = (some(["card", "Ä"]) ?? "", text(2), UInt64(number(0...9)))
        record.captured = (some(Self.dates) ?? nil).map { RecordedCaptureDate(local: $0, provenance: "test") }
        record.part = SetPart(
            role: some([nil, "picture", "raw", "film", "sidecar"]) ?? nil,
            contentIdentifier: some([nil, "X", "Y"]) ?? nil,
            key: some([nil, [1], [2]]) ?? nil, shortKey: some([nil, [1], [3]]) ?? nil)
        return record
    }

    private mutating func intents(_ most: Int) -> [NewIntent] {
        (0..<number(1...most)).map { _ in
            NewIntent(token: token(), temporary: path(), photo: record(), since: noon, setToken: text(1))
        }
    }

    private mutating func outcome(_ kind: OutcomeKind? = nil, photo: Int64? = nil) -> OutcomeRecord {
        OutcomeRecord(
            at: noon, inbox: "card", path: path(), outcome: kind ?? some(OutcomeKind.allCases) ?? .filed,
            reason: text(3) ?? "", sha256: isSo() ? hash() : nil, photoID: photo)
    }

    private mutating func kept() -> [KeptSource] {
        (0..<number(0...1)).map { _ in
            KeptSource(inbox: "card", path: path(), identity: identity(UInt64(number(1...5))), since: noon, why: "kept")
        }
    }

    private mutating func decision() -> MetadataDecision? {
        if number(1...9) == 1 { return nil }
        var metadata = PhotoMetadata()
        (metadata.title, metadata.caption, metadata.lens) = (text(3), text(9), text(2))
        (metadata.keywords, metadata.people) = ([text(2), text(1)].compactMap(\.self), [text(2)].compactMap(\.self))
        (metadata.place.city, metadata.rating) = (text(2), some([nil, 1, 5]) ?? nil)
        if isSo() {
            metadata.position = PhotoMetadata.Position(
                latitude: .random(in: -90...90, using: &chance), longitude: .random(in: -180...180, using: &chance))
        }
        return MetadataDecision([.xmp: metadata])
    }

    // MARK: - Changes

    mutating func change() throws {
        let photos = try file.read("listing photos") { db in
            try db.values(Int64.self, "SELECT id FROM photo ORDER BY id")
        }
        let (one, other, library) = (some(photos), some(photos), library())
        switch number(0...19) {
        case 0...5: try fileSome(joining: one)
        case 6: try closeSome()
        case 7: try changeTogether(one)
        case 8: try move(one)
        case 9, 10: try request(one)
        case 11, 12: try describe()
        case 13, 14: try readMetadata(in: library)
        case 15: try writeSidecars(in: library)
        case 16:
            let struck = [one, other].compactMap(\.self)
            try both { try $0.strike(struck, at: noon) }
        case 17: try adopt(missing: other)
        case 18: try hook()
        default: try rest(one, in: library)
        }
        // What is rolled back, or only updates a row, uses up a number in PostgreSQL.
        try CatalogueCopy(from: file, to: server).continueNumbers()
    }

    private mutating func fileSome(joining photo: Int64?) throws {
        var new = intents(3)
        if isSo() { new[0].supersedes = try file.photo(withHash: new[0].photo.sha256)?.id }
        guard let ids = try both({ [new] in try $0.beginIntents(new) }) else { return }
        let set: SetPlace? = some([nil, .new, photo.map(SetPlace.joining(photo:))]) ?? nil
        let filings = zip(ids, new).map { id, new in
            FilingCommit(
                intent: id, photo: new.photo, filedAt: noon, reason: "complete", keepsSource: isSo(),
                supersedes: [new.supersedes].compactMap(\.self))
        }
        let isFiled = try both { try $0.commitFilings(filings, set: set) } != nil
        if !isFiled || isSo() { try both { try $0.closeIntents(ids) } }
    }

    private mutating func closeSome() throws {
        let pending = try file.pendingIntents().map(\.id)
        var kept = kept()
        for index in kept.indices { kept[index].outcomeID = some(try file.recentOutcomes(limit: 9))?.id }
        let closed = [some(pending), 999].compactMap(\.self)
        try both { [kept] in try $0.closeIntents(closed, kept: kept) }
    }

    private mutating func changeTogether(_ photo: Int64?) throws {
        let pending = try file.pendingIntents().map(\.id)
        var metadata = MetadataBatch()
        if let photo, let stored = try file.photo(id: photo) {
            metadata.add(decision(), of: DuePhoto(stored: stored, turn: Int64(number(0...2))))
        }
        // A part that is refused after it has inserted something would use up numbers.
        let changes: [CatalogueChange] = [
            .begin(intents(1)), .record([outcome(photo: photo)], kept: kept()), .begin(intents(1)),
            .close([some(pending)].compactMap(\.self), kept: []), .hook("mail", told: Int64(number(0...9))),
            .metadata(metadata),
        ]
        try both { try $0.perform(changes).map { String(describing: $0) } }
    }

    private mutating func move(_ photo: Int64?) throws {
        let record = MoveRecord(
            token: token(), since: noon, inbox: "card", path: path(), root: "/srv/quarantine", destination: path(),
            outcome: .quarantined, reason: "cut short", sha256: hash(), photoID: photo, identity: identity(3))
        try both { try $0.beginMove(record) }
        guard let begun = some(try file.pendingMoves(inbox: "card")) else { return }
        let (outcome, kept) = (isSo() ? outcome(.quarantined) : nil, kept().first)
        try both { try $0.finishMove(begun.id, outcome: outcome, kept: kept) }
    }

    private mutating func request(_ photo: Int64?) throws {
        let kind = some([RequestKind.undo, .discard, .release, .store]) ?? .undo
        var move = RequestedMove(
            token: token(), sourceRoot: "/srv/a", sourcePath: path(), destinationRoot: "/srv/c",
            destinationPath: path(),
            sha256: hash(), identity: identity(4))
        if kind == .store, let stored = try photo.flatMap({ try file.photo(id: $0) })?.photo, isSo() {
            (move.sourceRoot, move.sourcePath) = (stored.library, stored.libraryPath)
            (move.destinationRoot, move.sha256) = ("https://nas.example.org/photos", stored.sha256)
        }
        let record = RequestRecord(
            at: noon, what: kind, user: 7, userName: text(1), inbox: "card", path: path(), photoID: photo,
            isAsIs: isSo(),
            move: move)
        try both { try $0.recordRequest(record, step: .begun) }
        guard let begun = some(try file.pendingRequests(inbox: "card")) else { return }
        let (end, clock) = (isSo() ? move : nil, Int64(number(1...1_000)))
        try both { try $0.endRequest(begun.id, at: noon, move: end, note: "note") }
        try both {
            try $0.trash(of: "card", at: ClockReading(boot: "b", boottime: clock, wall: clock)).map {
                [$0.request.id, $0.age]
            }
        }
        let expired = try file.discarded(inbox: "card").prefix(number(0...1)).map(\.id)
        try both { try $0.expireRequests(expired) }
    }

    private mutating func describe() throws {
        // Of several in one transaction, one that updates uses up a number, and so comes last.
        let contents = try (0..<number(0...4)).map { _ in hash() }.filter { try file.description(ofHash: $0) == nil }
        var batch = DescriptionBatch()
        for (index, content) in (Array(Set(contents)).sorted { $0[0] < $1[0] } + [hash()]).enumerated() {
            let isPath = index == contents.count && isSo()
            let key = batch.add(isPath ? path().bytes : content)
            let (title, keywords, place) = (text(3) ?? "", text(3) ?? "", text(2) ?? "")
            let (titles, words) = (batch.add(title.utf8), batch.add(keywords.utf8))
            let (taken, places) = (batch.add(isSo() ? "2026-11-21".utf8 : "".utf8), batch.add(place.utf8))
            batch.end(
                isPath ? .path : .content, key: key, title: titles, keywords: words,
                rating: some([nil, 0, 3, 5]) ?? nil,
                taken: taken, place: places)
        }
        let (table, isDone) = (path(), isSo())
        try both { [batch] catalogue in
            try catalogue.describe(batch, from: table, identity(9)) { ImportPlace(offset: UInt64($0.count)) }
            if isDone { try catalogue.finishImport(table) }
        }
    }

    private mutating func readMetadata(in library: BytePath) throws {
        let decisions = (0..<6).map { _ in decision() }
        try both { catalogue in
            let due = try catalogue.photosToRead(in: library, after: 0, limit: decisions.count)
            var batch = MetadataBatch()
            for (photo, decision) in zip(due, decisions) { batch.add(decision, of: photo) }
            try catalogue.record(batch)
            return due.map { [$0.stored.id, $0.turn] }
        }
    }

    private mutating func writeSidecars(in library: BytePath) throws {
        let (hash, reason, isLater, isWritten) = (hash(), text(1), isSo(), isSo())
        let renewal = some([nil, SidecarRenewal.all, .left, .later]) ?? nil
        try both { catalogue in
            let due = try catalogue.sidecarsToWrite(in: library, after: 0, limit: 4)
            try catalogue.expect(due.map { ($0, hash) })
            if isWritten { try catalogue.record(due.map { ($0, reason == nil ? hash : nil, reason, isLater) }) }
            if let renewal { try catalogue.renewSidecars(in: library, renewal) }
            return due.map { [$0.stored.id, $0.turn] }
        }
    }

    private mutating func adopt(missing: Int64?) throws {
        let records = [record(), record()]
        let said = SidecarStatement(
            sha256: hash(), PhotoDescription(title: text(2), keywords: ["a"], rating: 2), hash: hash(), isOwn: isSo(),
            isBesidePhoto: isSo(), isPlain: isSo())
        let sidecars = isSo() ? [records[0].libraryPath: said] : [:]
        try both {
            try $0.adopt(records, missing: Set([missing].compactMap(\.self)), sidecars: sidecars, at: noon)
        }
    }

    private mutating func hook() throws {
        let (name, told) = (some(["mail", "print"]) ?? "", Int64(number(0...20)))
        let interest = HookInterest(kinds: Set(HookEventKind.allCases), inboxes: isSo() ? nil : ["card"])
        let names = number(1...4) == 1 ? ["mail"] : ["mail", "print"]
        try both { try $0.placeOfHook(name, at: noon) }
        let skipped = isSo() ? [Int64(number(1...Int(told) + 1))] : []
        try both { try $0.perform([.hook(name, told: told, skipped: skipped)]).count }
        try both { try $0.skippedOutcomes(by: name) }
        if let outcome = skipped.first, isSo() { try both { try $0.clearSkipped(outcome, by: name) } }
        try both { try $0.hookBatch(after: told, interest, limit: 5) }
        try both { try $0.forgetHooks(except: names) }
    }

    private mutating func rest(_ photo: Int64?, in library: BytePath) throws {
        let (photo, text, place) = (photo ?? 1, text(2), path())
        let known = KnownLibrary(path: library, fileSystemType: 1, fileSystem: .max, inode: UInt64(number(1...9)))
        let (isAccepted, version) = (isSo(), some([nil, "1", "2"]) ?? nil)
        try both { try $0.record(damage: [photo: text], at: noon) }
        try both { try $0.record([RenditionRecord(photoID: photo, kind: "hash", at: noon, likeness: .max)]) }
        try both { try $0.remember(known, at: noon, isAccepted: isAccepted) }
        try both { try $0.setVerification(VerificationState(cursor: photo, at: noon, wholeAt: nil), of: library) }
        try both { try $0.renewMetadata(placeNames: version) }
        try both { try $0.forgetKept(inbox: "card", path: place) }
    }

    // MARK: - Comparing

    mutating func compare() throws {
        _ = try CatalogueCopy(from: file, to: server).compare()
        for day in try both({ try $0.days().map(\.day) }) ?? [] {
            try both { try $0.tiles(of: day, from: 0, count: 500).tiles }
        }
        for _ in 1...12 {
            var query = SearchQuery()
            if isSo() { query.words = [text(2), some(Self.words).map { String($0.prefix(2)) }].compactMap(\.self) }
            if number(1...5) == 1 { query.keywords = [text(1) ?? "a"] }
            if number(1...6) == 1 { query.people = [text(1) ?? "a"] }
            if number(1...6) == 1 { query.title = text(1) }
            if number(1...6) == 1 { query.place = text(1) }
            if number(1...9) == 1 { query.camera = text(1) }
            if number(1...9) == 1 { query.name = some(["DC", "é", ".j"]) }
            if number(1...6) == 1 { query.rating = 3 }
            if number(1...6) == 1 { query.takenFrom = "2026" }
            if number(1...6) == 1 { query.takenUntil = "2026-11" }
            if number(1...6) == 1 { query.inbox = "card" }
            if number(1...6) == 1 { query.outcome = some(OutcomeKind.allCases) }
            if number(1...6) == 1 {
                query.area = some([
                    .circle(latitude: 54, longitude: 10, radius: 5_000_000),
                    .box(west: 90, south: -40, east: -90, north: 60),
                ])
            }
            do {
                hits += try both { [query] in try $0.search(query) }?.count ?? 0
                if query.outcome != nil { continue }
                try both { [query] in try $0.tiles(matching: query, limit: 9) { true }.values }
            } catch { throw Difference(description: "\(query): \(error)") }
        }
    }
}
