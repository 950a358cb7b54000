import FileValues
import Glibc
import LinuxKernel

/// Steps that give and take names.
extension RealModel {
    func performOnName(_ step: RealStep) {
        let here = directory(step.a)
        switch step.kind {
        case .remove, .removeTree:
            if let place = entry(step.b, in: here) { remove(place, wholly: step.kind == .removeTree) }
        case .forget: if let place = entry(step.b, in: here) { forget(place) }
        case .rename:
            if let old = entry(step.b, in: here), let new = fresh(step.b / 3, in: directory(step.a / 7 + step.b)) {
                rename(old, new)
            }
        case .exchange:
            if let old = entry(step.b, in: here), let new = entry(step.b / 5, in: directory(step.a / 7 + step.b)) {
                exchange(old, new)
            }
        case .moveOut:
            if let old = entry(step.b, in: here) {
                rename(old, Place(root: "o", path: BytePath("o\(step.b % 5)")))
            }
        case .moveIn:
            if let old = entry(step.b, in: Place(root: "o", path: "")), let new = fresh(step.b / 3, in: here) {
                rename(old, new)
            } else if let new = fresh(step.b / 3, in: here) {
                // Nothing is outside: a tree is made there first.
                let tree = Place(root: "o", path: "tree")
                RealTree.makeDirectory(path(tree))
                RealTree.makeDirectory(path(tree).appending("c"))
                RealTree.makeFile(path(tree).appending("a"))
                RealTree.makeFile(path(tree).appending("c/b"), bytes: 3)
                rename(tree, new)
            }
        default: break
        }
    }

    private func remove(_ place: Place, wholly: Bool) {
        guard let before = RealTree.status(of: path(place)) else { return }
        if before.kind == .directory {
            if !wholly, !RealTree.names(in: path(place)).isEmpty { return }
            disturb(place)
            RealTree.removeAll(path(place))
        } else {
            noteLinks(before)
            guard path(place).withCString({ unlink($0) }) == 0 else { return }
        }
        touch(place, .removed)
    }

    /// The receiver has processed an unchanged file, and removes it: that is not reported.
    private func forget(_ place: Place) {
        guard !isCompared, touches[place] == nil, !isDisturbed(place), case .finished = entriesAtRest[place],
            !watch.isHeld,
            let before = RealTree.status(of: path(place)), before.kind == .regular, before.links == 1,
            !open.contains(where: { $0.inode == before.identity.inode })
        else { return }
        watch.forget(root: place.root, place.path)
        removeNotices()
        judge.forget(place)
        entriesAtRest[place] = nil
        RealTree.removeAll(path(place))
        touch(place, .forgotten)
    }

    private func rename(_ old: Place, _ new: Place) {
        guard old != new, let moved = RealTree.status(of: path(old)) else { return }
        let replaced = RealTree.status(of: path(new))
        if let replaced, replaced.identity.inode == moved.identity.inode { return }
        if moved.kind == .directory { disturb(old) }
        guard RealTree.rename(path(old), path(new)) else { return }
        noteLinks(moved)
        if let replaced { noteLinks(replaced) }
        if moved.kind == .directory {
            disturb(new)
            moveWilds(old, new)
        } else {
            let isOpen = open.contains { $0.inode == moved.identity.inode }
            let isExact = moved.kind == .regular && replaced == nil && !isOpen
            touch(old, isExact ? .movedAway : .other)
            touch(new, isExact ? (old.root == new.root ? .renamed(from: old) : .movedIn) : .other)
        }
    }

    private func exchange(_ one: Place, _ other: Place) {
        guard one != other, let first = RealTree.status(of: path(one)), let second = RealTree.status(of: path(other))
        else { return }
        for place in [one, other] { disturb(place) }
        guard RealTree.rename(path(one), path(other), exchanging: true) else { return }
        for entry in [first, second] { noteLinks(entry) }
        for place in [one, other] { disturb(place) }
        moveWilds(one, other)
        moveWilds(other, one)
    }

    /// What is not known in full where it was is not known in full where it is now.
    private func moveWilds(_ old: Place, _ new: Place) {
        let isWild = wild.contains {
            $0.root == old.root && ($0.path.isInside(old.path) || old.path.isInside($0.path))
        }
        if isWild { wild.append(new) }
    }

    /// Of a file with several names each change of one changes the others' without an event.
    func noteLinks(_ entry: RealTree.Entry) {
        if entry.kind == .regular, entry.links > 1 { quiet.insert(entry.identity.inode) }
    }
}
