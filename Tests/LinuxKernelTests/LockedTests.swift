import Dispatch
import Foundation
import LinuxKernel
import TestSupport
import Testing

@Suite("Locked", .timeLimit(.minutes(60)))
struct LockedTests {
    @Test("Locking with a limit returns nil while another thread holds the lock, and succeeds afterwards")
    func patience() async throws {
        let locked = Locked(0)
        try await aside {
            let (isHeld, isGivenUp, isFree) = (
                DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
            )
            Thread.start {
                locked.withLock { value in
                    value = 7
                    isHeld.signal()
                    isGivenUp.wait()
                }
                isFree.signal()
            }
            isHeld.wait()
            #expect(locked.withLock(waitingAtMost: .milliseconds(3)) { $0 } == nil)
            isGivenUp.signal()
            isFree.wait()
            #expect(locked.withLock(waitingAtMost: .zero) { $0 } == 7)
        }
    }

    /// A closure in a generic box is wrapped again at each access, until calling it exhausts the stack.
    @Test("No box in the sources holds a closure as its value")
    func noClosures() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources")
        let all = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        let code = try all.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }.joined(separator: "\n")
        let types = Set(code.matches(of: #/\b(?:struct|class|enum|actor) (\w+)/#).map(\.1))
        let names = Set(code.matches(of: #/typealias (\w+) = [^\n]*->/#).map(\.1)).subtracting(types)
        let boxes = code.matches(of: #/\b(?:Locked|QueueBound)(?:<([^\n]*)>|\(\s*\{)/#)
        #expect(names.contains("Handler") && boxes.count > 20, "the search finds nothing")
        for box in boxes {
            let value = box.1 ?? "->"
            #expect(!value.contains("->"), "\(box.0) holds a closure: put it into a structure")
            #expect(!names.contains { value.split(separator: #/\W+/#).contains($0) }, "\(box.0) holds a closure")
        }
    }
}
