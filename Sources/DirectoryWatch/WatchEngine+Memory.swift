import FileValues
import LinuxKernel
import SystemMonitor

/// The memory of an earlier watch, and that for the next one.
extension WatchEngine {
    /// Removes the entries from a root's memory that its rule excludes now. On the root's queue, before the root is opened
    /// there, so that the result comes before that of the opening.
    func removeExcluded(_ place: Int) {
        let root = roots[place]
        guard let memories = recalled.roots[root.id], let exclude = root.exclude else { return }
        root.queue.async { [weak self] in
            let rest = memories.map { $0.without(exclude) }
            guard let self, rest != memories else { return }
            self.queue.async {
                self.withCore { $0.replaceMemories(of: place, by: rest) }
            }
        }
    }

    func acknowledge(_ root: String, _ path: BytePath, _ identity: FileIdentity?, isLeftAlone: Bool) {
        guard let place = roots.firstIndex(where: { $0.id == root }) else { return }
        withCore { $0.acknowledge(place, path, identity, isLeftAlone: isLeftAlone) }
    }

    /// The memory of all roots, those included that are not watched now.
    func memory() -> WatchMemory {
        var memory = recalled
        withCore { core in
            for (place, root) in roots.enumerated() {
                let memories = core.memories(of: place)
                memory.roots[root.id] = memories.isEmpty ? nil : memories
            }
        }
        return memory
    }

    var memoryChanges: UInt64 { withCore { $0.state.tree.memoryChanges } }
}
