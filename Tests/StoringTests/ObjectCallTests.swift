import FileValues
import Testing
import Transfers

@testable import Storing

@Suite("A request to a bucket")
struct ObjectCallTests {
    @Test(
        "It is given up once a minute has moved next to nothing",
        arguments: [(0, true), (1, true), (400, false), (1_000_000, false)])
    func stalls(inFiveSeconds count: Int, isGivenUp: Bool) {
        let request = TransferRequest(
            address: "http://127.0.0.1/photos/a.jpg", milliseconds: 86_400_000, connectMilliseconds: 30_000)
        let call = ObjectCall(request, content: nil, most: 0) { _ in }
        let piece = [UInt8](repeating: 0, count: count)
        var gaveUp = false
        // Looked at each second, as the engine does.
        for second in 0..<150 {
            if second % 5 == 0 { piece.withUnsafeBytes { _ = call.receive(body: $0) } }
            gaveUp = gaveUp || call.isStalled(at: Int64(second) * 1_000)
        }
        #expect(gaveUp == isGivenUp)
    }
}
