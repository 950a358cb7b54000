import Catalogue
import LinuxKernel

// What hooks ask of the catalogue.
extension CatalogueWriter {
    /// Up to which outcome a hook was told; a new one begins now.
    func placeOfHook(_ name: String) throws(CatalogueError) -> Int64 {
        try perform("looking up what a hook was told") { () throws(CatalogueError) in
            try catalogue.placeOfHook(name, at: Moment.now.wall)
        }
    }

    /// Forgets hooks that are configured no more.
    func forgetHooks(except names: [String]) throws(CatalogueError) {
        try perform("forgetting hooks") { () throws(CatalogueError) in try catalogue.forgetHooks(except: names) }
    }

    /// What happened after an outcome.
    func hookBatch(after outcome: Int64, _ interest: HookInterest, limit: Int) throws(CatalogueError) -> HookBatch {
        try perform("reading what a hook is to be told") { () throws(CatalogueError) in
            try catalogue.hookBatch(after: outcome, interest, limit: limit)
        }
    }

    /// A hook has taken all up to an outcome.
    func hook(_ name: String, toldThrough outcome: Int64) async throws(CatalogueError) {
        _ = try await submit(.hook(name, told: outcome))
    }
}
