package import FileValues
import LinuxKernel
import SystemPackage

/// The place of the memory of imports: the state directory, or, for users who may not write there, a hidden directory
/// of the inbox.
package enum ImportMemoryPlace {
    private static let hidden: BytePath = ".photo-inbox-imports"
    private static let name: BytePath = "imports"

    /// Returns whether a memory exists, for a dry run, which creates none.
    package static func exists(state: BytePath, _ plan: ImportPlan) -> Bool {
        [state.appending(name), plan.inboxPath.appending(hidden)].contains { (try? FileStatus(at: $0)) != nil }
    }

    /// Opens the memory for `plan`; nil if that fails, since it only saves work. Throws ``ImportFailure/busy`` while
    /// another run has it.
    package static func open(state: BytePath, _ plan: ImportPlan) throws(ImportFailure) -> ImportMemory? {
        for (parent, name) in [(state, name), (plan.inboxPath, hidden)] {
            do throws(SystemCallError) {
                let directory = try openDirectory(parent)
                if (try? FileStatus(of: name, in: directory)) == nil {
                    try directory.makeDirectory(name, mode: 0o700)
                }
                let place = try directory.openDirectoryBeneath(name)
                return try ImportMemory(of: plan.source, inbox: plan.inbox, in: place)
            } catch {
                if error.code == .wouldBlock { throw .busy }
            }
        }
        return nil
    }
}
