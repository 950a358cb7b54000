import Dispatch
import FileValues
import Glibc
import LinuxKernel
import TestSupport

/// Steps that change one file or one directory.
extension RealModel {
    func performOnFile(_ step: RealStep) {
        let here = directory(step.a)
        let existing = entry(step.b, in: here)
        switch step.kind {
        case .create, .write:
            if let place = fresh(step.b, in: here) { make(place, bytes: step.kind == .write ? 1 + step.b : 0) }
        case .node:
            // No close reports it: it counts as found when it is unchanged from one tick to the next.
            guard let place = fresh(step.b, in: here) else { return }
            if path(place).withCString({ mknod($0, S_IFREG | 0o644, 0) }) == 0 { touch(place, .other) }
            needsTicks = true
        case .open: if let place = fresh(step.b, in: here) { openForWriting(place) }
        case .append: if !open.isEmpty { RealTree.write(1 + step.b % 9, to: open[step.a % open.count].file) }
        case .close:
            if open.isEmpty { return }
            closeFile(step.a % open.count)
        case .link:
            guard let existing, let new = fresh(step.a / 3, in: here), let entry = RealTree.status(of: path(existing)),
                entry.kind == .regular,
                path(existing).withCString({ old in path(new).withCString { Glibc.link(old, $0) } }) == 0
            else { return }
            quiet.insert(entry.identity.inode)
            // No close is reported under its new name, and ticks ask whether its writer is gone.
            let isOpen = open.contains { $0.inode == entry.identity.inode }
            if isOpen { needsTicks = true }
            touch(new, isOpen ? .other : .linked)
        case .symbolicLink, .fifo:
            guard let place = fresh(step.b, in: here) else { return }
            let far = watch.top.appending("far").escaped
            let isMade = path(place).withCString {
                step.kind == .fifo ? mkfifo($0, 0o644) : Glibc.symlink(step.b % 2 == 0 ? far : "nowhere", $0)
            }
            if isMade == 0 { touch(place, .special) }
        case .chmod, .truncate: if let existing { change(existing, step) }
        default: break
        }
    }

    private func make(_ place: Place, bytes: Int) {
        let before = RealTree.status(of: path(place))
        guard before.map({ $0.kind == .regular && bytes > 0 }) ?? true else { return }
        if let before { noteLinks(before) }
        guard RealTree.makeFile(path(place), bytes: bytes) else { return }
        noteClose(place)
        touch(place, before != nil ? .other : bytes > 0 ? .written : .created)
    }

    func closeFile(_ number: Int) {
        let (file, inode) = open.remove(at: number)
        closes[inode, default: 0] += 1
        // Reported though nothing else may have happened under its name.
        quiet.insert(inode)
        Glibc.close(file)
    }

    private func noteClose(_ place: Place) {
        if let inode = RealTree.status(of: path(place))?.identity.inode { closes[inode, default: 0] += 1 }
    }

    private func openForWriting(_ place: Place) {
        let before = RealTree.status(of: path(place))
        guard before.map({ $0.kind == .regular }) ?? true, open.count < 8,
            let file = RealTree.open(path(place), O_WRONLY | O_CREAT | O_APPEND),
            let now = RealTree.status(of: path(place))
        else { return }
        noteLinks(now)
        open.append((file, now.identity.inode))
        touch(place, .other)
    }

    private func change(_ place: Place, _ step: RealStep) {
        guard let before = RealTree.status(of: path(place)) else { return }
        if before.kind == .directory {
            _ = path(place).withCString { Glibc.chmod($0, step.a % 2 == 0 ? 0o700 : 0o755) }
        } else if before.kind == .regular {
            quiet.insert(before.identity.inode)
            _ = path(place).withCString {
                step.kind == .chmod
                    ? Glibc.chmod($0, step.a % 2 == 0 ? 0o600 : 0o644) : Glibc.truncate($0, off_t(step.b % 20))
            }
        }
    }

    func performOnDirectory(_ step: RealStep) {
        let here = directory(step.a)
        guard let place = fresh(step.b, in: here) else { return }
        switch step.kind {
        case .makeDirectory: if RealTree.makeDirectory(path(place)) { touch(place, .other) }
        case .makeDeep:
            var at = place
            for depth in 0...(step.b % 5) {
                if RealTree.makeDirectory(path(at)) { touch(at, .other) }
                // Not through a link that has the name.
                guard RealTree.status(of: path(at))?.kind == .directory else { return }
                let file = Place(root: at.root, path: at.path.appending(BytePath("f\(depth)")))
                if RealTree.makeFile(path(file)) {
                    noteClose(file)
                    touch(file, .created)
                }
                at = Place(root: at.root, path: at.path.appending(Self.names[(step.a + depth) % 4]))
            }
        case .plant: plant(here, step)
        case .melee: melee(place, step)
        default: break
        }
    }

    /// Several threads make the same deep directories at once, each with files of its own in them.
    private func plant(_ here: Place, _ step: RealStep) {
        guard here.path.bytes.count < 1_500 else { return }
        let top = path(here)
        let made: [[BytePath]] = inThreads(3) { thread in
            var (at, made): (BytePath, [BytePath]) = ("", [])
            for depth in 0..<(2 + step.b % 3) {
                at = at.appending(BytePath("p\((step.a + depth) % 3)"))
                RealTree.makeDirectory(top.appending(at))
                for number in 0..<2 {
                    let file = at.appending(BytePath("t\(thread)-\(number)"))
                    if RealTree.makeFile(top.appending(file)) { made.append(file) }
                }
            }
            return made
        }
        for file in made.joined() where RealTree.status(of: top.appending(file.parent))?.kind == .directory {
            let place = Place(root: here.root, path: here.path.appending(file))
            noteClose(place)
            touch(place, .created)
            var directory = file.parent
            while !directory.isEmpty {
                ever.insert(Place(root: here.root, path: here.path.appending(directory)))
                directory = directory.parent
            }
        }
    }

    /// Several threads make, rename, swap and remove in one directory without regard for each other.
    private func melee(_ place: Place, _ step: RealStep) {
        guard place.path.bytes.count < 1_500 else { return }
        disturb(place)
        wild.append(place)
        let top = path(place)
        RealTree.makeDirectory(top)
        guard RealTree.status(of: top)?.kind == .directory else { return }
        let _: [Int] = inThreads(3) { thread in
            var numbers = SeededGenerator(seed: UInt64(step.a * 16 + thread))
            func any() -> BytePath {
                let names: [BytePath] = ["u", "v", "w"]
                let depth = Int.random(in: 1...3, using: &numbers)
                return (0..<depth).reduce(top) { path, _ in
                    path.appending(names.randomElement(using: &numbers) ?? "u")
                }
            }
            for _ in 0..<(8 + step.b % 16) {
                switch Int.random(in: 0..<8, using: &numbers) {
                case 0, 1: RealTree.makeFile(any())
                case 2: RealTree.makeFile(any(), bytes: 5)
                case 3, 4: RealTree.makeDirectory(any())
                case 5: RealTree.rename(any(), any())
                case 6: RealTree.rename(any(), any(), exchanging: true)
                default: RealTree.removeAll(any())
                }
            }
            return 0
        }
        see(place)
    }

    /// What so many threads return that do `body` at once.
    private func inThreads<Result: Sendable>(
        _ count: Int, _ body: @Sendable (Int) -> Result
    ) -> [Result] {
        let results = Locked<[Result]>([])
        DispatchQueue.concurrentPerform(iterations: count) { thread in
            let result = body(thread)
            results.withLock { $0.append(result) }
        }
        return results.withLock { $0 }
    }
}
