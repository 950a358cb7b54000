import DirectoryWatch
import FileValues
import Glibc
import LinuxKernel

/// Real directories, a live watch over them, and the expected result of its notices. Confined to the thread that made it.
final class RealModel {
    typealias Place = Receiver.Place

    /// What was done to one name since the last time that all was at rest.
    enum Touch: Hashable {
        case created, written, movedIn, linked, special, removed, movedAway, forgotten
        case renamed(from: Place)
        /// No exact notices can be expected.
        case other
    }

    /// How a sequence is run.
    struct Setting: Sendable {
        /// Where the directories are; nil for TMPDIR.
        var parent: String?
        /// Whether the file system there gives a removed file's inode number to the next one at once.
        var reusesInodes: Bool { parent == nil }
        /// What a planted fault does to notices before they are judged; for tests of this model.
        var plant: (@Sendable (WatchNotice) -> WatchNotice?)?
        /// How often the reported entries may differ from the directory before that counts as a fault.
        var patience = 40
        /// Where the number of watches is set, if it may be: `/proc/sys/user/max_inotify_watches` of a namespace.
        var watchLimit: String?
        /// Whether the first root's file work is done on the watch's own queue.
        var sharesQueue = false
    }

    let setting: Setting
    let watch: RealWatch
    var judge = NoticeJudge()
    var faults: [String] = []
    /// What was done to which name since the last rest.
    var touches: [Place: [Touch]] = [:]
    /// Directories that were moved, removed or changed by several steps since the last rest: less can be expected of their entries.
    var disturbed: [Place] = []
    /// Every place that was there at some time, as far as that is known, and those below which it is not.
    var ever: Set<Place> = []
    var wild: [Place] = []
    /// Inodes that changed, or may have, without an event: chmod(2), truncate(2), another name of theirs.
    var quiet: Set<UInt64> = []
    /// How often each inode was closed after writing.
    var closes: [UInt64: Int] = [:]
    /// Files that are open for writing.
    var open: [(file: Int32, inode: UInt64)] = []
    /// What was reported when all was at rest last.
    var entriesAtRest: [Place: NoticeJudge.Entry] = [:]
    var needsTicks = false
    /// Whether a comparison may be under way since the last rest: it finds forgotten files again.
    var isCompared = false
    var counts = Counts()

    /// What was met with, so that a test can say that it was.
    struct Counts: Sendable {
        var sequences = 0
        var operations = 0
        var rests = 0
        var notices = 0
        var overflows = 0
        var renames = 0
        var splitRenames = 0
        /// Rests with a root of which directories were polled.
        var polled = 0
        var overlaps = 0
        var late = 0
        var ghosts = 0

        static func += (left: inout Counts, right: Counts) {
            left.sequences += right.sequences
            left.operations += right.operations
            left.rests += right.rests
            left.notices += right.notices
            left.overflows += right.overflows
            left.renames += right.renames
            left.splitRenames += right.splitRenames
            left.polled += right.polled
            left.overlaps += right.overlaps
            left.late += right.late
            left.ghosts += right.ghosts
        }
    }

    init(_ setting: Setting) throws {
        self.setting = setting
        watch = try RealWatch(below: setting.parent, sharesQueue: setting.sharesQueue)
    }

    /// The faults after a sequence, and the counts of rare cases.
    static func run(_ steps: [RealStep], _ setting: Setting = Setting()) -> (faults: [String], counts: Counts) {
        do {
            let model = try RealModel(setting)
            defer {
                model.watch.end()
                for (file, _) in model.open { close(file) }
            }
            for step in steps where model.faults.isEmpty {
                model.perform(step)
                model.counts.operations += 1
            }
            if model.faults.isEmpty { model.end() }
            model.counts.sequences = 1
            model.counts.overflows = model.judge.overflows
            model.counts.overlaps = model.judge.overlaps
            model.counts.late = model.judge.late
            return (model.faults, model.counts)
        } catch {
            return (["cannot be run: \(error)"], Counts())
        }
    }

    // MARK: Notes for the judgement

    func touch(_ place: Place, _ touch: Touch) {
        touches[place, default: []].append(touch)
        see(place)
    }

    /// Notes that a place is, or was a moment ago, with all that is in it.
    func see(_ place: Place) {
        ever.insert(place)
        guard RealWatch.roots.contains(place.root), RealTree.status(of: path(place))?.kind == .directory else { return }
        for inner in RealTree.list(path(place), excluding: { _, _ in false }).keys {
            ever.insert(Place(root: place.root, path: place.path.appending(inner)))
        }
    }

    /// Notes that a directory was moved, removed or fought over.
    func disturb(_ place: Place) {
        disturbed.append(place)
        see(place)
    }

    func isDisturbed(_ place: Place) -> Bool {
        disturbed.contains { $0.root == place.root && place.path.isInside($0.path) }
    }

    func path(_ place: Place) -> BytePath { watch.top.appending(BytePath(place.root)).appending(place.path) }
}
