package import Catalogue
package import Decoding
import FileValues
import Glibc
import LinuxKernel
import PhotoModel
package import Settings
import SystemMonitor
import SystemPackage

/// Makes the small pictures of one filed photo: opens it beneath its library, has it decoded, and puts them in the store.
package struct ThumbnailWork: Sendable {
    package let settings: PictureSettings
    package let store: ThumbnailStore

    package init(_ settings: PictureSettings, store: ThumbnailStore) {
        self.settings = settings
        self.store = store
    }

    /// What came of it.
    package enum Result: Sendable {
        case made
        /// All were there, or none is made of such a file.
        case nothingToDo
        /// The reason is kept in the store.
        case failed(String)
        /// The photo could not be read from its library, which is no reason to remember.
        case photoUnreadable(String)
        case unavailable(DecoderTrouble)
    }

    /// What stands for the settings that a picture depends on.
    var key: String { settings.sizes.map(String.init).joined(separator: ",") + " q\(settings.quality)" }

    /// How a format is decoded; nil where nothing is made of it.
    static func kind(of format: String) -> DecoderRequest.Kind? {
        switch PhotoFormat(rawValue: format) {
        case nil, .gif, .mp4, .mov: nil
        case .some(let format): format.family == .raw ? .raw : .picture
        }
    }

    /// As many clients as decoders may run at once; nothing is started yet.
    package func clients() throws -> [DecoderClient] {
        let processors = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        let count = settings.decoders > 0 ? settings.decoders : min(max(1, processors), Self.mostUnasked)
        return try (0..<count).map { _ in try client() }
    }

    /// So many decoders at most where the configuration names no number: each may take half a gigabyte.
    private static let mostUnasked = 4

    private func client() throws -> DecoderClient {
        var options = DecoderClient.Options(program: settings.decoder ?? Self.standardProgram)
        options.isConfinementRequired = settings.isConfinementRequired
        options.deadline = settings.time.duration
        return try DecoderClient(options, queue: MonitorQueue(label: "photo-inbox.decoder"))
    }

    /// Makes what is missing; all of them if `again`, and then what failed before is tried once more. Files are read and
    /// written on the caller's queue, which hangs if they do.
    package nonisolated(nonsending) func make(
        _ stored: StoredPhoto, by client: DecoderClient, again: Bool = false
    ) async -> Result {
        let photo = stored.photo
        guard photo.part.role != "sidecar", let kind = Self.kind(of: photo.format) else { return .nothingToDo }
        let missing = settings.sizes.filter { again || !store.has(photo.sha256, size: $0) }
        if missing.isEmpty || !again && store.failure(of: photo.sha256) != nil { return .nothingToDo }
        let file: HeldDescriptor
        do throws(SystemCallError) { file = try Self.open(photo) } catch { return .photoUnreadable(error.description) }
        let limits = DecoderRequest.Limits(
            processorSeconds: UInt32(clamping: settings.processorTime.duration.components.seconds))
        do {
            switch await client.make(missing, of: file, kind: kind, limits: limits, quality: settings.quality) {
            case .made(let picture):
                for part in picture.facts.parts {
                    try store.write(picture.bytes(of: part), of: photo.sha256, size: part.size)
                }
                try store.keep(failure: nil, of: photo.sha256)
                return .made
            case .refused(let refusal): return try failed(escapeForDisplay(Array(refusal.reason.utf8)), photo)
            case .fatal(let reason): return try failed(reason, photo)
            case .unavailable(let trouble): return .unavailable(trouble)
            }
        } catch let error as WireError {
            return (try? failed(error.description, photo)) ?? .failed(error.description)
        } catch {
            // The state directory's trouble: full, or read-only.
            return .unavailable(.cannotStart(reason: "the pictures cannot be kept: \(error)"))
        }
    }

    private func failed(_ reason: String, _ photo: PhotoRecord) throws(SystemCallError) -> Result {
        try store.keep(failure: reason, of: photo.sha256)
        return .failed(reason)
    }

    private static func open(_ photo: PhotoRecord) throws(SystemCallError) -> HeldDescriptor {
        let file = try openDirectory(photo.library).openBeneath(photo.libraryPath, [.read, .nonBlocking])
        let status = try FileStatus(of: file)
        guard status.kind == .regular, status.identity.size == photo.size else {
            throw SystemCallError("open", .noSuchFileOrDirectory, path: photo.libraryPath)
        }
        return HeldDescriptor(file)
    }

    /// `photoinbox-decoder` beside the running program, or where `make install` puts it.
    static var standardProgram: BytePath {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &buffer, buffer.count)
        let own = BytePath(buffer.prefix(max(0, length)).map { UInt8(bitPattern: $0) }).parent
        let beside = own.appending("photoinbox-decoder")
        let installed = own.parent.appending("libexec").appending("photoinbox-decoder")
        return (try? FileStatus(at: beside, followingLinks: true)) != nil ? beside : installed
    }
}
