import Dispatch
import LinuxKernel

/// A read source over a descriptor that it owns: made at activation, so that no inactive source ever exists to be
/// released, and closed once, in the cancel handler, when the kernel has forgotten the descriptor.
///
/// libdispatch may only see descriptors that never hang up: on EPOLLHUP it takes its bookkeeping of the descriptor apart
/// on the source's queue, while the manager thread walks the same lists (`_dispatch_source_invoke2`, needs_delete), which
/// ends in a use after free. And on EPOLLERR alone it spins. So whatever can hang up is watched by an epoll descriptor
/// of its own, which is only ever readable, and that one is what libdispatch is given.
final class DescriptorSource: KernelSource {
    typealias Drain = @Sendable (Int32, MonitorEngine) -> Void
    typealias Prepare = @Sendable (Int32) -> Void

    private struct Cell: ~Copyable {
        var descriptor: OwnedDescriptor?
        /// The epoll descriptor that watches it, if there is one.
        var watcher: OwnedDescriptor?
        var source: DispatchSource?
        var prepare: Prepare?
        var drain: Drain?
    }

    private let cell: QueueBound<Cell>

    init(
        _ descriptor: consuming OwnedDescriptor, watcher: consuming OwnedDescriptor?, queue: MonitorQueue,
        prepare: Prepare?, drain: @escaping Drain
    ) {
        cell = QueueBound(
            Cell(descriptor: descriptor, watcher: watcher, source: nil, prepare: prepare, drain: drain), queue: queue)
    }

    var countsWhatWaits: Bool { false }
    var descriptor: Int32? { cell.confined { $0.descriptor?.raw } }

    func start(for engine: MonitorEngine) {
        let (raw, watched, prepare, drain) = cell.confined {
            ($0.descriptor?.raw, $0.watcher?.raw ?? $0.descriptor?.raw, $0.prepare, $0.drain)
        }
        guard let raw, let watched, let drain else {
            fatalError("a descriptor source was started after its end")
        }
        prepare?(raw)
        // One closure for all events: nothing is allocated for each.
        let turn: @Sendable () -> Void = { drain(raw, engine) }
        let source = startSource(
            DispatchSource.makeReadSource(fileDescriptor: watched, queue: engine.queue.dispatchQueue),
            fired: { engine.fired(turn) }, registered: { engine.registered() },
            cancelled: {
                self.close()
                engine.sourceCancelled()
            })
        cell.confined { $0.source = source }
    }

    func hold() { cell.confined { $0.source }?.suspend() }
    func release() { cell.confined { $0.source }?.resume() }

    func cancel(for engine: MonitorEngine) {
        cell.confined { $0.source }?.cancel()
    }

    func abandon(for engine: MonitorEngine) {
        engine.queue.async {
            self.close()
            engine.sourceCancelled()
        }
    }

    private func close() {
        // The closures are dropped outside the box: what they hold may come back to it in its deinit.
        let closures = cell.confined { cell in
            // Ends the descriptors' values, and so closes them; the watcher first, so that it never holds a stranger.
            cell.watcher = nil
            cell.descriptor = nil
            cell.source = nil
            defer { (cell.prepare, cell.drain) = (nil, nil) }
            return (cell.prepare, cell.drain)
        }
        withExtendedLifetime(closures) {}
    }
}
