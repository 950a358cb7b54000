import FileValues

/// What comparisons of live roots find that no event told.
extension TreeCore {
    /// A comparison of the whole root begins. Those that are asked for otherwise are audits as well, but for a root's
    /// first and those that heal an overflow: there events were missed, as everybody knows.
    package mutating func beginAudit(_ root: Int, _ outcome: Reconciliation) -> Bool {
        guard !outcome.isFirst, !outcome.heals, !roots[root].tellsOwnChangesOnly else { return false }
        roots[root].ledger.begin(at: now)
        roots[root].auditBegan = now
        roots[root].auditEnded = nil
        return true
    }

    /// It is through, but records of what it found may still wait in the kernel's queue.
    package mutating func endAudit(_ root: Int, _ outcome: Reconciliation) {
        if outcome.heals { roots[root].ledger.void() }
        roots[root].auditEnded = now
    }

    /// Counts what was missed, once the kernel's queue was seen empty after the comparison.
    package mutating func settleAudit(_ root: Int) {
        guard let ended = roots[root].auditEnded, !hasQueuedRecords, surveys.isEmpty else { return }
        roots[root].auditEnded = nil
        let missed = roots[root].ledger.settle()
        if let missed {
            roots[root].audits += 1
            roots[root].missed += missed.count
            roots[root].lastMissed = missed.count
        }
        let began = roots[root].auditBegan
        if roots[root].audit?.isUnderWay == false { roots[root].audit?.begin(at: began) }
        roots[root].audit?.end(at: ended, foundDifferences: (missed?.count ?? 0) > 0)
    }

    /// Compares a listing of the audit with what is known: the differences that no record has named so far. Only in a
    /// directory that had been watched before it was listed, and while nothing else is found out about the root.
    package mutating func suspectDifferences(
        _ node: NodeID, _ listed: [NameID], _ entries: Range<Int32>, _ findings: Findings
    ) {
        let root = Int(table[node].root)
        guard roots[root].surveys == 1 else { return }
        if table[node].firstFile >= 0 || table.hasChildren(node) {
            let present = Set(listed)
            for (name, _) in files.files(from: table[node].firstFile) where !present.contains(name) {
                suspect(node, name)
            }
            for child in table.children(of: node) where !present.contains(table.name(of: child)) {
                suspect(node, table.name(of: child))
            }
        }
        for (name, place) in zip(listed, entries) {
            switch findings.entries[Int(place)].observation {
            case .directory(let inode, _):
                let child = table.child(of: node, named: name)
                if child.map({ table[$0].inode != 0 && table[$0].inode != inode }) ?? true { suspect(node, name) }
            case .file(_, let identity, _), .unwritten(let identity, _):
                guard let known = files[node, name] else {
                    suspect(node, name)
                    continue
                }
                if known.identity.inode != identity.inode {
                    suspect(node, name)
                } else if known.state == .reported, known.identity.size != identity.size {
                    roots[root].ledger.doubt(key(node, name))
                }
            // Being written: its close is still to come. What is mounted, the mount table tells.
            case .writing, .absent, .excluded, .failed, .unreached, .mountRoot: break
            }
        }
    }

    private mutating func suspect(_ node: NodeID, _ name: NameID) {
        let root = Int(table[node].root)
        // Named by a record that was taken already: its look is still to come, or its other half.
        if isAwaited(node, name) { return }
        roots[root].ledger.suspect(key(node, name))
    }

    package func key(_ node: NodeID, _ name: NameID) -> AuditLedger.Key {
        AuditLedger.Key(directory: node, name: table.names.name(name))
    }
}
