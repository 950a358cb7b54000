package import Catalogue
package import FileValues
import Filing
import LinuxKernel
import PhotoModel
import SystemPackage

/// Imports the photos of one source into an inbox: counts the files, then copies the new files of each directory and
/// set, while a second thread syncs, compares and names the copies.
///
/// Used by one thread. Stops between sets; the next run continues one that was stopped or killed.
package final class ImportRun {
    private let plan: ImportPlan
    private let control: ImportControl
    private let memory: ImportMemory?
    private let catalogue: CatalogueFile?
    private let date: String

    package private(set) var progress = ImportProgress()
    package private(set) var wasStopped = false
    /// The directory in the inbox with the new photos; nil if there are none.
    package private(set) var directory: BytePath?

    private var hasFailed = false
    private var batch = ImportBatch()

    /// `date` names the directory: 2026-11-22. Without `memory` and `catalogue` every file is new.
    package init(
        _ plan: ImportPlan, catalogue: CatalogueFile?, memory: ImportMemory?, date: String, control: ImportControl
    ) {
        (self.plan, self.control, self.memory, self.catalogue) = (plan, control, memory, catalogue)
        self.date = date
    }

    /// Runs it. Throws ``ImportFailure``, or an error of `control`; leaves no incomplete copy in the inbox.
    package func run() throws {
        var inbox: ImportInbox?
        defer { inbox?.close() }
        let survey: ImportSurvey
        let root: HeldDescriptor
        let knowledge: ImportKnowledge
        do {
            root = HeldDescriptor(try plan.openSource())
            let inboxRoot = try openDirectory(plan.inboxPath)
            let status = try FileStatus(of: inboxRoot)
            inbox = plan.isDry ? nil : try ImportInbox(plan.inboxPath, minFree: plan.minFree)
            knowledge = try ImportKnowledge(plan, inbox: inboxRoot, catalogue: catalogue)
            survey = ImportSurvey(try plan.openSource(), inbox: status)
        } catch let error as SystemCallError { throw ImportFailure.system(error) } catch let error as CatalogueError {
            throw ImportFailure.catalogue("\(error)")
        }
        guard let (directories, findings) = survey.run({ control.shouldAbandon() || control.shouldEnd() }) else {
            wasStopped = true
            return
        }
        for finding in findings { try report(finding) }
        progress.totalFiles = directories.reduce(0) { $0 + $1.files }
        progress.totalBytes = directories.reduce(0) { $0 + $1.bytes }
        try control.progress(progress)
        let finisher: ImportFinisher?
        do throws(SystemCallError) {
            if let inbox {
                finisher = try ImportFinisher(
                    plan, root: try plan.openSource(), inbox: inbox, knowledge: knowledge, memory: memory,
                    date: date)
            } else {
                finisher = nil
            }
        } catch { throw ImportFailure.system(error) }
        do {
            let removal = ImportRemoval(knowledge: knowledge, shouldStop: control.shouldAbandon)
            let walk = ImportWalk(plan, root: root, inbox: inbox, removal: removal, memory: memory) {
                [control] in control.shouldAbandon()
            }
            try importAll(directories, walk, finisher)
            try finisher?.add(batch, isAbandoned)
            try finisher?.finish(isAbandoned)
            try reportFinished(finisher)
            if control.shouldAbandon() { throw ImportAbandoned() }
        } catch {
            finisher?.abandon()
            for copy in batch.copies { inbox?.discard(copy.name) }
            guard error is ImportAbandoned else { throw error }
            try reportFinished(finisher)
            wasStopped = true
        }
        directory = finisher?.run
        finisher?.releaseDirectory()
        guard !wasStopped, !hasFailed, !plan.isDry else { return }
        // The memory only saves work.
        try? memory?.finish()
    }

    private func isAbandoned() throws -> Bool {
        try control.progress(progress)
        return control.shouldAbandon()
    }

    private func importAll(_ directories: [SourceDirectory], _ walk: ImportWalk, _ finisher: ImportFinisher?) throws {
        for directory in directories {
            let (open, sets): (OpenDirectory, [[SourceEntry]])
            do throws(SystemCallError) { (open, sets) = try walk.open(directory.path) } catch {
                try report(ImportFinding(.failed, directory.path, size: 0, "directory: \(error.call): \(error.code)"))
                continue
            }
            for (index, set) in sets.enumerated() {
                if control.shouldEnd() {
                    wasStopped = true
                    return
                }
                if sets.indices.contains(index + 1) { walk.prepare(sets[index + 1], in: open) }
                try importSet(set, open, walk)
                try reportFinished(finisher)
                if batch.isFull {
                    try finisher?.add(batch, isAbandoned)
                    batch = ImportBatch()
                }
            }
        }
    }

    private func importSet(_ set: [SourceEntry], _ directory: OpenDirectory, _ walk: ImportWalk) throws {
        var hasNewPhoto = false
        for entry in set {
            let before = progress.bytes
            let result = try walk.process(entry, in: directory, withNewPhoto: hasNewPhoto) { [self] bytes in
                progress.bytes += bytes
                try? control.progress(progress)
            }
            switch result {
            case .copy(let copy):
                batch.add(copy)
                progress.bytes = before + copy.source.size
                hasNewPhoto = hasNewPhoto || !entry.isSidecar
            case .finding(let finding):
                progress.bytes = before + finding.size
                hasNewPhoto = hasNewPhoto || finding.what == .copied && !entry.isSidecar
                try report(finding)
            }
            progress.files += 1
            try control.progress(progress)
        }
    }

    private func reportFinished(_ finisher: ImportFinisher?) throws {
        for finding in finisher?.removeFindings() ?? [] { try report(finding) }
    }

    private func report(_ finding: ImportFinding) throws {
        if finding.what == .failed || (plan.removes && finding.kept != nil) { hasFailed = true }
        try control.report(finding)
    }
}
