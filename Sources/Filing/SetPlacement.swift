import FileValues
import LinuxKernel
import SystemPackage

/// A file of a set with its plan.
package struct SetMember: Sendable {
    package let source: SourceFile
    package let plan: PlacementPlan

    package init(source: SourceFile, plan: PlacementPlan) {
        self.source = source
        self.plan = plan
    }
}

/// Places copies of all `members` in order: stages all, names all with one common number, then syncs the directory
/// once. Leaves no file after an error, but in a shared root those that have their names, for recovery.
///
/// The members must have the same directory and different names.
package func place(
    _ members: [SetMember], in root: DestinationRoot, work: FileWork = FileWork()
) throws(FilingError) -> [PlacedFile] {
    guard let first = members.first else { return [] }
    precondition(members.allSatisfy { $0.plan.directory == first.plan.directory }, "a set lies in one directory")
    var taken: Int?
    // Another round is needed only if another program took a name between the check and the naming.
    for _ in 0..<SetPlacement.rounds {
        let placement = try SetPlacement(members, root, work)
        let number = try placement.freeNumber(above: taken)
        if try placement.assignNames(number) {
            try placement.sync()
            return placement.placed
        }
        taken = number
    }
    throw .noFreeName(.nameCopy, first.plan.path)
}

/// One attempt to place a set. Confined to the file queue.
private final class SetPlacement {
    static let rounds = 8

    private let root: DestinationRoot
    private let work: FileWork
    private var staged: [StagedFile] = []
    private(set) var placed: [PlacedFile] = []

    init(_ members: [SetMember], _ root: DestinationRoot, _ work: FileWork) throws(FilingError) {
        self.root = root
        self.work = work
        // If one fails, the others are removed by their deinit.
        for member in members {
            staged.append(try StagedFile.stage(member.plan, from: member.source, in: root, work: work))
        }
    }

    /// Returns a number with which every name is free. In the first round (nil), a name taken by an equal file counts
    /// as free for number 0.
    func freeNumber(above taken: Int?) throws(FilingError) -> Int {
        if taken == nil, try isFree(0) { return 0 }
        return try FileNames.freeNumber(above: taken ?? 0) { number throws(FilingError) in try isFree(number) }
    }

    private func isFree(_ number: Int) throws(FilingError) -> Bool {
        for file in staged {
            if try file.isFree(number) { continue }
            guard number == 0, !root.isShared, try file.equalFile(under: file.plan.name, work) != nil else {
                return false
            }
        }
        return true
    }

    /// Names every copy with the same number. Removes them all and returns false if one of the names is taken now. In a shared
    /// root, throws if one of them has its name already.
    func assignNames(_ number: Int) throws(FilingError) -> Bool {
        do throws(FilingError) {
            for index in staged.indices {
                guard let file = try name(index, number) else {
                    if root.isShared, !placed.isEmpty { throw .noFreeName(.nameCopy, staged[index].plan.path) }
                    removePlaced()
                    return false
                }
                placed.append(file)
            }
            return true
        } catch {
            removePlaced()
            throw error
        }
    }

    private func name(_ index: Int, _ number: Int) throws(FilingError) -> PlacedFile? {
        let file = staged[index]
        let name = file.plan.candidate(number)
        work.willEnter(.nameCopy)
        switch try file.tryName(name) {
        case .named: return try file.placedFile(named: name)
        case .anonymousRefused:
            // This file system creates anonymous files but cannot name them.
            root.means.remove(.anonymousTemporary)
            staged[index] = try StagedFile.stage(file.plan, from: file.source, in: root, work: work)
            return try self.name(index, number)
        case .taken:
            guard number == 0, !root.isShared, let equal = try file.equalFile(under: name, work) else { return nil }
            return try file.placedFile(existing: equal, named: name)
        }
    }

    /// Syncs the directory of all names.
    func sync() throws(FilingError) {
        do { try staged[0].syncDirectory(work: work) } catch {
            removePlaced()
            throw error
        }
    }

    /// Removes the copies. Errors are ignored: recovery finds the rest by their intents.
    private func removePlaced() {
        if root.isShared { return }
        for (file, staged) in zip(placed, staged) {
            _ = try? root.takeBack(
                file, token: staged.plan.token, hash: staged.plan.hash, seeing: staged.source, probe: WriterProbe(),
                work: work)
        }
        placed = []
    }
}
