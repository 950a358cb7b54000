import Catalogue
import Decoding
import FileValues
import LinuxKernel
import PhotoModel
import Settings

/// Works off the plan of one photo: what is made of the photo itself in one pass, then what is made of that.
struct RenditionRun {
    let work: ThumbnailWork
    let stored: StoredPhoto
    private(set) var plan: RenditionPlan
    private(set) var records: [RenditionRecord] = []
    private(set) var new: [RenditionKind] = []

    init(work: ThumbnailWork, stored: StoredPhoto, plan: RenditionPlan) {
        self.work = work
        self.stored = stored
        self.plan = plan
    }

    private var hash: [UInt8] { stored.photo.sha256 }

    mutating func run(
        by client: DecoderClient, progress: @Sendable (RenditionPlan) -> Void
    ) async -> ThumbnailWork.Result {
        var result = ThumbnailWork.Result.nothingToDo
        while let first = plan.ready.first {
            progress(plan)
            let step = first.needs.isEmpty ? await photo(client) : await derived(first, client)
            switch step {
            case .made: if case .nothingToDo = result { result = .made }
            case .nothingToDo: break
            case .failed: result = step
            case .photoUnreadable, .unavailable:
                plan.cancelAll()
                return step
            }
            if Task.isCancelled { plan.cancelAll() }
        }
        return result
    }

    /// Thumbnail and preview, as far as they are missing, of the photo itself; with them comes what it looks like.
    private mutating func photo(_ client: DecoderClient) async -> ThumbnailWork.Result {
        guard let kind = ThumbnailWork.kind(of: stored.photo.format) else { return .nothingToDo }
        let file: HeldDescriptor
        do throws(SystemCallError) { file = try ThumbnailWork.open(stored.photo) } catch {
            return .photoUnreadable(error.description)
        }
        let kinds = plan.ready.filter(\.needs.isEmpty)
        for kind in kinds { plan.began(kind) }
        let sizes = Set(kinds.map { $0 == .preview ? work.settings.preview : work.settings.thumbnail }).sorted(by: >)
        let outcome = await client.make(
            sizes, of: file, kind: kind, limits: work.limits, quality: work.settings.quality)
        return ended(kinds, outcome) { (run, picture) throws in
            for part in picture.facts.parts {
                try run.work.store.write(picture.bytes(of: part), of: run.hash, size: part.size)
            }
            try run.work.store.keep(failure: nil, of: run.hash)
            for kind in kinds { run.made(kind) }
            if kinds.contains(.thumbnail), run.plan.ready.contains(.hash) {
                run.plan.began(.hash)
                run.take(likeness: picture.facts.likeness)
            }
        } failed: { run, reason in
            try run.work.store.keep(failure: reason, of: run.hash)
            for kind in kinds { run.failed(kind, reason, isRecorded: false) }
        }
    }

    /// One that is made of another rendition.
    private mutating func derived(_ kind: RenditionKind, _ client: DecoderClient) async -> ThumbnailWork.Result {
        plan.began(kind)
        guard let source = kind.needs.first.flatMap({ work.word(of: $0) }) else {
            failed(kind, "there is no \(kind.needs.first?.rawValue ?? "photo")", isRecorded: false)
            return .nothingToDo
        }
        let file: HeldDescriptor
        do throws(SystemCallError) { file = HeldDescriptor(try work.store.open(hash, source)) } catch {
            // Taken away this moment; it is made again when the photo is looked at next.
            failed(kind, error.description, isRecorded: false)
            return .nothingToDo
        }
        let request: (kind: DecoderRequest.Kind, size: UInt32) =
            switch kind {
            case .tiltShift: (.tiltShift, work.settings.preview)
            case .googly: (.googly, work.settings.preview)
            case .thumbnail, .preview, .hash: (.picture, 64)
            }
        let outcome = await client.make(
            [request.size], of: file, kind: request.kind, limits: work.limits, quality: work.settings.quality)
        let result = ended([kind], outcome) { (run, picture) throws in
            guard kind != .hash else { return run.take(likeness: picture.facts.likeness) }
            if let part = picture.facts.parts.first {
                try run.work.store.write(picture.bytes(of: part), of: run.hash, kind.rawValue)
            }
            run.made(kind)
        } failed: { run, reason in
            run.failed(kind, reason, isRecorded: true)
        }
        // The photo has its thumbnail all the same.
        if case .failed = result { return .nothingToDo }
        return result
    }

    /// Tells the plan how the making of `kinds` ended.
    private mutating func ended(
        _ kinds: [RenditionKind], _ outcome: DecoderOutcome,
        made: (inout RenditionRun, DecodedPicture) throws -> Void,
        failed: (inout RenditionRun, String) throws -> Void
    ) -> ThumbnailWork.Result {
        let reason: String
        do {
            switch outcome {
            case .made(let picture):
                do {
                    try made(&self, picture)
                    return .made
                } catch let error as WireError { reason = error.description }
            case .refused(let refusal): reason = escapeForDisplay(Array(refusal.reason.utf8))
            case .fatal(let what): reason = what
            case .unavailable(let trouble): return .unavailable(trouble)
            }
            try failed(&self, reason)
            return .failed(reason)
        } catch let error as SystemCallError {
            // The state directory's trouble: full, or read-only.
            return .unavailable(.cannotBeKept(error))
        } catch {
            return .unavailable(.cannotStart(reason: "\(error)"))
        }
    }

    private mutating func take(likeness: UInt64?) {
        guard let likeness else { return failed(.hash, "it is too even to be told from others", isRecorded: true) }
        made(.hash)
        record(.hash, likeness: likeness)
    }

    private mutating func made(_ kind: RenditionKind) {
        plan.made(kind)
        new.append(kind)
    }

    private mutating func failed(_ kind: RenditionKind, _ reason: String, isRecorded: Bool) {
        plan.failed(kind, reason: reason)
        new.append(kind)
        if isRecorded { record(kind, reason: reason) }
    }

    private mutating func record(_ kind: RenditionKind, reason: String? = nil, likeness: UInt64? = nil) {
        records.append(
            RenditionRecord(photoID: stored.id, kind: kind.rawValue, at: .now, reason: reason, likeness: likeness))
    }
}
