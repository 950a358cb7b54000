import HTTPValues
import Testing

@Suite("Codings that a client accepts")
struct AcceptedCodingsTests {
    @Test(
        "gzip is accepted by its name, unless its weight is zero or none",
        arguments: [
            (["gzip"], true), (["br, GZIP;q=0.5"], true), (["br", "x-gzip ; q=1.0"], true), (["gzip;q=0.001"], true),
            ([], false), ([""], false), (["identity, br, *"], false), (["gzip;q=0"], false), (["gzip;q=0.000"], false),
            (["gzip;q=-1"], false), (["gzip;q=nan"], false), (["gzip;q="], false), (["gzip;q=2"], false),
            (["gzip;x=1"], false), (["gzipped"], false), ([";,;,"], false),
        ])
    func gzip(_ values: [String], _ isAccepted: Bool) throws {
        let head = try RequestHead(
            method: "GET", target: "/", version: .http11,
            fields: [(name: "Host", value: "x")] + values.map { (name: "Accept-Encoding", value: $0) })
        #expect(head.acceptsGzip == isAccepted)
    }
}
