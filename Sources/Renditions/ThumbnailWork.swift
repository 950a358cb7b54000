package import Catalogue
package import Decoding
package import FileValues
import Glibc
import LinuxKernel
package import PhotoModel
package import Settings
import SystemMonitor
import SystemPackage

/// Makes the renditions of one filed photo: opens it beneath its library, has it decoded, and puts them in the store.
package struct ThumbnailWork: Hashable, Sendable {
    package let settings: PictureSettings
    package let store: ThumbnailStore
    /// What is made of the photos of each inbox.
    let renditions: [String: [RenditionKind]]
    /// These instead, of whatever inbox a photo is.
    private let only: [RenditionKind]?

    /// With the key table's defaults where there is no configuration.
    package init(_ settings: Settings?, state: BytePath, only: [RenditionKind]? = nil) {
        self.only = only
        self.settings = settings?.pictures ?? .standard
        store = ThumbnailStore(state: state)
        renditions = (settings?.inboxes ?? []).reduce(into: [:]) { $0[$1.name] = $1.renditions }
    }

    /// What came of one photo, and what of it the catalogue is to be told.
    package struct Made: Sendable {
        package let result: Result
        package let plan: RenditionPlan
        package let records: [RenditionRecord]
        /// What was begun, and is made or failed now.
        package let new: [RenditionKind]
    }

    /// What came of it.
    package enum Result: Sendable {
        case made
        /// All were there, or could not be made before, or none is made of such a file.
        case nothingToDo
        /// There is no thumbnail; the reason is kept in the store.
        case failed(String)
        /// The photo could not be read from its library, which is no reason to remember.
        case photoUnreadable(String)
        case unavailable(DecoderTrouble)
    }

    /// What stands for the settings that a picture depends on.
    package var key: String {
        let special = renditions.filter { $0.value != RenditionKind.standard }.sorted { $0.key < $1.key }
        return (settings.sizes.map { "\($0)" } + ["q\(settings.quality)", "hash"]).joined(separator: ",")
            + special.map { " \($0.key)=" + $0.value.map(\.rawValue).joined(separator: ",") }.joined()
    }

    /// How a format is decoded; nil where nothing is made of it.
    static func kind(of format: String) -> DecoderRequest.Kind? {
        switch PhotoFormat(rawValue: format) {
        case nil, .gif, .mp4, .mov: nil
        case .some(let format): format.family == .raw ? .raw : .picture
        }
    }

    /// As many clients as decoders may run at once; nothing is started yet.
    package func clients(atMost most: Int = 64) throws -> [DecoderClient] {
        let processors = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        let count = min(most, settings.decoders > 0 ? settings.decoders : min(max(1, processors), Self.mostUnasked))
        return try (0..<count).map { _ in try client() }
    }

    /// So many decoders at most where the configuration names no number: each may take half a gigabyte.
    private static let mostUnasked = 4

    private var program: BytePath { settings.decoder ?? Self.standardProgram }

    /// The decoder, where googly eyes are wanted and it says that it was built without faces. Waits for it.
    package var programWithoutFaces: BytePath? {
        guard settings.isEnabled, renditions.keys.contains(where: { kinds(for: $0).contains(.googly) }),
            let exit = try? ChildProcess.spawn(program, ["--finds-faces"], error: .null).wait(),
            exit == .exited(status: 1)
        else { return nil }
        return program
    }

    private func client() throws -> DecoderClient {
        var options = DecoderClient.Options(program: program)
        options.isConfinementRequired = settings.isConfinementRequired
        options.deadline = settings.time.duration
        return try DecoderClient(options, queue: MonitorQueue(label: "photo-inbox.decoder"))
    }

    /// Makes what is missing and can be made, in the order in which one needs the other; all of it if `again`, and then
    /// what failed before is tried once more. `known` is what the catalogue has of the photo's renditions; what is to be
    /// recorded comes back. Files are read and written on the caller's queue, which hangs if they do.
    package nonisolated(nonsending) func make(
        _ stored: StoredPhoto, known: [RenditionRecord], by client: DecoderClient, again: Bool = false,
        progress: @Sendable (RenditionPlan) -> Void = { _ in }
    ) async -> Made {
        var run = RenditionRun(work: self, stored: stored, plan: plan(for: stored, known: known, again: again))
        let result = await run.run(by: client, progress: progress)
        return Made(result: result, plan: run.plan, records: run.records, new: run.new)
    }

    /// What is to be done for a photo.
    package func plan(for stored: StoredPhoto, known: [RenditionRecord], again: Bool = false) -> RenditionPlan {
        guard isConcerned(stored.photo) else { return RenditionPlan(wanted: []) }
        let wanted = kinds(for: stored.photo.inbox)
        let hash = stored.photo.sha256
        var present: Set<RenditionKind> = []
        var failed: [RenditionKind: String] = [:]
        if !again {
            for kind in RenditionKind.allCases where word(of: kind).map({ store.has(hash, $0) }) == true {
                present.insert(kind)
            }
            for record in known {
                guard let kind = RenditionKind(rawValue: record.kind) else { continue }
                if let reason = record.reason { failed[kind] = reason } else { present.insert(kind) }
            }
            if let reason = store.failure(of: hash) {
                for kind in [RenditionKind.thumbnail, .preview] { failed[kind] = reason }
            }
        }
        return RenditionPlan(wanted: wanted, present: present, failed: failed)
    }

    /// What is wanted of an inbox's photos; of one that the configuration has no more, the usual.
    package func kinds(for inbox: String) -> [RenditionKind] {
        (only ?? renditions[inbox] ?? RenditionKind.standard).filter {
            settings.preview > 0 || $0 != .preview && !$0.needs.contains(.preview)
        }
    }

    /// How the file of a kind is known in the store; nil where there is none.
    package func word(of kind: RenditionKind) -> String? {
        switch kind {
        case .thumbnail: "\(settings.thumbnail)"
        case .preview: settings.preview > 0 ? "\(settings.preview)" : nil
        case .tiltShift, .googly: kind.rawValue
        case .hash: nil
        }
    }

    /// Whether pictures are made of such a file at all.
    package func isConcerned(_ photo: PhotoRecord) -> Bool {
        !photo.part.isSidecar && Self.kind(of: photo.format) != nil
    }

    var limits: DecoderRequest.Limits {
        DecoderRequest.Limits(
            processorSeconds: UInt32(clamping: settings.processorTime.duration.components.seconds))
    }

    static func open(_ photo: PhotoRecord) throws(SystemCallError) -> HeldDescriptor {
        let file = try openDirectory(photo.library).openBeneath(photo.libraryPath, [.read, .nonBlocking])
        let status = try FileStatus(of: file)
        guard status.kind == .regular, status.identity.size == photo.size else {
            throw SystemCallError("open", .noSuchFileOrDirectory, path: photo.libraryPath)
        }
        return HeldDescriptor(file)
    }

    /// `photoinbox-decoder` beside the running program, or where `make install` puts it.
    static var standardProgram: BytePath { programBeside("photoinbox-decoder") }
}
