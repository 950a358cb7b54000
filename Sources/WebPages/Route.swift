import FileValues
import HTTPValues
import WebAccounts

/// What a request is for, by its target.
enum Route: Hashable {
    case page
    /// A part of the page, below the hash of all parts.
    case asset(String)
    /// Who is signed in.
    case person
    case session
    /// The meaning of a link that is used once, or the password that it sets.
    case link
    /// Events: the state, as often as it changes.
    case live
    /// What waits for a decision.
    case decisions
    /// Groups of photos that look alike.
    case similar
    /// The small picture of a filed photo, by the hash of its content.
    case thumbnail([UInt8])
    /// The timeline and its photos.
    case wall(WallAddress)
    /// A quarantined file, by its operation.
    case quarantined(Int64)
    /// A request to the daemon.
    case action

    /// Nil for every other target: no unknown one gets a page.
    init?(_ target: RequestTarget) {
        let parts = target.segments
        guard !target.isDirectory || parts.isEmpty else { return nil }
        switch (parts.first, parts.count) {
        case (nil, _): self = .page
        case ("s", 3) where parts[1] == PageAssets.version: self = .asset(parts[2])
        // Beside the page, so that the session's cookie is for its directory.
        case ("session", 1): self = .session
        case ("link", 1): self = .link
        case ("person", 1): self = .person
        case ("live", 1): self = .live
        case ("decisions", 1): self = .decisions
        case ("similar", 1): self = .similar
        case ("action", 1): self = .action
        case ("t", 2) where parts[1].utf8.count == 64:
            guard let hash = bytes(ofHexadecimal: parts[1].utf8) else { return nil }
            self = .thumbnail(hash)
        case ("quarantined", 2):
            guard let operation = Int64(parts[1]), operation > 0 else { return nil }
            self = .quarantined(operation)
        default:
            guard let address = WallAddress(parts) else { return nil }
            self = .wall(address)
        }
    }

    var methods: [HTTPMethod] {
        switch self {
        case .page, .asset, .person, .live, .decisions, .similar, .thumbnail, .wall, .quarantined: [.get, .head]
        case .session: [.post, .delete]
        case .link, .action: [.post]
        }
    }

    /// The least role that may use it; nil for whoever comes.
    var role: Role? {
        switch self {
        case .page, .asset, .session, .link: nil
        case .person, .live, .decisions, .similar, .thumbnail, .wall, .quarantined: .viewer
        case .action: .operator
        }
    }
}
