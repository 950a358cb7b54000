import FileValues
import LinuxKernel

/// Listings, compared with what is known.
extension TreeCore {
    mutating func takeFindings(_ id: UInt32, _ findings: [DirectoryFinding], isComplete: Bool, root: Int) {
        guard var survey = surveys.removeValue(forKey: id) else {
            for finding in findings {
                if case .listed(_, .made(let watch), _) = finding.outcome {
                    releaseUnowned(watch, root: root, from: id)
                }
            }
            return
        }
        // Back at once, because what is found may ask whether a survey is under way.
        surveys[id] = Survey(root: root, isRecursive: survey.isRecursive, nodes: [])
        for finding in findings { integrate(finding, of: &survey, id) }
        if isComplete {
            surveys[id] = nil
            roots[root].surveys -= 1
        } else {
            surveys[id] = survey
        }
    }

    private mutating func integrate(_ finding: DirectoryFinding, of survey: inout Survey, _ id: UInt32) {
        let isTopOfSurvey = finding.parent < 0
        var node = isTopOfSurvey ? survey.nodes.first : child(finding, of: survey)
        if let known = node, !table.isValid(known) || !isAttached(known) { node = nil }
        guard let node else {
            if case .listed(_, .made(let watch), _) = finding.outcome {
                releaseUnowned(watch, root: survey.root, from: id)
            }
            if !isTopOfSurvey { survey.nodes.append(.none) }
            return
        }
        var settled = node
        switch finding.outcome {
        case .absent:
            if table[node].coverage == .pending { setCoverage(node, .unwatched) }
            doubt(node)
        case .unreadable(let error):
            if table[node].coverage != .unreadable {
                releaseWatch(of: node)
                setCoverage(node, .unreadable)
                notify(survey.root, table.path(of: node), .unreadable(error))
            }
            if isTop(node) { roots[survey.root].hasBegun = true }
        case .listed(let inode, let watch, let entries):
            settled = settle(node, inode)
            switch watch {
            case .made(let number): bind(settled, number, from: id)
            case .refused:
                releaseWatch(of: settled)
                setCoverage(settled, .polled)
            }
            compare(settled, entries, isRecursive: survey.isRecursive)
            if isTop(settled) { roots[survey.root].hasBegun = true }
        }
        if isTopOfSurvey { survey.nodes[0] = settled } else { survey.nodes.append(settled) }
    }

    private func child(_ finding: DirectoryFinding, of survey: Survey) -> NodeID? {
        let place = Int(finding.parent)
        guard survey.nodes.indices.contains(place), table.isValid(survey.nodes[place]) else { return nil }
        return table.child(of: survey.nodes[place], named: finding.name)
    }

    /// The directory that was found under a name, which may be another than the one that was known there.
    private mutating func settle(_ node: NodeID, _ inode: UInt64) -> NodeID {
        if table[node].inode == inode { return node }
        guard let parent = table.parent(of: node) else {
            table[node].inode = inode
            return node
        }
        let name = table.name(of: node)
        let isNew = table[node].inode == 0
        if isNew, limbo[InodeKey(root: Int(table[node].root), inode: inode)] == nil {
            table[node].inode = inode
            notify(Int(table[node].root), table.path(of: node), .directoryAppeared)
            return node
        }
        displace(node)
        if let moved = takeMoved(inode: inode, [], to: parent) {
            place(moved.node, from: moved.path, to: parent, name)
            // What happened in it while it was in limbo was not looked at.
            survey(moved.node, isRecursive: true)
            return moved.node
        }
        let fresh = addPending(name, in: parent)
        table[fresh].inode = inode
        notify(Int(table[fresh].root), table.path(of: fresh), .directoryAppeared)
        return fresh
    }

    /// One listing against what is known of the directory.
    private mutating func compare(_ node: NodeID, _ entries: [DirectoryFinding.Entry], isRecursive: Bool) {
        let hints = Hints(signs: .surveyed)
        if !table[node].files.isEmpty || table.hasChildren(node) {
            let listed = Set(entries.map(\.name))
            // A listing is not trusted with a loss: the name is looked at.
            for name in table[node].files.keys where !listed.contains(name) { note(node, name, hints) }
            for child in table.children(of: node) {
                let name = table.name(of: child)
                if listed.contains(name) { continue }
                displace(child)
                note(node, name, hints)
            }
        }
        for entry in entries {
            guard case .directory = entry.observation else {
                observe(node, entry.name, entry.observation, hints)
                continue
            }
            tellVanished(node, entry.name, mask: [])
            let child = table.child(of: node, named: entry.name) ?? addPending(entry.name, in: node)
            // A recursive survey goes on to it by itself.
            if !isRecursive, table[child].inode == 0 || table[child].coverage == .unwatched {
                self.survey(child, isRecursive: true)
            }
        }
    }
}
