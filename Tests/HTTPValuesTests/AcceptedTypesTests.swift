import HTTPValues
import Testing

@Suite("Types that a client accepts")
struct AcceptedTypesTests {
    private static let cases: [([String], Bool)] = [
        (["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"], true), (["text/html"], true),
        (["application/json;q=0.5", "TEXT/HTML ; q=0.6"], true), (["text/html;q=0.9, application/json"], false),
        (["text/html;q=0.5, application/*"], false), (["text/html, */*"], false), (["text/html;q=0"], false),
        (["text/html;q=x"], false), (["*/*"], false), (["text/*"], false), ([], false), ([""], false),
        ([";,;,"], false),
    ]

    @Test("A page is wanted by whoever names it, with a greater weight than a value's", arguments: cases)
    func pages(_ values: [String], _ isWanted: Bool) throws {
        let head = try RequestHead(
            method: "GET", target: "/", version: .http11,
            fields: [(name: "Host", value: "x")] + values.map { (name: "Accept", value: $0) })
        #expect(head.prefersPages == isWanted)
    }
}
