import Dispatch
import LinuxKernel

/// A read source over a descriptor that it owns: created at activation, since releasing an inactive source traps, and
/// closed once, in the cancel handler, when the kernel no longer uses the descriptor.
///
/// libdispatch may only be given descriptors that never hang up: on EPOLLHUP it frees its records of the descriptor on
/// the source's queue while the manager thread reads the same lists (`_dispatch_source_invoke2`, needs_delete), a use
/// after free; on EPOLLERR alone it spins. So a descriptor that can hang up is watched by its own epoll descriptor,
/// which only becomes readable, and libdispatch is given that one.
final class DescriptorSource: KernelSource {
    typealias Drain = @Sendable (Int32, MonitorEngine) -> Void
    typealias Prepare = @Sendable (Int32) -> Void

    private struct Cell: ~Copyable {
        var descriptor: OwnedDescriptor?
        /// The epoll descriptor that watches it, if any.
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

    var countsUnreadEvents: Bool { false }
    var descriptor: Int32? { cell.confined { $0.descriptor?.raw } }

    func start(for engine: MonitorEngine) {
        let (raw, watched, prepare, drain) = cell.confined {
            ($0.descriptor?.raw, $0.watcher?.raw ?? $0.descriptor?.raw, $0.prepare, $0.drain)
        }
        guard let raw, let watched, let drain else {
            fatalError("a descriptor source was started after its end")
        }
        prepare?(raw)
        // One closure for all events, to avoid an allocation for each.
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
        // The closures are released outside the box: a deinit of their captures may access it.
        let closures = cell.confined { cell in
            // Closes the descriptors; the watcher first, so that it never watches a reused number.
            cell.watcher = nil
            cell.descriptor = nil
            cell.source = nil
            defer { (cell.prepare, cell.drain) = (nil, nil) }
            return (cell.prepare, cell.drain)
        }
        withExtendedLifetime(closures) {}
    }
}
