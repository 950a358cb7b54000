package import Catalogue
package import Decoding
package import FileValues
import Glibc
import LinuxKernel
import PhotoFormats
package import PhotoModel
package import Settings
import SystemMonitor
import SystemPackage

/// Makes the renditions of filed photos: opens a photo beneath its library, has it decoded, and stores the results.
package struct ThumbnailWork: Hashable, Sendable {
    package let settings: PictureSettings
    package let store: ThumbnailStore
    /// The wanted renditions, by inbox.
    let renditions: [String: [RenditionKind]]
    /// If not nil, the wanted renditions for every inbox.
    private let only: [RenditionKind]?
    /// What identifies the decoder and its libraries; nil if it was not asked, or did not answer. What another one could
    /// not decode is tried again.
    private(set) var decoder: String?

    /// Uses the defaults without `settings`.
    package init(_ settings: Settings?, state: BytePath, only: [RenditionKind]? = nil) {
        self.only = only
        self.settings = settings?.pictures ?? .standard
        store = ThumbnailStore(state: state)
        renditions = (settings?.inboxes ?? []).reduce(into: [:]) { $0[$1.name] = $1.renditions }
    }

    /// The result for one photo, with the rows to record.
    package struct Made: Sendable {
        package let result: Result
        package let plan: RenditionPlan
        package let records: [RenditionRecord]
        /// The renditions that were made or failed in this run.
        package let new: [RenditionKind]
        /// Whether the photo's colour profile cannot be used, and was ignored.
        package let ignoresProfile: Bool
    }

    package enum Result: Sendable {
        case made
        /// All exist, or failed before, or the format has none.
        case nothingToDo
        /// There is no thumbnail; the store has the reason.
        case failed(String)
        /// It needs libav, which is not installed; the store has the reason.
        case unsupported(String)
        /// The photo could not be read from its library; not recorded as a failure.
        case photoUnreadable(String)
        case unavailable(DecoderTrouble)
    }

    /// A text that identifies the settings that renditions depend on.
    package var key: String {
        let special = renditions.filter { $0.value != RenditionKind.standard }.sorted { $0.key < $1.key }
        // The word before the decoder changes when more formats have thumbnails. Both let all photos be gone through again.
        let words = ["q\(settings.quality)", "hash", "films", decoder ?? "unknown"]
        return ((settings.sizes + [settings.tile]).map { "\($0)" } + words).joined(separator: ",")
            + special.map { " \($0.key)=" + $0.value.map(\.rawValue).joined(separator: ",") }.joined()
    }

    /// Returns how a format is decoded; nil for one that is unknown, and has no renditions.
    static func kind(of format: String) -> DecoderRequest.Kind? {
        switch PhotoFormat(rawValue: format)?.family {
        case .picture: .picture
        case .raw: .raw
        case .video: .film
        case nil: nil
        }
    }

    /// Creates one client for each decoder that may run at once. Starts no process.
    package func clients(atMost most: Int = 64) throws -> [DecoderClient] {
        let processors = sysconf(Int32(_SC_NPROCESSORS_ONLN))
        let count = min(most, settings.decoders > 0 ? settings.decoders : min(max(1, processors), Self.defaultMaximum))
        return try (0..<count).map { _ in try client() }
    }

    /// The maximum number of decoders if none is configured, since each may use half a gigabyte.
    private static let defaultMaximum = 4

    /// How long the decoder program may load its libraries.
    private static let patience = Duration.seconds(20)

    private var program: BytePath { settings.decoder ?? Self.standardProgram }

    /// Returns the decoder program, if googly eyes are wanted and it was built without face detection. Runs the program
    /// and waits for it, unless `shouldStop`.
    package func programWithoutFaces(shouldStop: (() -> Bool)? = nil) -> BytePath? {
        guard settings.isEnabled, renditions.keys.contains(where: { kinds(for: $0).contains(.googly) }),
            let exit = try? ChildProcess.spawn(program, ["--finds-faces"], error: .null)
                .wait(atMost: Self.patience, shouldStop: shouldStop),
            exit == .exited(status: 1)
        else { return nil }
        return program
    }

    /// Runs the decoder program to have it identify itself, and waits for it, unless `shouldStop`.
    package mutating func identifyDecoder(shouldStop: (() -> Bool)? = nil) {
        decoder = (try? Self.identity(of: program, shouldStop)) ?? nil
    }

    private static func identity(
        of program: BytePath, _ shouldStop: (() -> Bool)?
    ) throws(SystemCallError) -> String? {
        let output = try OwnedDescriptor.memoryFile(named: "photoinbox-decoder")
        let words: [BytePath] = ["--identify", "--films"]
        let exit = try ChildProcess.spawn(program, words, output: .descriptor(output.raw), error: .null)
            .wait(atMost: patience, shouldStop: shouldStop)
        let line = try output.read(64).prefix { $0 != 0x0A }
        return exit == .exited(status: 0) && !line.isEmpty ? String(decoding: line, as: UTF8.self) : nil
    }

    private func client() throws -> DecoderClient {
        var options = DecoderClient.Options(program: program)
        options.isConfinementRequired = settings.isConfinementRequired
        options.deadline = settings.time.duration
        return try DecoderClient(options, queue: MonitorQueue(label: "photo-inbox.decoder"))
    }

    /// Makes the missing renditions in the order of their dependencies, or, with `again`, all of them including those
    /// that failed before. `known` are the recorded renditions of the photo. Reads and writes files on the caller's
    /// queue.
    package nonisolated(nonsending) func make(
        _ stored: StoredPhoto, known: [RenditionRecord], by client: DecoderClient, again: Bool = false,
        progress: @Sendable (RenditionPlan) -> Void = { _ in }
    ) async -> Made {
        var run = RenditionRun(work: self, stored: stored, plan: plan(for: stored, known: known, again: again))
        let result = await run.run(by: client, progress: progress)
        return Made(
            result: result, plan: run.plan, records: run.records, new: run.new, ignoresProfile: run.ignoresProfile)
    }

    /// Makes a photo's thumbnail without keeping it, for whoever may not write to the store; nil if there is none.
    package nonisolated(nonsending) func thumbnail(
        of stored: StoredPhoto, by client: DecoderClient
    ) async -> Swift.Result<[UInt8]?, DecoderTrouble> {
        guard let kind = Self.kind(of: stored.photo.format), let file = try? Self.open(stored.photo) else {
            return .success(nil)
        }
        switch await decode(file, kind, to: [settings.thumbnail], by: client) {
        case .made(let picture):
            return .success(picture.facts.parts.first.flatMap { try? picture.bytes(of: $0) })
        case .refused, .fatal: return .success(nil)
        case .unavailable(let trouble): return .failure(trouble)
        }
    }

    /// Has the photo itself decoded.
    nonisolated(nonsending) func decode(
        _ file: HeldDescriptor, _ kind: DecoderRequest.Kind, to sizes: [UInt32], by client: DecoderClient
    ) async -> DecoderOutcome {
        let (quality, limits) = (settings.quality, limits(of: kind))
        let outcome = await client.make(sizes, of: file, kind: kind, limits: limits, quality: quality)
        // A HEIF may be a sequence and nothing else, a JPEG lossless or of 12 bits.
        guard case .refused(let refusal) = outcome, refusal.code == .film else { return outcome }
        return await client.make(sizes, of: file, kind: .film, limits: self.limits(of: .film), quality: quality)
    }

    /// Returns the plan for a photo.
    package func plan(for stored: StoredPhoto, known: [RenditionRecord], again: Bool = false) -> RenditionPlan {
        guard isConcerned(stored.photo) else { return RenditionPlan(wanted: []) }
        // One frame is no likeness of a film: the one of a Live Photo would count as a duplicate of its picture.
        let isFilm = Self.kind(of: stored.photo.format) == .film
        let wanted = kinds(for: stored.photo.inbox).filter { !isFilm || $0 != .hash }
        let hash = stored.photo.sha256
        var present: Set<RenditionKind> = []
        var failed: [RenditionKind: String] = [:]
        if !again {
            for kind in RenditionKind.allCases where word(of: kind).map({ store.has(hash, $0) }) == true {
                if kind != .thumbnail || store.has(hash, size: settings.tile) { present.insert(kind) }
            }
            for record in known {
                guard let kind = RenditionKind(rawValue: record.kind) else { continue }
                if let reason = record.reason { failed[kind] = reason } else { present.insert(kind) }
            }
            if let failure = store.failure(of: hash), decoder == nil || failure.decoder == decoder {
                for kind in [RenditionKind.thumbnail, .preview] { failed[kind] = failure.reason }
            }
        }
        return RenditionPlan(wanted: wanted, present: present, failed: failed)
    }

    /// Returns the wanted renditions of an inbox; the default for one that is no longer configured.
    package func kinds(for inbox: String) -> [RenditionKind] {
        (only ?? renditions[inbox] ?? RenditionKind.standard).filter {
            settings.preview > 0 || $0 != .preview && !$0.needs.contains(.preview)
        }
    }

    /// Returns the word that names the file of a kind in the store; nil if it has no file.
    package func word(of kind: RenditionKind) -> String? {
        switch kind {
        case .thumbnail: "\(settings.thumbnail)"
        case .preview: settings.preview > 0 ? "\(settings.preview)" : nil
        case .tiltShift, .googly: kind.rawValue
        case .hash: nil
        }
    }

    /// Returns whether a file of this kind has renditions.
    package func isConcerned(_ photo: PhotoRecord) -> Bool {
        !photo.part.isSidecar && Self.kind(of: photo.format) != nil
    }

    func limits(of kind: DecoderRequest.Kind) -> DecoderRequest.Limits {
        var limits = DecoderRequest.Limits(
            processorSeconds: UInt32(clamping: settings.processorTime.duration.components.seconds))
        // Only parts of a film are read.
        if kind == .film { limits.bytes = 1 << 50 }
        return limits
    }

    static func open(_ photo: PhotoRecord) throws(SystemCallError) -> HeldDescriptor {
        let file = try openDirectory(photo.library).openBeneath(photo.libraryPath, [.read, .nonBlocking])
        let status = try FileStatus(of: file)
        guard status.kind == .regular, status.identity.size == photo.size else {
            throw SystemCallError("open", .noSuchFileOrDirectory, path: photo.libraryPath)
        }
        return HeldDescriptor(file)
    }

    /// `photoinbox-decoder` beside the running program, or at the path of `make install`.
    static var standardProgram: BytePath { programBeside("photoinbox-decoder") }
}
