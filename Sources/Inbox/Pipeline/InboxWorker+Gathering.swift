import FileValues
import Filing
import LinuxKernel
import PhotoModel
import Settings

/// Whether a proven arrival waits for others, and for which.
extension InboxWorker {
    /// What an arrival that goes to its set concludes; nil if nothing suggests that it has one.
    ///
    /// A sidecar always waits: it is in no hurry, and is nothing by itself.
    func gathering(_ member: ReadyMember, _ assignment: Assignment) -> Conclusion? {
        guard spec.sets.isEnabled else { return nil }
        var hopes = SetHopes(company: assignment.hasCompany)
        var summoned: [BytePath] = []
        if member.role.isSidecar {
            hopes.roles = .photos
        } else {
            hopes.inSight = companions(of: member)
            summoned = hopes.inSight.filter { SetName($0).role?.isSidecar == true }
            hopes.roles = assignment.expected
            // Half of a Live Photo says that there is another.
            if member.report.contentIdentifier != nil, spec.sets.expectation != .never {
                hopes.roles.insert(member.role == .film ? .picture : .film)
            }
        }
        guard !hopes.isEmpty else { return nil }
        var conclusion = Conclusion(.gather(SetCandidate(traits: member.traits, hopes: hopes, wait: spec.sets.wait)))
        conclusion.summoned = summoned
        return conclusion
    }

    /// The same of a member of a set of which one has to be looked at again.
    func regathering(_ member: ReadyMember) -> Conclusion {
        var conclusion = Conclusion(
            .gather(
                SetCandidate(
                    traits: member.traits,
                    hopes: SetHopes(roles: member.role.isSidecar ? .photos : [], company: true), wait: spec.sets.wait)))
        conclusion.quiet = member.quiet
        return conclusion
    }

    /// What lies beside it and seems to belong to it, by the few names that devices and programs write: a listing would
    /// cost more with each file that is there.
    private func companions(of member: ReadyMember) -> Set<BytePath> {
        let directory = member.key.path.parent
        var found: Set<BytePath> = []
        for name in SetRules.likelyCompanions(of: member.name) {
            guard let status = try? FileStatus(of: name, in: member.source.directory), status.kind == .regular else {
                continue
            }
            let path = directory.appending(name)
            if !spec.excludes(path) { found.insert(path) }
        }
        return found
    }
}
