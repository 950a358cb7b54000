import FleetRules

/// Sixteen small numbers in one word, so that a state is compact.
struct Nibbles: Hashable {
    private var bits: UInt64 = 0

    subscript(_ index: Int) -> Int {
        get { Int(truncatingIfNeeded: (bits &>> UInt64(truncatingIfNeeded: index &* 4)) & 15) }
        set {
            let shift = UInt64(truncatingIfNeeded: index &* 4)
            bits = bits & ~(15 &<< shift) | UInt64(truncatingIfNeeded: newValue) &<< shift
        }
    }

    func hash(into hasher: inout Hasher) { hasher.combine(bits) }
}

/// What the catalogue has. Sources, of which each has one intent at most, are numbered 0…5, contents 0…2, places from 1.
struct Catalogue: Hashable {
    private var steps = Nibbles()
    private var places = Nibbles()
    private var rows = Nibbles()

    enum Step: Int { case none, begun, lost, recorded, retired }
    /// The owner of intents that an adopter has.
    static let adopter = 7

    func step(_ source: Int) -> Step { Step(rawValue: steps[source]) ?? .none }
    mutating func setStep(_ source: Int, _ step: Step) { steps[source] = step.rawValue }
    func owner(_ source: Int) -> Int { steps[6 &+ source] }
    mutating func setOwner(_ source: Int, _ host: Int) { steps[6 &+ source] = host }
    func place(_ source: Int) -> Int { places[source] }
    mutating func setPlace(_ source: Int, _ place: Int) { places[source] = place }
    /// The number of the photo that the intent's commit supersedes; 0 for none.
    func supersedes(_ source: Int) -> Int { places[6 &+ source] }
    mutating func setSupersedes(_ source: Int, _ photo: Int) { places[6 &+ source] = photo }
    /// The place of the content's live photo; 0 for none.
    func photo(_ content: Int) -> Int { rows[content] & 7 }
    /// What tells the content's photo from the one before it, which may have had the same place: the place, and a bit; 0 for
    /// none.
    func number(_ content: Int) -> Int { photo(content) == 0 ? 0 : rows[content] }
    static func place(ofPhoto number: Int) -> Int { number & 7 }
    mutating func setPhoto(_ content: Int, _ place: Int) {
        rows[content] = place == 0 ? rows[content] & 8 : rows[content] & 8 ^ 8 | place
    }
    func set(_ content: Int) -> Int { rows[3 &+ content] }
    mutating func setSet(_ content: Int, _ number: Int) { rows[3 &+ content] = number }
    /// Whether an undo of the content's photo is begun.
    func isUndoing(_ content: Int) -> Bool { rows[6 &+ content] != 0 }
    mutating func setUndoing(_ content: Int, _ isUndoing: Bool) { rows[6 &+ content] = isUndoing ? 1 : 0 }
    /// The number of the photo of which the source is set aside as a duplicate; 0 for none.
    func duplicate(_ source: Int) -> Int { rows[9 &+ source] }
    mutating func setDuplicate(_ source: Int, _ photo: Int) { rows[9 &+ source] = photo }

    mutating func close(_ source: Int) {
        setStep(source, .none)
        setPlace(source, 0)
        setOwner(source, 0)
        setSupersedes(source, 0)
    }

    mutating func begin(_ source: Int, _ step: Step, at place: Int, owner: Int, supersedes: Int = 0) {
        setStep(source, step)
        setPlace(source, place)
        setOwner(source, owner)
        setSupersedes(source, supersedes)
    }
}

/// Where a host stands; what it remembers beside is lost with a crash.
enum Position: Int {
    case examine, name, nameAgain, commit, look, echo, remove, close, lookForCopy, readOther, replace, unlink
    case forgetBegun, forgetLost, forgetRecorded, duplicate, recordDuplicate, insertDuplicate, echoDuplicate
    case removeDuplicate, closeDuplicate, lateEcho, retire, done
}

/// One state of everything: the catalogue, and an older state of it; the library; inboxes, echoes and memories of hosts.
struct World: Hashable {
    var catalogue = Catalogue()
    var older = Catalogue()
    private var hosts = Nibbles()
    private var memory = Nibbles()
    private var files = Nibbles()
    private var marks = Nibbles()

    func position(_ host: Int) -> Position {
        Position(rawValue: hosts[host &* 3] &* 16 &+ hosts[host &* 3 &+ 1]) ?? .done
    }
    func member(_ host: Int) -> Int { hosts[host &* 3 &+ 2] }
    mutating func go(_ host: Int, _ position: Position, _ source: Int = 0) {
        hosts[host &* 3] = position.rawValue / 16
        hosts[host &* 3 &+ 1] = position.rawValue % 16
        hosts[host &* 3 &+ 2] = source
    }
    /// Where a host believes the source's copy to be; 0 for nowhere.
    func believed(_ source: Int) -> Int { memory[source] }
    mutating func setBelieved(_ source: Int, _ place: Int) { memory[source] = place }
    /// The number of a photo whose file is read, or was found missing.
    func other(_ source: Int) -> Int { memory[6 &+ source] }
    mutating func setOther(_ source: Int, _ photo: Int) { memory[6 &+ source] = photo }
    /// The content that stands at a place, plus one; 0 for none.
    func file(_ place: Int) -> Int { files[place] }
    mutating func setFile(_ place: Int, _ content: Int) { files[place] = content &+ 1 }
    mutating func removeFile(_ place: Int) { files[place] = 0 }
    func hasSource(_ source: Int) -> Bool { files[6 &+ source] != 0 }
    mutating func setSource(_ source: Int, _ isThere: Bool) { files[6 &+ source] = isThere ? 1 : 0 }
    func isReturned(_ content: Int) -> Bool { files[12 &+ content] != 0 }
    mutating func setReturned(_ content: Int) { files[12 &+ content] = 1 }
    func echo(_ source: Int) -> Int { marks[source] }
    mutating func setEcho(_ source: Int, _ place: Int) { marks[source] = place }

    /// The place of the undo that was acknowledged, on the disk of whoever did it.
    var undoEcho: Int {
        get { marks[6] }
        set { marks[6] = newValue }
    }
    enum Failover: Int { case no, kept, done }
    var failover: Failover {
        get { Failover(rawValue: marks[7]) ?? .no }
        set { marks[7] = newValue.rawValue }
    }
    var crashes: Int {
        get { marks[8] }
        set { marks[8] = newValue }
    }
    enum Adopter: Int { case idle, looks, records, givesBack }
    var adopter: Adopter {
        get { Adopter(rawValue: marks[9]) ?? .idle }
        set { marks[9] = newValue.rawValue }
    }
    var adopted: Int {
        get { marks[10] }
        set { marks[10] = newValue }
    }
    var adoptions: Int {
        get { marks[11] }
        set { marks[11] = newValue }
    }
    enum Undo: Int { case notAsked, checked, begun, done }
    var undo: Undo {
        get { Undo(rawValue: marks[12]) ?? .done }
        set { marks[12] = newValue.rawValue }
    }

    var hasFailed: Bool { failover == .done }
}

/// What is explored: who has what, which troubles come, and which rule is broken.
struct Scenario: Sendable {
    /// The contents in the inbox of each host, which are one set where they are several.
    var hosts: [[Int]]
    /// The first name that each content is given.
    var base = [1, 1, 1]
    var places = 4
    var crashes = 1
    var adoptions = 1
    var goesBack = false
    /// Whether a person has content 0 taken back, when it is filed.
    var undoes = false
    /// Contents whose photo is at that place, but not its file.
    var missing: [Int: Int] = [:]
    /// Contents that are filed.
    var filed: [Int: Int] = [:]
    var broken: Broken?

    /// Rules that the product does not have, and must not.
    enum Broken: Sendable {
        /// A copy whose commit was refused is withdrawn, since its source stands.
        case withdrawsWhileSourceStands
        /// The same, and an equal file that stands at a name is taken for the copy.
        case withdrawsEqualFile
        /// A copy is given up: its intent says so first, then it is removed.
        case retiresThenUnlinks
        /// The same, and places of other hosts' intents may be taken.
        case retiresUnreserved
        /// Who takes over deletes the other's intent.
        case takeoverDeletes
        /// Adopters close intents where no file stands.
        case adopterClosesEmpty
        /// The echo is written after the source has gone.
        case echoAfterSource
        /// Who sets a duplicate aside, and who begins an undo, looks for the other's row first, and writes its own then.
        case undoLooksFirst
        /// An undo begins while a source of the photo is still to be removed.
        case undoIgnoresOpenIntents
        /// What is missing while it is being taken back is filed again.
        case supersedesBesideUndo
        /// An undo begins while what is missing is being filed again.
        case undoBesideSupersession
        /// A photo is superseded by its place, which a newer one may have.
        case supersedesByPlace
        /// A lost intent whose content is recorded elsewhere waits until that file is whole.
        case lostWaitsForMissing
        /// An undo is not asserted again after the catalogue went back.
        case undoHasNoEcho
        /// A copy without an intent is forgotten if another intent has its place.
        case forgetsCopyOfClaimedPlace
        /// Echoes say nothing of sets.
        case echoHasNoSet
    }

    private(set) var sources: [[Int]] = []
    private(set) var contents: [Int] = []

    init(_ hosts: [[Int]]) {
        self.hosts = hosts
        number()
    }

    private mutating func number() {
        sources = hosts.indices.map { host in hosts[host].indices.map { host &* 2 &+ $0 } }
        contents = [Int](0..<3).filter { content in hosts.contains { $0.contains(content) } }
    }

    func content(_ source: Int) -> Int { hosts[source / 2][source & 1] }

    func with(_ change: (inout Scenario) -> Void) -> Scenario {
        var scenario = self
        change(&scenario)
        scenario.number()
        return scenario
    }

    var start: World {
        var world = World()
        for source in sources.joined() { world.setSource(source, true) }
        for (content, place) in missing { world.catalogue.setPhoto(content, place) }
        for (content, place) in filed {
            world.catalogue.setPhoto(content, place)
            world.setFile(place, content)
        }
        return world
    }
}
