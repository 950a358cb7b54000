import FileValues
import Filing
import LinuxKernel
import PhotoFormats
import PhotoModel
import Settings

/// Whether a proven arrival waits for others, and for which.
extension ReadyMember {
    /// What an arrival that goes to its set concludes; nil if nothing suggests that it has one.
    ///
    /// A sidecar always waits: it is in no hurry, and is nothing by itself.
    func gathering(_ spec: InboxSpec, _ assignment: Assignment) -> Conclusion? {
        guard spec.sets.isEnabled else { return nil }
        var hopes = SetExpectations(company: assignment.hasCompany)
        var summoned: [BytePath] = []
        if role.isSidecar {
            hopes.roles = .photos
        } else {
            hopes.inSight = companions(spec)
            summoned = hopes.inSight.filter { SetName($0).role?.isSidecar == true }
            hopes.roles = assignment.expected
            // Half of a Live Photo says that there is another.
            if report.contentIdentifier != nil, spec.sets.expectation != .never {
                hopes.roles.insert(role == .film ? .picture : .film)
            }
        }
        if hopes.isEmpty { return nil }
        var conclusion = gathering(hopes, spec.sets)
        conclusion.summoned = summoned
        return conclusion
    }

    /// The same of a member of a set of which one has to be examined again.
    func gatheringAgain(_ sets: SetPolicy) -> Conclusion {
        gathering(SetExpectations(roles: role.isSidecar ? .photos : [], company: true), sets)
    }

    private func gathering(_ hopes: SetExpectations, _ sets: SetPolicy) -> Conclusion {
        var conclusion = Conclusion(.gather(SetCandidate(traits: traits, hopes: hopes, wait: sets.wait)))
        conclusion.quiet = quiet
        return conclusion
    }

    /// What lies beside it and seems to belong to it, by the few names that devices and programs write. They are looked for in
    /// a listing, which takes two system calls, but one by one where many files are there.
    private func companions(_ spec: InboxSpec) -> Set<BytePath> {
        let directory = key.path.parent
        let few = 4096
        let size = (try? FileStatus(of: source.directory))?.identity.size ?? 0
        let listed = size <= UInt64(few) ? try? DirectoryReader(capacity: few).allNames(in: source.directory) : nil
        let likely = SetRules.likelyCompanions(of: self.name)
        var found: Set<BytePath> = []
        for name in listed.map({ SetRules.likely(likely, among: $0) }) ?? likely {
            guard let status = try? FileStatus(of: name, in: source.directory), status.kind == .regular else {
                continue
            }
            let path = directory.appending(name)
            if !spec.excludes(path) { found.insert(path) }
        }
        return found
    }
}

extension SetPolicy {
    /// What is to be waited for with a photo although it is not in sight; `history` is that of its inbox.
    func expected(with arrival: Arrival, _ history: PairHistory?) -> SetRoles {
        guard let role = SetName(arrival.key.path).role, !role.isSidecar else { return [] }
        switch expectation {
        case .never: return []
        case .always: return [.raw, .picture, .film, .sidecar]
        case .auto: return history?.expected(with: role) ?? []
        }
    }
}
