import FileValues
import Glibc
import LinuxKernel
import SystemPackage

/// The file that a sheet is written to: completely or not at all, and never over an existing one unless asked.
struct SheetFile {
    private let directory: BytePath
    private let name: BytePath
    private let replaces: Bool

    init(_ path: BytePath, replaces: Bool) {
        directory = path.parent.isEmpty ? (path.isAbsolute ? "/" : ".") : path.parent
        name = path.name
        self.replaces = replaces
    }

    /// Throws EEXIST if a file would have to be replaced.
    func check() throws(SystemCallError) {
        let place = try openDirectory(directory)
        let found: FileStatus
        do throws(SystemCallError) { found = try FileStatus(of: name, in: place) } catch {
            if error.code == .noSuchFileOrDirectory { return }
            throw error
        }
        if found.kind == .directory { throw SystemCallError("open", .isDirectory, path: name) }
        if !replaces { throw SystemCallError("open", .fileExists, path: name) }
    }

    func write(_ bytes: [UInt8]) throws(SystemCallError) {
        let place = try openDirectory(directory)
        let temporary = name.addingSuffix(".\(getpid()).part")
        try? place.unlink(temporary)
        let file = try place.openBeneath(temporary, [.write, .createNew], mode: 0o666)
        do throws(SystemCallError) {
            try file.write(bytes, at: 0)
            try file.sync()
            if replaces {
                try place.rename(temporary, replacing: name)
            } else {
                try rename(temporary, in: place)
            }
        } catch {
            try? place.unlink(temporary)
            throw error
        }
    }

    /// Gives it its name, unless that exists meanwhile; by a second link, if the file system has links.
    private func rename(_ temporary: BytePath, in place: borrowing OwnedDescriptor) throws(SystemCallError) {
        do throws(SystemCallError) {
            try place.link(temporary, as: name)
            try place.unlink(temporary)
        } catch {
            if error.code == .fileExists { throw error }
            try place.rename(temporary, to: place, as: name)
        }
    }
}
