import CommandSupport
import FileValues
import Glibc
import LinuxKernel
import Reporting

/// Opens the directory at `path`, an absolute one, from the root down, one name at a time: no link is followed.
func openWithoutLinks(_ path: BytePath, _ options: OpenOptions = .read) throws(SystemCallError) -> OwnedDescriptor {
    var current = try openDirectory("/", path.name.isEmpty ? options : .placeAlone)
    var left = path.components.count
    for name in path.components {
        left -= 1
        current = try current.openBeneath(name, [left == 0 ? options : .placeAlone, .directory])
    }
    return current
}

/// A walk along a path that resolves the links in what exists of it.
///
/// A link is followed only if nobody but `owners` can have made it or can change what leads to it. What the walk results
/// in is judged and shown, and then opened by ``openWithoutLinks(_:_:)``.
struct LinkWalk {
    /// The path without links.
    private(set) var path: BytePath = "/"
    /// What on it other users can change; nil if they can change nothing.
    private(set) var foreign: String?

    init(_ named: BytePath, owners: Set<UInt32> = [0, geteuid()]) throws(CommandFailure) {
        var left = named.components
        // How many of them a link has named.
        var ofLinks = 0
        var links = 0
        var isShared = false
        while !left.isEmpty {
            let name = left.removeFirst()
            let isOfLink = ofLinks > 0
            ofLinks = max(0, ofLinks - 1)
            if name == "." { continue }
            if name == ".." {
                path = path.parent.isEmpty ? "/" : path.parent
                continue
            }
            let here = path.appending(name)
            let status: FileStatus
            var target: BytePath?
            do {
                let entry = try openWithoutLinks(path, .placeAlone).openPlace(name)
                status = try FileStatus(of: entry)
                if status.kind == .symbolicLink { target = try entry.linkText() }
            } catch {
                guard !isOfLink else {
                    throw CommandFailure(
                        .usage, "\(named) is a link to \(here), which does not exist",
                        action: "Remove it, or make that.")
                }
                // What is missing is made later, and what cannot be seen is reported where it is needed.
                path = left.reduce(here) { $0.appending($1) }
                return
            }
            if let target {
                links += 1
                guard links <= 40, owners.contains(status.user), foreign == nil, !isShared else {
                    let owner = userName(status.user) ?? "\(status.user)"
                    throw CommandFailure(
                        .permission, "\(here) is a link of \(owner), which may come to lead elsewhere",
                        action: "Name what it leads to: \(target)")
                }
                left = target.components + left
                ofLinks += target.components.count
                if target.isAbsolute { path = "/" }
                continue
            }
            path = here
            let isWritable = status.mode & 0o022 != 0
            isShared = isWritable
            let isSticky = status.kind == .directory && status.mode & 0o1000 != 0
            if foreign == nil, !owners.contains(status.user) || isWritable && !isSticky {
                foreign = "\(here) (\(SetupPlace(status).text))"
            }
        }
    }
}
