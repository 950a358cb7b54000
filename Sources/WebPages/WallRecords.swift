import Catalogue
import CommandContact
import CommandSupport
import FileValues
import LinuxKernel
import Reporting
import SystemMonitor
import SystemPackage

/// What the timeline consists of: days, photos of a day, and small pictures. On a queue of its own, with an open catalogue:
/// each takes a lookup or two.
actor WallRecords {
    private let queue = MonitorQueue(label: "photo-inbox.web.wall")
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.executor.asUnownedSerialExecutor() }

    private var catalogue: KeptCatalogue
    private let open: PhotoViews.Opening

    init(_ places: Places, _ open: @escaping PhotoViews.Opening) {
        (catalogue, self.open) = (KeptCatalogue(places), open)
    }

    /// Two numbers a day, each of seven bits a byte, the lowest first, with the eighth set in all but the last: how much older it is
    /// than the one before, the first than day 2³¹, and how many photos it has. Those without a date are 0 older.
    func days() throws(CommandFailure) -> [UInt8] {
        let days = try catalogue.read { catalogue throws(CatalogueError) in try catalogue.days() }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(days.count * 3)
        var last = Int64(1) << 31
        for (day, photos) in days {
            let next = day == Tile.noDay ? last : Int64(day)
            bytes.append(inSevens: UInt64(clamping: last - next))
            bytes.append(inSevens: UInt64(photos))
            last = next
        }
        return bytes
    }

    /// Twelve bytes a photo, and how many the day has.
    func tiles(
        of day: Int32, from first: Int, count: Int
    ) throws(CommandFailure) -> (bytes: [UInt8], all: UInt32) {
        let found = try catalogue.read { catalogue throws(CatalogueError) in
            try catalogue.tiles(of: day, from: first, count: count)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(found.tiles.count * 12)
        for tile in found.tiles { bytes.append(tile) }
        return (bytes, found.all)
    }

    /// Nil if it is not installed.
    func leaflet(_ part: Leaflet) -> OpenContent? {
        guard let file = try? openDirectory(part.file.parent).openBeneath(part.file.name, [.read, .nonBlocking]) else {
            return nil
        }
        return OpenContent(file, named: part.file.name, queue: queue)
    }

    /// A small picture of a photo; nil if there is none, or no such photo.
    func picture(_ picture: Picture, of key: PhotoKey) throws(CommandFailure) -> OpenContent? {
        let hash = try catalogue.read { catalogue throws(CatalogueError) in try catalogue.hash(ofPhoto: Int64(key.id)) }
        guard let hash, key.isOf(hash) else { return nil }
        do throws(SystemCallError) {
            return OpenContent(try open(hash, picture), named: "picture.jpg", queue: queue)
        } catch {
            guard error.code != .noSuchFileOrDirectory else { return nil }
            throw CommandFailure(
                error.code == .permissionDenied ? .permission : .failed, "the small picture cannot be opened: \(error)",
                action: "The pages' user must be able to read the small pictures in the daemon's state directory.")
        }
    }

    /// Whether there is a small picture of each of these photos.
    func hasAll(_ picture: Picture, of keys: [PhotoKey]) -> Bool {
        keys.allSatisfy { (try? self.picture(picture, of: $0)) != nil }
    }

    /// The most bytes of a small picture among others; what is larger is asked for by itself.
    private static let largestPart = 256 << 10

    /// A small picture after its length, of four bytes, the lowest first; the length is 0 if there is none, or it is too large.
    func part(_ picture: Picture, of key: PhotoKey) -> [UInt8] {
        var bytes: [UInt8] = []
        if let hash = try? catalogue.read({ catalogue throws(CatalogueError) in
            try catalogue.hash(ofPhoto: Int64(key.id))
        }), key.isOf(hash), let file = try? open(hash, picture) {
            bytes = (try? file.read(Self.largestPart + 1)) ?? []
        }
        if bytes.count > Self.largestPart { bytes = [] }
        var part: [UInt8] = []
        part.append(littleEndian: UInt32(bytes.count))
        return part + bytes
    }
}

extension [UInt8] {
    fileprivate mutating func append(inSevens number: UInt64) {
        var rest = number
        while rest > 0x7F {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    mutating func append(littleEndian number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }

    mutating func append(_ tile: Tile) {
        append(littleEndian: tile.photo)
        append(contentsOf: tile.mark)
        append(littleEndian: tile.second | UInt32(tile.kind) << 24)
    }
}
