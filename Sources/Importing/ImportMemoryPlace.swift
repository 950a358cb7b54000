package import FileValues
import LinuxKernel
import SystemPackage

/// Where the memory of imports is: in the state directory, or, for users who may not write there, in the inbox, under a
/// hidden name.
package enum ImportMemoryPlace {
    private static let hidden: BytePath = ".photo-inbox-imports"
    private static let name: BytePath = "imports"

    /// Whether a memory exists; a dry run creates none.
    package static func exists(state: BytePath, _ plan: ImportPlan) -> Bool {
        [state.appending(name), plan.inboxPath.appending(hidden)].contains { (try? FileStatus(at: $0)) != nil }
    }

    /// The memory for `plan`; nil if it cannot be opened, since it only saves work. Throws
    /// ``ImportFailure/busy`` while another run has it.
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
