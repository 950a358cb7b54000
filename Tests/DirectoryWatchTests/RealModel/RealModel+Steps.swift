import Dispatch
import FileValues
import Glibc
import LinuxKernel

/// What the steps do.
extension RealModel {
    /// Few names, so that they meet: hostile ones, the longest, and some that are left out.
    static let names: [BytePath] = [
        "a", "b", "c", "d", "e.jpg", BytePath([0xFF, 0x0A, 0x1B, 0x5B, 0x32, 0x4A]), "x.tmp", "@eaDir",
        BytePath(Array(repeating: 0xE9, count: 255)), " ",
    ]

    func perform(_ step: RealStep) {
        switch step.kind {
        case .create, .write, .node, .open, .append, .close, .link, .symbolicLink, .fifo, .chmod, .truncate:
            performOnFile(step)
        case .remove, .removeTree, .forget, .rename, .exchange, .moveOut, .moveIn: performOnName(step)
        case .makeDirectory, .makeDeep, .plant, .melee: performOnDirectory(step)
        case .hold: watch.hold(nil)
        case .holdRoot: watch.hold(step.a % RealWatch.roots.count)
        case .release: watch.release()
        case .overflow: overflow()
        case .reconcile:
            watch.reconcileLater()
            isCompared = true
        case .watchLimit: limitWatches(step.b % 3 == 0 ? 1_000_000 : 3 + step.a % 12)
        // Not to wait for anything: the programs' own pace, so that the watch meets states in between.
        case .breathe: usleep(UInt32(step.a % 3_000))
        case .awaitQuiet: awaitQuiet()
        }
    }

    // MARK: Picking

    /// A directory of a root: down from the top by the digits of the number.
    func directory(_ number: Int) -> Place {
        var rest = number
        func digit(_ base: Int) -> Int {
            defer { rest /= base }
            return rest % base
        }
        var place = Place(root: RealWatch.roots[digit(RealWatch.roots.count)], path: "")
        while true {
            let inner = RealTree.names(in: path(place)).filter(\.isDirectory)
            let choice = digit(inner.count + 1)
            if choice == 0 { return place }
            place = Place(root: place.root, path: place.path.appending(inner[choice - 1].name))
        }
    }

    /// An entry of a directory, if it has any; cookies are never there between steps.
    func entry(_ number: Int, in directory: Place) -> Place? {
        let names = RealTree.names(in: path(directory))
        guard !names.isEmpty else { return nil }
        return Place(root: directory.root, path: directory.path.appending(names[number % names.count].name))
    }

    /// A place for something new; nil if the path is getting too long for plain system calls.
    func fresh(_ number: Int, in directory: Place) -> Place? {
        let name = Self.names[number % Self.names.count]
        guard directory.path.bytes.count < 2_500 else { return nil }
        return Place(root: directory.root, path: directory.path.appending(name))
    }

    // MARK: The watch

    /// Holds the watch until the kernel's queue has overflowed, if that takes no more than some thousand renames.
    private func overflow() {
        guard let limit = readNumber("/proc/sys/fs/inotify/max_queued_events"), limit <= 65_536 else { return }
        watch.hold(nil)
        isCompared = true
        let root = RealWatch.roots[0]
        let names = ["cookie-noise-0", "cookie-noise-1"].map { path(Place(root: root, path: $0)) }
        RealTree.makeFile(names[0])
        for round in 0...(limit / 2) { RealTree.rename(names[round % 2], names[1 - round % 2]) }
        for name in names { RealTree.removeAll(name) }
    }

    private func limitWatches(_ number: Int) {
        guard let path = setting.watchLimit, let file = RealTree.open(BytePath(path), O_WRONLY) else { return }
        _ = "\(number)\n".withCString { Glibc.write(file, $0, strlen($0)) }
        close(file)
        needsTicks = true
    }
}
