import FileValues
import LinuxKernel
import SystemPackage

/// A file of a set, and where it is to go.
package struct SetMember: Sendable {
    package let source: SourceFile
    package let plan: PlacementPlan

    package init(source: SourceFile, plan: PlacementPlan) {
        self.source = source
        self.plan = plan
    }
}

/// Puts copies of all `members`, which have one directory, there: all are staged, then all are named with one common
/// number, then the directory is synced once. In their order. On any error nothing of ours is left.
///
/// The names of `members` must differ.
package func place(
    _ members: [SetMember], in root: DestinationRoot, work: FileWork = FileWork()
) throws(FilingError) -> [PlacedFile] {
    guard let first = members.first else { return [] }
    precondition(members.allSatisfy { $0.plan.directory == first.plan.directory }, "a set lies in one directory")
    var attempt = 0
    // Each round more than the first is one in which another program took a name between our look and our naming.
    for _ in 0..<SetPlacement.rounds {
        let placement = try SetPlacement(members, root, work)
        attempt = try placement.firstFree(from: attempt)
        if try placement.giveNames(attempt) {
            try placement.sync()
            return placement.placed
        }
        attempt += 1
    }
    throw FilingError(.nameCopy, .destination, .noFreeName, path: first.plan.path)
}

/// One try to place a set. Confined to the file queue.
private final class SetPlacement {
    static let rounds = 8

    private let root: DestinationRoot
    private let work: FileWork
    private var staged: [StagedFile] = []
    private(set) var placed: [PlacedFile] = []

    init(_ members: [SetMember], _ root: DestinationRoot, _ work: FileWork) throws(FilingError) {
        self.root = root
        self.work = work
        // If one fails, those before it go without a trace.
        for member in members {
            staged.append(try StagedFile.stage(member.plan, from: member.source, in: root, work: work))
        }
    }

    /// The first number from `start` with which every name is free, or taken by an equal file.
    func firstFree(from start: Int) throws(FilingError) -> Int {
        for attempt in start..<(start + StagedFile.attempts) {
            var isFree = true
            for file in staged where isFree {
                let name = file.plan.candidate(attempt)
                do { _ = try FileStatus(of: name, in: file.directory) } catch {
                    if error.code == .noSuchFileOrDirectory { continue }
                    throw FilingError(.nameCopy, .destination, .system(error), path: file.plan.path)
                }
                isFree = try file.equalFile(under: name, work) != nil
            }
            if isFree { return attempt }
        }
        throw FilingError(.nameCopy, .destination, .noFreeName, path: staged[0].plan.path)
    }

    /// Names every copy with the same number; takes all back and says false if one of the names is taken now.
    func giveNames(_ attempt: Int) throws(FilingError) -> Bool {
        do throws(FilingError) {
            for index in staged.indices {
                guard let file = try name(index, attempt) else {
                    takeBack()
                    return false
                }
                placed.append(file)
            }
            return true
        } catch {
            takeBack()
            throw error
        }
    }

    private func name(_ index: Int, _ attempt: Int) throws(FilingError) -> PlacedFile? {
        let file = staged[index]
        let name = file.plan.candidate(attempt)
        work.willEnter(.nameCopy)
        switch try file.tryName(name) {
        case .named: return try file.named(name)
        case .anonymousRefused:
            // Known only now that this file system makes anonymous files but can't name them.
            root.means.remove(.anonymousTemporary)
            staged[index] = try StagedFile.stage(file.plan, from: file.source, in: root, work: work)
            return try self.name(index, attempt)
        case .taken:
            return try file.equalFile(under: name, work).map { equal throws(FilingError) in
                try file.found(equal, under: name)
            }
        }
    }

    /// Makes the names durable: they are all in one directory.
    func sync() throws(FilingError) {
        do { try staged[0].syncDirectory(work: work) } catch {
            takeBack()
            throw error
        }
    }

    /// Best effort: what cannot be taken back now, recovery finds by its intent.
    private func takeBack() {
        for (file, staged) in zip(placed, staged) {
            _ = try? root.takeBack(
                file, token: staged.plan.token, hash: staged.plan.hash, seeing: staged.source, probe: WriterProbe(),
                work: work)
        }
        placed = []
    }
}
