import FileValues
import LinuxKernel
import SystemPackage

/// Copies `source` into the empty file `copy` by the first of clone, kernel copy and plain copy that the file systems
/// support.
func copyContent(
    of source: SourceFile, to copy: borrowing OwnedDescriptor, path: BytePath, means: PlacementMeans, _ work: FileWork
) throws(FilingError) -> CopyMethod {
    if means.contains(.clone), try tryClone(source, to: copy, path) { return .clone }
    if means.contains(.copyRange), try tryKernelCopy(source, to: copy, path, work) { return .kernelCopy }
    try readAndWrite(source, to: copy, path, work)
    return .readAndWrite
}

private func tryClone(
    _ source: SourceFile, to copy: borrowing OwnedDescriptor, _ path: BytePath
) throws(FilingError) -> Bool {
    do {
        try copy.clone(from: source.content)
        return true
    } catch  where isUnsupported(error.code) {
        return false
    } catch {
        throw FilingError(.copy, .either, .system(error), path: path)
    }
}

/// Returns false, possibly with a part copied, if copy_file_range cannot copy these two files.
private func tryKernelCopy(
    _ source: SourceFile, to copy: borrowing OwnedDescriptor, _ path: BytePath, _ work: FileWork
) throws(FilingError) -> Bool {
    let size = source.identity.size
    var done: UInt64 = 0
    while done < size {
        if work.shouldStop() { throw FilingError(.copy, .either, .stopped, path: path) }
        let count: UInt64
        do {
            count = try copy.copyRange(
                from: source.content, at: done, length: min(size - done, UInt64(8 * blockSize)))
        } catch  where done == 0 && isUnsupported(error.code) {
            return false
        } catch {
            throw FilingError(.copy, .either, .system(error), path: path)
        }
        // Some kernels return 0 for files whose size is unreliable; the plain copy then finds the actual bytes.
        if count == 0 { return false }
        done += count
    }
    return true
}

private func readAndWrite(
    _ source: SourceFile, to copy: borrowing OwnedDescriptor, _ path: BytePath, _ work: FileWork
) throws(FilingError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 4096)
    defer { buffer.deallocate() }
    let size = source.identity.size
    var done: UInt64 = 0
    while done < size {
        if work.shouldStop() { throw FilingError(.copy, .either, .stopped, path: path) }
        let wanted = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(min(size - done, UInt64(blockSize)))])
        let count: Int
        do { count = try source.content.read(into: wanted, at: done) } catch {
            throw FilingError(.copy, .source, .system(error), path: source.path)
        }
        if count == 0 { throw FilingError(.copy, .source, .sourceChanged("it became shorter"), path: source.path) }
        do { try copy.write(UnsafeRawBufferPointer(rebasing: wanted[..<count]), at: done) } catch {
            throw FilingError(.copy, .destination, .system(error), path: path)
        }
        done += UInt64(count)
    }
}

/// Whether the call is unsupported between these two files, so that a retry would fail, too.
private func isUnsupported(_ code: Errno) -> Bool {
    [
        .notSupported, .improperLink, .invalidArgument, .noFunction, .inappropriateIOCTLForDevice, .notPermitted,
        .textFileBusy, .fileTooLarge,
    ].contains(code)
}
