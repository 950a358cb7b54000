import Catalogue
import Decoding
import FileValues
import LinuxKernel
import PhotoModel
import Settings

/// Executes the plan of one photo: first, in one pass, the renditions of the photo itself, then those made from them.
struct RenditionRun {
    let work: ThumbnailWork
    let stored: StoredPhoto
    private(set) var plan: RenditionPlan
    private(set) var records: [RenditionRecord] = []
    private(set) var new: [RenditionKind] = []
    private(set) var ignoresProfile = false

    init(work: ThumbnailWork, stored: StoredPhoto, plan: RenditionPlan) {
        self.work = work
        self.stored = stored
        self.plan = plan
    }

    private var hash: [UInt8] { stored.photo.sha256 }

    nonisolated(nonsending) mutating func run(
        by client: DecoderClient, progress: @Sendable (RenditionPlan) -> Void
    ) async -> ThumbnailWork.Result {
        var result = ThumbnailWork.Result.nothingToDo
        while let first = plan.ready.first {
            progress(plan)
            let step = first.needs.isEmpty ? await makeFromPhoto(client) : await makeFromRendition(first, client)
            switch step {
            case .made: if case .nothingToDo = result { result = .made }
            case .nothingToDo: break
            case .failed, .unsupported: result = step
            case .photoUnreadable, .unavailable:
                plan.cancelAll()
                return step
            }
            if Task.isCancelled { plan.cancelAll() }
        }
        return result
    }

    /// Makes the missing ones of thumbnail and preview from the photo itself, and with them the perceptual hash.
    private nonisolated(nonsending) mutating func makeFromPhoto(_ client: DecoderClient) async -> ThumbnailWork.Result {
        guard let kind = ThumbnailWork.kind(of: stored.photo.format) else { return .nothingToDo }
        let file: HeldDescriptor
        do throws(SystemCallError) { file = try ThumbnailWork.open(stored.photo) } catch {
            return .photoUnreadable(error.description)
        }
        let kinds = plan.ready.filter(\.needs.isEmpty)
        for kind in kinds { plan.began(kind) }
        let sizes = Set(
            kinds.flatMap {
                $0 == .preview ? [work.settings.preview] : [work.settings.thumbnail, work.settings.tile]
            }
        ).sorted(by: >)
        let outcome = await work.decode(file, kind, to: sizes, by: client)
        if case .refused(let refusal) = outcome, refusal.code == .unsupported {
            let reason = escapeForDisplay(Array(refusal.reason.utf8))
            do throws(SystemCallError) { try work.store.setFailure(reason, by: work.decoder, of: hash) } catch {
                return .unavailable(.cannotBeKept(error))
            }
            // Not counted as failures: nothing is wrong with the film.
            for kind in kinds { plan.failed(kind, reason: reason) }
            return .unsupported(reason)
        }
        return finish(kinds, outcome) { (run, picture) throws in
            for part in picture.facts.parts {
                try run.work.store.write(picture.bytes(of: part), of: run.hash, size: part.size)
            }
            try run.work.store.setFailure(nil, of: run.hash)
            run.ignoresProfile = picture.facts.ignoresProfile
            for kind in kinds { run.made(kind) }
            if kinds.contains(.thumbnail), run.plan.ready.contains(.hash) {
                run.plan.began(.hash)
                run.finishHash(picture.facts.likeness)
            }
        } failed: { run, reason in
            try run.work.store.setFailure(reason, by: run.work.decoder, of: run.hash)
            for kind in kinds { run.failed(kind, reason, isRecorded: false) }
        }
    }

    /// Makes `kind` from another rendition.
    private nonisolated(nonsending) mutating func makeFromRendition(_ kind: RenditionKind, _ client: DecoderClient)
        async
        -> ThumbnailWork.Result
    {
        plan.began(kind)
        guard let source = kind.needs.first.flatMap({ work.word(of: $0) }) else {
            failed(kind, "there is no \(kind.needs.first?.rawValue ?? "photo")", isRecorded: false)
            return .nothingToDo
        }
        let file: HeldDescriptor
        do throws(SystemCallError) { file = HeldDescriptor(try work.store.open(hash, source)) } catch {
            // It was just removed; the next run for this photo makes it again.
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
            [request.size], of: file, kind: request.kind, limits: work.limits(of: request.kind),
            quality: work.settings.quality)
        let result = finish([kind], outcome) { (run, picture) throws in
            guard kind != .hash else { return run.finishHash(picture.facts.likeness) }
            if let part = picture.facts.parts.first {
                try run.work.store.write(picture.bytes(of: part), of: run.hash, kind.rawValue)
            }
            run.made(kind)
        } failed: { run, reason in
            run.failed(kind, reason, isRecorded: true)
        }
        // The photo still has its thumbnail.
        if case .failed = result { return .nothingToDo }
        return result
    }

    /// Records the outcome of making `kinds`.
    private mutating func finish(
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
            // The state directory is full or read-only.
            return .unavailable(.cannotBeKept(error))
        } catch {
            return .unavailable(.cannotStart(reason: "\(error)"))
        }
    }

    private mutating func finishHash(_ likeness: UInt64?) {
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
