import FileValues
import LinuxKernel
import SystemMonitor

/// What is known from an earlier life, and what the next one is to know.
extension WatchEngine {
    /// Takes out of what is remembered what the root's rule leaves out now, on the root's queue: before the root is
    /// opened there, so that its answer is here before that of the opening.
    func leaveOutOfMemory(_ place: Int) {
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

    func acknowledge(_ root: String, _ path: BytePath, _ identity: FileIdentity?) {
        guard let place = roots.firstIndex(where: { $0.id == root }) else { return }
        withCore { $0.acknowledge(place, path, identity) }
    }

    /// Roots that are not watched now stay remembered.
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
